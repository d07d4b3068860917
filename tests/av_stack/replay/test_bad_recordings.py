"""Recordings with something wrong: one clear line, and what can be read is replayed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from av_core.errors import AvStackError, ConfigError
from av_core.types import Rig, SensorFrame, Stamp
from av_stack.recording.exact.pictures import LosslessPicture
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import FRAME, PICTURES, SETUP, STEP, TRUTH
from av_stack.replay.reference import ReferenceWriter, read_reference
from av_stack.replay.session import ReplayOptions, replay
from tests.av_stack.recording.test_recording import files_of_at_most
from tests.av_stack.replay.conftest import Drives
from tests.av_stack.replay.edited import Change, Edit, at_time, changed, edited, of
from tests.av_stack.report.made_drive import write_recording

FRONT = f"{PICTURES}/front"
CONTROL = ReplayOptions(("control",), is_compared=True)
LANES = ReplayOptions(("lanes",), is_compared=True)


def later(schema: bytes) -> bytes:
    return json.dumps(json.loads(schema) | {"format": 2}).encode()


def without(schema: bytes, kind: str, field: str) -> bytes:
    content = json.loads(schema)
    del content["types"][kind][field]
    return json.dumps(content).encode()


def at_step(number: int, change: Callable[[bytes, bytes], tuple[bytes, bytes] | None]) -> Change:
    return lambda at, schema, data: change(schema, data) if at == number else (schema, data)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda topic, *rest: None, r"cannot be replayed: it lacks /replay/frame, .*, /replay/truth"),
        (lambda topic, number, *rest: None if topic == TRUTH else rest, r"it lacks /replay/truth, which av-stack run"),
        (of(SETUP, lambda _, schema, data: (later(schema), data)), r"a newer av-stack, in format 2; this one reads"),
        (of(STEP, lambda _, schema, data: (later(schema), data)), r"a newer av-stack, in format 2; this one reads"),
        (
            of(SETUP, lambda _, schema, data: (without(schema, "DriveSetup", "map_text"), data)),
            r"recorded by another version of av-stack: DriveSetup has no map_text there",
        ),
        (of(SETUP, lambda _, schema, data: (schema, data[:-9])), r"damaged values"),
        (
            of(SETUP, changed(DriveSetup, lambda setup: replace(setup, map_text="<OpenDRIVE>"))),
            r"no usable OpenDRIVE text",
        ),
        (of(SETUP, changed(DriveSetup, lambda setup: replace(setup, scenario="{}"))), "the recorded scenario has no"),
        (
            of(SETUP, changed(DriveSetup, lambda setup: replace(setup, stack='{"planning": {"odd": 1}}'))),
            r"the recorded stack configuration does not fit this version: planning.odd",
        ),
        (of(SETUP, changed(DriveSetup, lambda setup: replace(setup, rig=Rig(())))), "the drive had no camera"),
        (
            of(SETUP, changed(DriveSetup, lambda setup: replace(setup, agent="autopilot"))),
            "autopilot drove, so no answers",
        ),
    ],
)
def test_what_cannot_be_replayed_is_refused(drives: Drives, tmp_path: Path, edit: Edit, message: str) -> None:
    path = edited(drives.exact, tmp_path / "bad.mcap", edit)
    with pytest.raises(ConfigError, match=message) as told:
        replay(path, CONTROL)
    assert str(told.value).startswith(str(path))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", [b"", b"no recording at all", b"\x89MCAP0\r\n" + bytes(100)])
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "drive.mcap"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=str(path)):
        replay(path, CONTROL)


def test_a_recording_of_an_older_version_is_refused(tmp_path: Path) -> None:
    write_recording(tmp_path / "old.mcap", steps=5)
    with pytest.raises(ConfigError, match=r"cannot be replayed: it lacks /replay/frame"):
        replay(tmp_path / "old.mcap", CONTROL)


def other_size(frame: SensorFrame) -> SensorFrame:
    front = frame.cameras["front"]
    camera = replace(front.camera, width_px=320, height_px=180)
    return replace(frame, cameras={"front": replace(front, camera=camera)})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            of(FRAME, at_step(30, lambda s, d: changed(SensorFrame, lambda f: at_time(f, Stamp(3, 0.15)))(0, s, d))),
            "the clock jumps back to 0.15 s",
        ),
        (of(FRAME, at_step(30, lambda schema, data: (schema, data[:40]))), "damaged values"),
        (of(TRUTH, at_step(30, lambda schema, data: (schema, b"\xc1"))), "damaged values"),
        (of(FRONT, at_step(30, lambda schema, data: None)), "camera front: a picture is missing"),
        (
            of(FRAME, at_step(30, lambda s, d: changed(SensorFrame, other_size)(0, s, d))),
            "camera front: the calibration is for 320x180 px, the pictures have 640x360",
        ),
        (
            of(FRONT, at_step(30, lambda s, d: changed(LosslessPicture, lambda p: replace(p, data=b"x"))(0, s, d))),
            "camera front: a damaged picture",
        ),
    ],
)
def test_a_drive_is_replayed_up_to_where_it_can_be_read(
    drives: Drives, tmp_path: Path, edit: Edit, message: str
) -> None:
    path = edited(drives.exact, tmp_path / "bad.mcap", edit)
    done = replay(path, LANES)
    assert done.problem is not None
    assert message in done.problem
    assert done.problem.startswith(f"{path}: can be read no further after ")
    assert done.comparison is not None
    assert done.steps == done.comparison.equal_steps == 30


def test_a_recording_that_was_cut_off_is_replayed_as_far_as_it_goes(drives: Drives, tmp_path: Path) -> None:
    path, whole = tmp_path / "cut.mcap", drives.exact.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    done = replay(path, LANES)
    assert 0.5 * drives.steps < done.steps < 0.8 * drives.steps
    assert done.problem is None
    assert done.is_equal
    assert "the recording was cut off before the end of its drive" in done.notes
    assert path.read_bytes() == whole[: len(whole) * 2 // 3]


def test_steps_that_were_not_recorded_are_counted(drives: Drives, tmp_path: Path) -> None:
    def drop(topic: str, number: int, schema: bytes, data: bytes) -> tuple[bytes, bytes] | None:
        return None if topic.startswith("/replay/") and number in (10, 11) and topic != SETUP else (schema, data)

    done = replay(edited(drives.exact, tmp_path / "gap.mcap", drop), CONTROL)
    assert done.steps == drives.steps - 2
    assert done.notes[0] == "the recording lacks 2 steps, so later answers may differ"


def test_an_agents_drive_is_an_input_too(drives: Drives, tmp_path: Path) -> None:
    """Today's stack runs on it, but there is nothing to compare with."""
    edit = of(SETUP, changed(DriveSetup, lambda setup: replace(setup, agent="autopilot")))
    path = edited(drives.exact, tmp_path / "agent.mcap", edit)
    assert replay(path, ReplayOptions()).steps == drives.steps
    with pytest.raises(ConfigError, match="autopilot drove, so there is nothing to compare with"):
        replay(path, ReplayOptions(is_compared=True))


def test_a_reference_that_a_full_disk_cuts_short_leaves_the_old_one(drives: Drives, tmp_path: Path) -> None:
    path = tmp_path / "reference.mcap"
    options = ReplayOptions(("control",), reference=path, is_update=True)
    replay(drives.exact, options)
    before = path.read_bytes()
    with files_of_at_most(2000), pytest.raises(AvStackError, match="the reference cannot be written: File too large"):
        replay(drives.exact, options)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["reference.mcap"]


def test_what_is_no_reference_is_refused(tmp_path: Path) -> None:
    write_recording(tmp_path / "old.mcap", steps=5)
    with pytest.raises(ConfigError, match="no reference of a replay"):
        read_reference(tmp_path / "old.mcap")
    with pytest.raises(ConfigError, match="No such file"):
        read_reference(tmp_path / "none.mcap")
    with ReferenceWriter(tmp_path / "empty.mcap"):
        pass
    with pytest.raises(ConfigError, match="no reference of a replay"):
        read_reference(tmp_path / "empty.mcap")
