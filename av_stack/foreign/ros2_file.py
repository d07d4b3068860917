"""Reads the messages of a ROS 2 bag (MCAP, cdr) in the order of its files, as far as they can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard
from mcap.exceptions import EndOfFile
from mcap.records import Channel, DataEnd, Message, Schema
from mcap.stream_reader import StreamReader

from av_core.errors import ConfigError, install_hint
from av_stack.foreign.kinds import bag_files
from av_stack.recording.exact.reader import DAMAGE

CDR = "cdr"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""First bytes of a message that ROS 2 compressed on its own (`--compression-mode message`); cdr begins with 0."""


class Found(NamedTuple):
    """A decoded message, and when it was recorded."""

    topic: str
    message: Any
    log_time_ns: int


class Ros2File:
    """One bag; each call of `messages` reads it from its beginning, and sets `problem` where that ends early.

    Raises ConfigError where the package that decodes messages is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            from mcap_ros2.decoder import DecoderFactory
        except ImportError:
            raise ConfigError(f"{path}: a ROS 2 recording needs mcap-ros2-support; {install_hint('ros2')}") from None
        self.path, self._decoder_factory = path, DecoderFactory
        self.problem: str | None = None
        self.counts: Counter[str] = Counter()

    def types(self) -> dict[str, str]:
        """The type of the messages of each topic that has some and can be decoded; counts them in `counts`."""
        found: dict[str, str] = {}
        for file in self._files():
            schemas: dict[int, str] = {}
            channels: dict[int, Channel] = {}
            for record in self._records(file):
                if isinstance(record, Schema):
                    schemas[record.id] = record.name
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message) and record.channel_id in channels:
                    self.counts[channels[record.channel_id].topic] += 1
            known = [one for one in channels.values() if one.message_encoding == CDR and self.counts[one.topic]]
            found |= {one.topic: schemas.get(one.schema_id, "") for one in known}
        return found

    def messages(self, topics: Collection[str]) -> Iterator[Found]:
        """The messages of `topics`."""
        for file in self._files():
            yield from self._messages_in(file, topics)

    def _messages_in(self, file: Path, topics: Collection[str]) -> Iterator[Found]:
        decoders = self._decoder_factory()  # it keeps decoders by number of the schema, which each file gives anew
        schemas: dict[int, Schema] = {}
        decode: dict[int, Any] = {}
        names: dict[int, str] = {}
        for record in self._records(file):
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel) and record.topic in topics and record.id not in decode:
                decode[record.id] = decoders.decoder_for(record.message_encoding, schemas.get(record.schema_id))
                names[record.id] = record.topic
                if decode[record.id] is None:
                    self.problem = f"{record.topic}: messages without a ros2msg definition cannot be decoded"
                    return
            elif isinstance(record, Message) and record.channel_id in decode:
                try:
                    message = decode[record.channel_id](_unpacked(record.data))
                except DAMAGE as error:
                    self.problem = f"{names[record.channel_id]}: a message that cannot be decoded: {error}"
                    return
                yield Found(names[record.channel_id], message, record.log_time)

    def _files(self) -> Iterator[Path]:
        """The files of the bag in order, up to the first one with a problem."""
        self.problem = None
        for file in bag_files(self.path):
            if self.problem is None:
                yield file

    def _records(self, path: Path) -> Iterator[Any]:
        is_whole, where = False, f"{path.name}: " if path != self.path else ""
        try:
            with path.open("rb") as file:
                for record in StreamReader(file, validate_crcs=True).records:
                    is_whole = is_whole or isinstance(record, DataEnd)
                    yield record
        except EndOfFile:
            if not is_whole:
                self.problem = f"{where}the recording is cut off"
        except OSError as error:
            self.problem = f"{where}{error.strerror}"
        except DAMAGE as error:
            self.problem = f"{where}a damaged recording: {error}"


def _unpacked(data: bytes) -> bytes:
    return zstandard.decompress(data) if data.startswith(ZSTD_MAGIC) else data
