"""Reports about recordings, in the layout that CARLA's own tools read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from embedded_carla.recorder import reports
from tests.embedded_carla.recorder.recordings import CAR, CAR_TYPE, OTHER_CAR, PERSON, drive_bytes


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "drive.log"
    path.write_bytes(drive_bytes())
    return path


def test_info_tells_the_events(recording: Path) -> None:
    lines = reports.file_info(recording, False).split("\n")
    assert lines[:2] == ["Version: 1", "Map: city_grid"]
    assert re.fullmatch(r"Date: 09/1[34]/20 \d\d:\d\d:\d\d", lines[2])
    assert lines[3:7] == [
        "",
        "Frame 1 at 0 seconds",
        f" Create {CAR}: {CAR_TYPE} (1) at (0, 0, 50)",
        "  role_name = hero",
    ]
    assert "Frame 4 at 0.3 seconds" in lines
    assert f" Collision id 4 between {CAR} (hero)  with {OTHER_CAR}" in lines
    assert f" Destroy {PERSON}" in lines
    assert "Frame 12 at 1.1 seconds" not in lines
    assert lines[-4:] == ["", "Frames: 20", "Duration: 1.9 seconds", ""]


def test_info_with_all_tells_every_frame(recording: Path) -> None:
    text = reports.file_info(recording, True)
    assert len(re.findall(r"^Frame \d+ at [\d.]+ seconds$", text, re.M)) == 20
    assert f"\n Positions: 2\n  Id: {CAR} Location: (80, 0, 50) Rotation: (0, 0, 0)\n" in text
    assert f"  Id: {CAR} Steering: 0.25 Throttle: 0.5 Brake: 0 Handbrake: 0 Gear: 1" in text
    assert f" Vehicle light animations: 2\n  Id: {CAR} LowBeam LeftBlinker\n  Id: {OTHER_CAR} None\n" in text


def _table(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n")[5:] if line and not line.startswith(("Frames", "Duration"))]


@pytest.mark.parametrize(
    ("categories", "pairs"),
    [
        ("aa", [["0", "v", "v"], ["1", "v", "o"]]),
        ("vv", [["0", "v", "v"]]),
        ("ha", [["0", "v", "v"], ["1", "v", "o"]]),
        ("ov", [["1", "o", "v"]]),
        ("hh", []),
        ("wa", []),
    ],
)
def test_collisions_are_told_once_when_they_begin(recording: Path, categories: str, pairs: list[list[str]]) -> None:
    text = reports.collisions(recording, *categories)
    header = text.split("\n")[4]
    assert header == f"{'Time':>8} {'Types':>6} {'Id':>6} {'Actor 1':<35} {'Id':>6} {'Actor 2':<35}"
    assert [row[:3] for row in _table(text)] == pairs


def test_blocked_actors_are_told_the_longest_first(recording: Path) -> None:
    rows = _table(reports.actors_blocked(recording, 0.25, 60.0))
    assert [row[1] for row in rows] == [str(OTHER_CAR), str(PERSON)]
    assert rows[0][2] == CAR_TYPE
    assert _table(reports.actors_blocked(recording, 5.0, 60.0)) == []


def test_a_real_servers_recording(data_dir: Path) -> None:
    path = data_dir / "recordings" / "DistanceToLaneCenter.log"
    text = reports.file_info(path, True)
    assert " Create 234: vehicle.lincoln.mkz_2017 (1) at (39250, 19500, 60.7062)\n" in text
    assert "  role_name = hero\n" in text
    assert " Parenting 243 with 234 (parent)\n" in text
    assert " Physics Control events: 1\n  Id: 234\n   max_rpm = 6500\n" in text
    assert "    gear 0: ratio 4.584 down_ratio 0.23 up_ratio 0.54\n" in text
    assert text.endswith("\nFrames: 432\nDuration: 12.5282 seconds\n")
    assert text.count("\nFrame ") == 432
    assert _table(reports.actors_blocked(path, 2.0, 100.0))[-1] == ["0", "234", "vehicle.lincoln.mkz_2017", "6"]
    assert _table(reports.collisions(path, "a", "a")) == []
