"""The pages of drives and suites: what they say, and that they are made of whatever files are there."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from av_core.errors import ConfigError
from av_stack.cli import report as command
from av_stack.recording.recorder import RECORDING, REPORT, RESULT, THUMBNAIL, VIDEO
from av_stack.report import run_page
from av_stack.report.make import write_report, write_run_report, write_suite_report
from tests.av_stack.report.made_drive import HIT_S, STEP_S, STEPS, write_drive, write_recording, write_video

PAGE_BYTES_MAX = 6_000_000


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_drive(tmp_path_factory.mktemp("drive"))


class Texts(HTMLParser):
    """The text of a page outside scripts and styles; `outside` are the addresses that it loads by itself."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text, self._is_hidden = "", False
        self.outside: list[str | None] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_hidden = tag in ("script", "style")
        self.outside += [value for name, value in attrs if name == "src" and not (value or "").startswith("data:")]

    def handle_endtag(self, tag: str) -> None:
        self._is_hidden = False

    def handle_data(self, data: str) -> None:
        if not self._is_hidden:
            self.text += f" {data.strip()}" if data.strip() else ""


def script(path: Path, name: str) -> str:
    """Content of a script element of a page."""
    found = re.search(rf'id="{name}">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def data_of(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(script(path, "data"))
    return content


def test_the_page_of_a_drive_holds_everything(drive: Path) -> None:
    page = write_report(drive)
    text = Texts(page)
    assert not text.outside
    for words in ("made <up>", "time-out after 20 s", "50.0", "49.0", "collision with a vehicle", "ParkedObstacle"):
        assert words in text.text
    assert "hit <b>vehicle</b> at 18 km/h × 0.60 + 0.70" in text.text
    assert "quarter 1 at 50 % × 0.85 + 0.20" in text.text
    assert gzip.decompress(base64.b64decode(script(page, "plotly"))).startswith(b"/**\n* plotly.js")
    assert base64.b64decode(script(page, "embedded-video")) == (drive / VIDEO).read_bytes()
    assert page.stat().st_size < PAGE_BYTES_MAX
    assert (drive / THUMBNAIL).stat().st_size < 20_000


def test_the_data_follow_the_recording(drive: Path) -> None:
    data = data_of(write_report(drive))
    assert data["duration_s"] == pytest.approx((STEPS - 1) * STEP_S)
    assert data["signals"]["speed_kmh"][10] == 18.0
    assert data["signals"]["lateral_error_m"][110] is None
    assert "right_line" not in data["signals"]  # it has no value at all
    assert [(band["kind"], band["begin_s"], band["end_s"]) for band in data["bands"]] == [
        ("speed limit", 0.0, 10.05),
        ("moving vehicle ahead", 10.05, 20.0),
    ]
    assert [(band["words"], band["begin_s"], band["end_s"]) for band in data["behaviours"]] == [
        ("follow lane: the lane is free", 0.0, 15.05),
        ("stop: red light 7", 15.05, 20.0),
    ]
    assert [(band["kind"], band["begin_s"], band["end_s"]) for band in data["parts"]] == [("ParkedObstacle", 3.0, 14.0)]
    assert [track["id"] for track in data["tracks"]] == [42]  # the pedestrian is far away
    assert data["video"]["begin_s"] == STEP_S  # the first frame, 7, has no picture
    assert data["infractions"][0]["time_s"] == HIT_S


def test_a_long_drive_is_thinned_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("av_stack.report.run_data.SAMPLES_MAX", 100)
    write_recording(tmp_path / RECORDING)
    times = data_of(write_report(tmp_path))["signals"]["time_s"]
    assert len(times) <= 100
    assert times[-1] > (STEPS - 10) * STEP_S


def test_a_large_video_stays_beside_the_page(drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_page, "EMBEDDED_BYTES_MAX", 100)
    folder = shutil.copytree(drive, tmp_path / "drive")
    page = write_report(folder)
    assert script(page, "embedded-video") == ""
    assert data_of(page)["video"]["file"] == VIDEO
    assert "has to lie beside this page" in Texts(page).text


def test_another_agent_has_no_plan_and_no_confidence(tmp_path: Path) -> None:
    data = data_of(write_report(write_drive(tmp_path, has_stack=False, has_video=False)))
    assert set(data["signals"]) == {"time_s", "speed_kmh", "progress_m", "limit_kmh", "lateral_error_m"}
    assert (data["bands"], data["behaviours"], data["constraints"]) == ([], [], [])
    assert "video" not in data
    assert (tmp_path / THUMBNAIL).is_file()  # a sketch of the map


def test_a_drive_that_was_killed_has_a_page(tmp_path: Path) -> None:
    write_recording(tmp_path / RECORDING)
    write_video(tmp_path / VIDEO)
    for name in (RECORDING, VIDEO):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
    recording = (tmp_path / RECORDING).read_bytes()
    page = write_report(tmp_path)
    assert "no result.json: the drive still runs, or was ended before it could write one" in Texts(page).text
    assert 5.0 < data_of(page)["duration_s"] < 15.0
    assert (tmp_path / RECORDING).read_bytes() == recording  # only a copy was repaired


@pytest.mark.parametrize("content", [None, b"no recording", b"\x89MCAP0\r\n"])
def test_a_result_without_a_recording_has_a_page(drive: Path, tmp_path: Path, content: bytes | None) -> None:
    shutil.copy(drive / RESULT, tmp_path)
    if content is not None:
        (tmp_path / RECORDING).write_bytes(content)
    page = write_report(tmp_path)
    assert data_of(page)["signals"] is None
    assert RECORDING in Texts(page).text
    assert "collision with a vehicle" in Texts(page).text


def test_results_of_older_versions_have_a_page(drive: Path, tmp_path: Path) -> None:
    figures = json.loads((drive / RESULT).read_text())
    for name in ("infraction_log", "parts", "agent", "driving_score_2_1", "safety", "comfort", "constraints"):
        del figures[name]
    (tmp_path / RESULT).write_text(json.dumps(figures))
    assert "made <up>" in Texts(write_report(tmp_path)).text


def test_a_folder_without_a_drive_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"neither a drive \(recording.mcap, result.json\) nor a suite"):
        write_report(tmp_path)
    with pytest.raises(ConfigError, match="no such folder"):
        write_report(tmp_path / "absent")


