"""A viewer gets of a recording what it would have got of the drive, also where the file is cut off or damaged."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from av_core.errors import ConfigError
from av_stack.recording.exact.topics import without_times
from av_stack.viewing.recorded import RecordedView
from av_stack.viewing.viewer import DriveStep
from tests.av_stack.viewing.conftest import DRIVE_S, ShortDrive


def stamps(steps: list[DriveStep]) -> list[int]:
    return [one.frame.stamp.frame for one in steps]


def read(path: Path) -> tuple[list[DriveStep], str | None]:
    """The steps of a recording, and the reason why they end early."""
    recording = RecordedView(path)
    steps = list(recording.steps())
    recording.close()
    return steps, recording.problem


def test_a_recording_gives_the_drive_again(short_drive: ShortDrive) -> None:
    seen, recording = short_drive.seen, RecordedView(short_drive.recording)
    assert recording.drive.name == "parked_car"
    assert asdict(recording.drive.vehicle) == asdict(seen.drives[0].vehicle)
    assert len(recording.drive.roads["lanes"]) == len(seen.drives[0].roads["lanes"])
    found = list(recording.steps())
    assert stamps(found) == stamps(seen.steps)
    assert len(found) >= DRIVE_S / 0.05
    for step, live in zip(found, seen.steps, strict=True):
        assert step.step.result is not None
        assert live.step.result is not None
        assert step.step.result.stage_ms == pytest.approx(live.step.result.stage_ms)
        assert step.step.command == without_times(live.step).command
        assert step.truth.ego == live.truth.ego
        assert step.progress == live.progress
        error = np.abs(step.frame.cameras["front"].bgr.astype(float) - live.frame.cameras["front"].bgr)
        assert error.mean() < 6.0  # H.264


def test_of_a_file_that_is_cut_off_the_beginning_is_shown(short_drive: ShortDrive, tmp_path: Path) -> None:
    whole = short_drive.recording.read_bytes()
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole[: len(whole) * 6 // 10])
    steps, problem = read(path)
    assert problem is None
    assert 5 <= len(steps) < len(short_drive.seen.steps)
    assert stamps(steps) == stamps(short_drive.seen.steps)[: len(steps)]


def test_damage_ends_the_view_with_a_reason(short_drive: ShortDrive, tmp_path: Path) -> None:
    content = bytearray(short_drive.recording.read_bytes())
    late = len(content) * 8 // 10  # the first chunk with the map's text is a large part of the file
    content[late : late + 400] = bytes(400)
    path = tmp_path / "damaged.mcap"
    path.write_bytes(content)
    steps, problem = read(path)
    assert 5 <= len(steps) < len(short_drive.seen.steps)
    assert problem is not None
    assert str(path) in problem
    assert "can be read no further after" in problem


@pytest.mark.parametrize("content", [b"", b"no recording at all", b"\x89MCAP0\r\n"])
def test_another_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.mcap"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"other\.mcap: ") as refused:
        RecordedView(path)
    assert len(str(refused.value).splitlines()) == 1
