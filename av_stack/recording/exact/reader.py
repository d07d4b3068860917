"""Reads the data for a replay from a recording, tick by tick, up to the end or to the first damage."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcap.exceptions import McapError
from mcap.reader import McapReader, NonSeekingReader, make_reader
from mcap.records import Channel, Message, Schema
from zstandard import ZstdError

from av_core.errors import ConfigError
from av_core.types import CameraImage, Image, SensorFrame, Stamp, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.packing import PackingError, Unpacker
from av_stack.recording.exact.pictures import LosslessPicture, PictureDecoder
from av_stack.recording.exact.setup import FAULTS_APART, DriveSetup
from av_stack.recording.exact.topics import FRAME, PICTURES, SETUP, STEP, TRUTH
from av_stack.recording.repair import open_recording

DAMAGE = (McapError, ZstdError, struct.error, ValueError, RuntimeError, OverflowError, EOFError)
"""The exceptions that the MCAP reader raises for a damaged file."""

Found = tuple[Schema | None, Channel, Message]


@dataclass(frozen=True, slots=True)
class RecordedTick:
    """One step of a recording: its frame, the truth, and the packed `AgentStep`.

    The frame has all its pictures, or none if the recording holds them only as previews. `messages` are the messages of
    the further topics that the reader was asked for.
    """

    frame: SensorFrame
    truth: Truth
    step: bytes
    messages: Mapping[str, bytes] = field(default_factory=dict)


class DriveReader:
    """Reads one recording: `setup` at any time, `ticks` once. A cut-off file is read from a repaired copy.

    * `has_pictures`: whether the frames have pictures; set it to False before `ticks` to leave them out.
    * `problem`: after `ticks`, the reason in one line why it ended before the end of the file; None if it did not.
    * `missing_steps`: after `ticks`, the number of steps between its ticks that were not recorded.
    * `more`: the ticks also get the messages of all topics whose names begin with one of these.

    Raises ConfigError if the file cannot be replayed.
    """

    def __init__(self, path: Path, more: tuple[str, ...] = ()) -> None:
        self.path, self._more = path, more
        self.problem: str | None = None
        self.missing_steps = 0
        self._closer = ExitStack()
        try:
            self._file = self._closer.enter_context(open_recording(path))
            self._topics = self._own_topics()
            self.verdict = {key: _plain(text) for key, text in self._metadata("verdict").items()}
            self.faults = tuple(filter(None, self._metadata("run").get("faults", "").split(FAULTS_APART)))
            self.setup = self._read_setup()
            self.has_pictures = self.setup.has_pictures and bool(self.setup.rig.cameras)
        except OSError as error:
            self.close()
            raise ConfigError(f"{path}: {error.strerror}") from None
        except PackingError as error:
            self.close()
            raise ConfigError(f"{path}: {error}") from None
        except DAMAGE as error:
            self.close()
            raise ConfigError(f"{path}: a damaged recording: {error}") from None
        except BaseException:
            self.close()
            raise

    @property
    def is_cut_off(self) -> bool:
        """Whether the recording ends without the verdict, because the drive was cut off."""
        return not self.verdict

    def steps_unpacker(self) -> Unpacker[AgentStep]:
        """The unpacker of the `step` of the ticks. Raises PackingError if today's types cannot hold these steps."""
        return Unpacker(AgentStep, self._topics[STEP])

    def ticks(self) -> Iterator[RecordedTick]:
        """The ticks in order, as far as they can be read."""
        decoders: dict[str, PictureDecoder] = {}
        last: Stamp | None = None
        try:
            frames, truths = Unpacker(SensorFrame, self._topics[FRAME]), Unpacker(Truth, self._topics[TRUTH])
            pictures = Unpacker(LosslessPicture, self._picture_schema()) if self.has_pictures else None
            for group in self._groups():
                frame = frames.unpack(group[FRAME])
                if last is not None and not self._follows(last, frame.stamp):
                    return
                last = frame.stamp
                seen = {}
                if pictures is not None:
                    for name in frame.cameras:
                        picture = pictures.unpack(_picture(group, name))
                        seen[name] = decoders.setdefault(name, PictureDecoder()).decode(picture)
                others = {topic: data for topic, data in group.items() if topic not in self._topics}
                yield RecordedTick(_with_pictures(frame, seen), truths.unpack(group[TRUTH]), group[STEP], others)
        except PackingError as error:
            self._end(last, str(error))
        except OSError as error:
            self._end(last, str(error.strerror))
        except DAMAGE as error:
            self._end(last, f"a damaged recording: {error}")

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._closer.close()

    def _follows(self, last: Stamp, stamp: Stamp) -> bool:
        """Whether `stamp` is later than `last`; adds the steps between the two to `missing_steps`."""
        if stamp.frame <= last.frame or stamp.time_s <= last.time_s:
            self._end(last, f"the clock jumps back to {stamp.time_s:.2f} s")
            return False
        self.missing_steps += stamp.frame - last.frame - 1
        return True

    def _end(self, last: Stamp | None, why: str) -> None:
        after = "before its first step" if last is None else f"after {last.time_s:.2f} s"
        self.problem = f"{self.path}: can be read no further {after}: {why}"

    def _groups(self) -> Iterator[dict[str, bytes]]:
        """The messages of each complete step, by topic."""
        group: dict[str, bytes] = {}
        topics = [topic for topic in self._topics if self.has_pictures or not topic.startswith(PICTURES)]
        for _, channel, message in self._messages([*topics, *self._other_topics()]):
            group[channel.topic] = message.data
            if channel.topic == STEP:  # it is written last
                if {FRAME, TRUTH} <= group.keys():
                    yield group
                group = {}

    def _messages(self, topics: list[str]) -> Iterator[Found]:
        """The messages in the file's order, one chunk after the other.

        (The reader that `make_reader` returns takes in the whole file before its first message, so that damage at the
        end would hide the beginning.)
        """
        self._file.seek(0)
        yield from NonSeekingReader(self._file, validate_crcs=True).iter_messages(topics, log_time_order=False)

    def _reader(self) -> McapReader:
        self._file.seek(0)
        return make_reader(self._file, validate_crcs=True)

    def _own_topics(self) -> dict[str, bytes]:
        """The schemas of the topics that a replay reads, by topic."""
        summary = self._reader().get_summary()
        found = summary.channels.values() if summary is not None else ()
        schemas = summary.schemas if summary is not None else {}
        own = {one.topic: schemas[one.schema_id].data for one in found if one.topic.startswith("/replay/")}
        if missing := {SETUP, FRAME, TRUTH, STEP} - own.keys():
            raise ConfigError(
                f"{self.path}: cannot be replayed: it lacks {', '.join(sorted(missing))}, "
                "which av-stack run records from its first step on"
            )
        return own

    def _other_topics(self) -> list[str]:
        """The topics besides those of a replay that the ticks are to have."""
        summary = self._reader().get_summary()
        found = summary.channels.values() if summary is not None else ()
        return [one.topic for one in found if self._more and one.topic.startswith(self._more)]

    def _picture_schema(self) -> bytes:
        for topic, schema in self._topics.items():
            if topic.startswith(PICTURES):
                return schema
        raise PackingError("no lossless pictures, although the setup promises them")

    def _read_setup(self) -> DriveSetup:
        unpacker = Unpacker(DriveSetup, self._topics[SETUP])
        for _, _, message in self._messages([SETUP]):
            return unpacker.unpack(message.data)
        raise ConfigError(f"{self.path}: cannot be replayed: it holds no step")

    def _metadata(self, name: str) -> Mapping[str, str]:
        return next((record.metadata for record in self._reader().iter_metadata() if record.name == name), {})


def _picture(group: Mapping[str, bytes], camera: str) -> bytes:
    try:
        return group[f"{PICTURES}/{camera}"]
    except KeyError:
        raise PackingError(f"camera {camera}: a picture is missing") from None


def _with_pictures(frame: SensorFrame, pictures: Mapping[str, Image]) -> SensorFrame:
    """The frame with its pictures. Raises PackingError where one does not fit its camera's calibration."""
    cameras: dict[str, CameraImage] = {}
    for name, bgr in pictures.items():
        image = frame.cameras[name]
        if bgr.shape != (image.camera.height_px, image.camera.width_px, 3):
            raise PackingError(
                f"camera {name}: the calibration is for {image.camera.width_px}x{image.camera.height_px} px, "
                f"the pictures have {bgr.shape[1]}x{bgr.shape[0]}"
            )
        cameras[name] = replace(image, bgr=bgr)
    return replace(frame, cameras=cameras)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