def write_suite(folder: Path, drive: Path) -> dict[str, Any]:
    """A suite of two drives that ended, and one each that crashed, did not start, runs, and is planned."""
    for name in ("good", "bad", "runs"):
        shutil.copytree(drive, folder / name)
    figures = json.loads((drive / RESULT).read_text())
    good = {"infraction_log": [], "shortcomings": [], "driving_score": 100.0, "driving_score_2_1": 100.0, "parts": []}
    (folder / "good" / RESULT).write_text(json.dumps({**figures, **good, "weather": "HardRainNoon"}))
    (folder / "runs" / RESULT).unlink()
    entries = [
        {"scenario": "good", **{key: value for key, value in good.items() if key != "parts"}, "crash": None},
        {"scenario": "bad", "driving_score": 50.0, "shortcomings": ["collides"], "crash": None},
        {"scenario": "lost", "crash": "the server went away", "attempts": [{}, {}], "driving_score": None},
    ]
    why = "unknown key colour"
    entries.append({"scenario": "wrong", "end": "not started", "error": why, "shortcomings": [why], "crash": None})
    runs = dict.fromkeys(("good", "bad", "lost", "wrong", "runs", "planned"), "digest")
    content = {"suite": "three", "fingerprint": {"runs": runs}, "is_complete": False, "drives": entries}
    (folder / "suite.json").write_text(json.dumps(content))
    return content


def test_the_page_of_a_suite_that_still_runs(drive: Path, tmp_path: Path) -> None:
    write_suite(tmp_path, drive)
    page = write_report(tmp_path)
    text = Texts(page).text
    assert "suite three" in text
    assert "1 of 2 drives as expected 75.0 mean score 2.0 74.5 mean score 2.1" in text
    assert "the server went away 2" in text
    assert "1 did not start" in text
    assert "Did not start: not in any figure above run why wrong unknown key colour" in text
    assert "Not ended yet runs, planned" in text
    data = data_of(page)
    assert [(each["name"], each["score_20"]) for each in data["types"]] == [("ParkedObstacle", 50.0), ("good", 100.0)]
    assert [each["name"] for each in data["weathers"]] == ["ClearNoon", "HardRainNoon"]
    assert data["kinds"] == [
        {"name": "collision with a vehicle", "count": 1},
        {"name": "slower than the traffic", "count": 1},
    ]
    links = set(re.findall(r'href="([^"]+\.html)"', page.read_text()))
    assert links == {"good/report.html", "bad/report.html"}
    assert all((tmp_path / link).is_file() for link in links)
    assert '<a href="../report.html">' in (tmp_path / "bad" / REPORT).read_text()
    assert page.read_text().count('<img alt="" src="data:image/jpeg;base64,') == 2


def test_a_suite_keeps_pages_that_are_fresh(drive: Path, tmp_path: Path) -> None:
    write_suite(tmp_path, drive)
    write_run_report(tmp_path / "good")
    (tmp_path / "good" / REPORT).write_text("kept")
    (tmp_path / "bad" / REPORT).unlink(missing_ok=True)
    write_suite_report(tmp_path, keep_pages=True)
    assert (tmp_path / "good" / REPORT).read_text() == "kept"
    assert (tmp_path / "bad" / REPORT).is_file()


def test_a_failing_report_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recording(tmp_path / RECORDING, steps=5)
    (tmp_path / f"{REPORT}.part").mkdir()
    assert not command.write_run_page(tmp_path)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"av-stack: no report of {tmp_path}: IsADirectoryError")
