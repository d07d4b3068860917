"""Rerun gets every step of a drive, recorded or live; its file is written and read back by Rerun itself."""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from av_core.errors import AvStackError, ConfigError
from av_stack.cli import app
from av_stack.viewing import commands
from av_stack.viewing.viewer import DriveStep
from tests.av_stack.viewing.conftest import ShortDrive

needs_rerun = pytest.mark.skipif(
    find_spec("rerun") is None, reason="rerun-sdk is not installed: pip install -c constraints.txt -e '.[view]'"
)


def entities(path: Path) -> Mapping[str, list[tuple[int, Any]]]:
    """For each entity of a .rrd file (frame number, values by component) of its rows, by Rerun's own reader."""
    import rerun as rr

    rows: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for chunk in rr.chunk.RrdReader(path).stream():
        batch = chunk.to_record_batch()
        components = [name for name in batch.schema.names if ":" in name]
        frames = batch.column("frame").to_pylist() if "frame" in batch.schema.names else [-1] * batch.num_rows
        columns = {name: batch.column(name).to_pylist() for name in components}
        rows[str(chunk.entity_path)] += [
            (frame, {name: values[row] for name, values in columns.items()}) for row, frame in enumerate(frames)
        ]
    return {name: sorted(each, key=lambda row: row[0]) for name, each in rows.items()}


def frames(steps: list[DriveStep]) -> list[int]:
    return [one.frame.stamp.frame for one in steps]


@needs_rerun
def test_a_recording_becomes_rerun_s_file(short_drive: ShortDrive, tmp_path: Path) -> None:
    path, steps = tmp_path / "new" / "drive.rrd", short_drive.seen.steps
    done = CliRunner().invoke(app, ["view", str(short_drive.recording.parent), "--save", str(path)])
    assert done.exception is None, done.output
    found = entities(path)
    for entity in ("/camera/front", "/camera/front/plan", "/world/ego", "/world/tracks", "/world/plan", "/control"):
        assert [frame for frame, _ in found[entity] if frame >= 0] == frames(steps), entity
    speeds = [values["Scalars:scalars"] for frame, values in found["/speed_kmh"] if frame >= 0]
    for (true, estimated, limit, planned), step in zip(speeds, steps, strict=True):
        assert step.step.result is not None
        assert true == pytest.approx(3.6 * step.truth.ego_speed_mps)
        assert estimated == pytest.approx(3.6 * step.step.result.scene.ego.speed_mps)
        assert limit == pytest.approx(3.6 * step.progress.limit_mps)
        assert planned == pytest.approx(3.6 * step.step.result.plan.trajectory.at(2.0).speed_mps)
    picture = next(values for frame, values in found["/camera/front"] if frame == frames(steps)[0])
    (jpeg,) = picture["EncodedImage:blob"]
    assert bytes(jpeg).startswith(b"\xff\xd8\xff")
    states = [values["StateChange:state"] for _, values in found["/states/health"]]
    assert states == [["normal"]]
    assert found["/states/constraint"]
    errors = [values["Scalars:scalars"][0] for frame, values in found["/lateral_error_m"] if frame >= 0]
    for value, step in zip(errors, steps, strict=True):
        error_m = step.progress.lateral_error_m
        assert value == pytest.approx(error_m) if error_m is not None else math.isnan(value)


@needs_rerun
def test_the_file_has_the_layout(short_drive: ShortDrive, tmp_path: Path) -> None:
    import rerun as rr

    path = tmp_path / "drive.rrd"
    CliRunner().invoke(app, ["view", str(short_drive.recording), "--save", str(path)], catch_exceptions=False)
    assert len(rr.chunk.RrdReader(path).blueprints()) == 1


@needs_rerun
def test_a_live_drive_is_streamed_to_its_last_step(short_drive: ShortDrive, tmp_path: Path) -> None:
    import rerun as rr

    from av_stack.viewing.rerun_view.log import APPLICATION
    from av_stack.viewing.rerun_view.show import LiveView

    said: list[str] = []
    stream, path, seen = rr.RecordingStream(APPLICATION), tmp_path / "live.rrd", short_drive.seen
    stream.save(path)
    live = LiveView(stream, said.append)
    live.begin(seen.drives[0])
    for step in seen.steps[:-1]:
        live.show(step)
        time.sleep(0.02)
    live.show(seen.steps[-1])
    live.end("time is up")
    stream.disconnect()
    shown = [frame for frame, _ in entities(path)["/world/ego"]]
    assert said == []
    assert shown[-1] == frames(seen.steps)[-1]
    assert len(shown) > 3
    assert set(shown) <= set(frames(seen.steps))


@needs_rerun
def test_an_error_of_rerun_is_said_once_and_the_drive_goes_on(short_drive: ShortDrive) -> None:
    import rerun as rr

    from av_stack.viewing.rerun_view.log import APPLICATION
    from av_stack.viewing.rerun_view.show import LiveView

    def gone() -> None:
        raise AvStackError("Rerun's window is gone")

    said: list[str] = []
    live = LiveView(rr.RecordingStream(APPLICATION), said.append, gone)
    live.begin(short_drive.seen.drives[0])
    for step in short_drive.seen.steps[:20]:
        live.show(step)
        time.sleep(0.02)
    live.show(replace(short_drive.seen.steps[-1]))
    live.end("arrived")
    assert said == ["--view has ended: Rerun's window is gone"]


def test_without_rerun_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    for arguments in (["view", "out"], ["run", "town_drive", "--view"]):
        done = CliRunner().invoke(app, arguments)
        assert isinstance(done.exception, ConfigError)
        assert "needs Rerun: in the project's folder run: .venv/bin/pip install" in str(done.exception)


@needs_rerun
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says so")
def test_without_a_screen_one_line_says_what_else_there_is(
    short_drive: ShortDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    for arguments in (["view", str(short_drive.recording)], ["run", "town_drive", "--view"]):
        done = CliRunner().invoke(app, arguments)
        assert isinstance(done.exception, ConfigError)
        assert "--save FILE.rrd" in str(done.exception)


@needs_rerun
def test_other_files_are_refused_in_one_line(short_drive: ShortDrive, tmp_path: Path) -> None:
    other = tmp_path / "other.mcap"
    other.write_bytes(b"no recording at all")
    for path in (other, short_drive.recording.parent / "drive.mp4", tmp_path / "nowhere.mcap"):
        done = CliRunner().invoke(app, ["view", str(path), "--save", str(tmp_path / "x.rrd")])
        assert isinstance(done.exception, ConfigError)
        assert str(path) in str(done.exception)
        assert not (tmp_path / "x.rrd").exists()
