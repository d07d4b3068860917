"""Files of CARLA's recorder: the embedded server plays them, and all of perception runs, on the map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from av_core.errors import WorldError
from av_stack.foreign.kinds import Kind, kind_of
from av_stack.foreign.opening import SourceOptions, open_foreign
from av_stack.foreign.session import ForeignOptions, replay_foreign
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.embedded_carla.recorder.recordings import drive_bytes

NAME = "DistanceToLaneCenter.log"
STAND_M = (392.5, -195.0)
"""Where the hero stands for the first five seconds, map frame; its centre, 1.4 m ahead of the rear axle."""


def test_a_cut_off_recording_of_a_real_server_is_perceived_as_far_as_it_goes(data_dir: Path, tmp_path: Path) -> None:
    whole = (data_dir / "recordings" / NAME).read_bytes()
    path, out = tmp_path / "cut.log", tmp_path / "out"
    path.write_bytes(whole[: len(whole) // 3])
    done = av_stack("replay", str(path), "--maps", str(data_dir / "maps"), "--out", str(out))
    assert complaint(done) == f"av-stack: {path}: the recording is cut off"
    result = json.loads((out / "result.json").read_text())
    assert result["ran"] == ["health", "lanes", "localization", "objects", "lights"]
    assert 40 < result["pictures"] < 120
    assert result["left_line_share"] > 0.5
    last = json.loads((out / "scenes.jsonl").read_text().splitlines()[-1])
    assert last["ego"]["x_m"] == pytest.approx(STAND_M[0], abs=0.5)
    assert last["ego"]["y_m"] == pytest.approx(STAND_M[1] + 1.4, abs=0.5)


def test_a_made_recording_is_played_to_its_end(tmp_path: Path) -> None:
    """The hero drives 8 m/s beside another vehicle, for 1.9 s."""
    path = tmp_path / "drive.log"
    path.write_bytes(drive_bytes())
    assert kind_of(path) is Kind.CARLA
    report = replay_foreign(open_foreign(path, Kind.CARLA, SourceOptions()), ForeignOptions(tmp_path / "out"))
    assert report.problem is None
    assert report.pictures == 37  # every 0.05 s before the last frame, after the first
    last = json.loads((tmp_path / "out" / "scenes.jsonl").read_text().splitlines()[-1])
    assert last["ego"]["speed_mps"] == pytest.approx(8.0, abs=0.5)


def test_a_map_that_the_server_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "drive.log"
    path.write_bytes(drive_bytes(map_name="Town99"))
    with pytest.raises(WorldError, match=r"refuses playing drive.log: .*'Town99'"):
        open_foreign(path, Kind.CARLA, SourceOptions())
