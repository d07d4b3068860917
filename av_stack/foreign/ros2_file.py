"""Reads the messages of a ROS 2 recording (MCAP, cdr) in the order of the file, as far as it can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mcap.exceptions import EndOfFile
from mcap.records import Channel, DataEnd, Message, Schema
from mcap.stream_reader import StreamReader

from av_core.errors import ConfigError, install_hint
from av_stack.recording.exact.reader import DAMAGE

CDR = "cdr"


class Found(NamedTuple):
    """A decoded message, and when it was recorded."""

    topic: str
    message: Any
    log_time_ns: int


class Ros2File:
    """One recording; each call of `messages` reads it from its beginning, and sets `problem` where that ends early.

    Raises ConfigError where the package that decodes messages is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            from mcap_ros2.decoder import DecoderFactory
        except ImportError:
            raise ConfigError(f"{path}: a ROS 2 recording needs mcap-ros2-support; {install_hint('ros2')}") from None
        self.path, self._decoders = path, DecoderFactory()
        self.problem: str | None = None
        self.counts: Counter[str] = Counter()

    def types(self) -> dict[str, str]:
        """The type of the messages of each topic that has some and can be decoded; counts them in `counts`."""
        schemas: dict[int, str] = {}
        channels: dict[int, Channel] = {}
        for record in self._records():
            if isinstance(record, Schema):
                schemas[record.id] = record.name
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message) and record.channel_id in channels:
                self.counts[channels[record.channel_id].topic] += 1
        known = [one for one in channels.values() if one.message_encoding == CDR and self.counts[one.topic]]
        return {one.topic: schemas.get(one.schema_id, "") for one in known}

    def messages(self, topics: Collection[str]) -> Iterator[Found]:
        """The messages of `topics`."""
        schemas: dict[int, Schema] = {}
        decode: dict[int, Any] = {}
        names: dict[int, str] = {}
        for record in self._records():
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel) and record.topic in topics and record.id not in decode:
                decode[record.id] = self._decoders.decoder_for(record.message_encoding, schemas.get(record.schema_id))
                names[record.id] = record.topic
                if decode[record.id] is None:
                    self.problem = f"{record.topic}: messages without a ros2msg definition cannot be decoded"
                    return
            elif isinstance(record, Message) and record.channel_id in decode:
                try:
                    message = decode[record.channel_id](record.data)
                except DAMAGE as error:
                    self.problem = f"{names[record.channel_id]}: a message that cannot be decoded: {error}"
                    return
                yield Found(names[record.channel_id], message, record.log_time)

    def _records(self) -> Iterator[Any]:
        self.problem = None
        is_whole = False
        try:
            with self.path.open("rb") as file:
                for record in StreamReader(file, validate_crcs=True).records:
                    is_whole = is_whole or isinstance(record, DataEnd)
                    yield record
        except EndOfFile:
            if not is_whole:
                self.problem = "the recording is cut off"
        except OSError as error:
            self.problem = str(error.strerror)
        except DAMAGE as error:
            self.problem = f"a damaged recording: {error}"
