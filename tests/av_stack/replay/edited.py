"""Copies of recordings in which something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.writer import Writer

from av_core.types import SensorFrame, Stamp
from av_stack.recording.exact.packing import Unpacker, packer

Edit = Callable[[str, int, bytes, bytes], tuple[bytes, bytes] | None]
"""Takes topic, number on that topic, schema and content of a message; returns schema and content, None to drop it."""


def edited(path: Path, to: Path, edit: Edit) -> Path:
    """A copy of a recording with edited messages. The schema of a topic is that of its first message."""
    counts: dict[str, int] = {}
    channels: dict[str, int] = {}
    with path.open("rb") as file, to.open("wb") as out:
        writer = Writer(out)
        writer.start()
        for record in make_reader(file).iter_metadata():
            writer.add_metadata(record.name, record.metadata)
        file.seek(0)
        for schema, channel, message in make_reader(file).iter_messages(log_time_order=False):
            assert schema is not None
            number = counts[channel.topic] = counts.get(channel.topic, -1) + 1
            changed = edit(channel.topic, number, schema.data, message.data)
            if changed is None:
                continue
            if channel.topic not in channels:
                kind = writer.register_schema(schema.name, schema.encoding, changed[0])
                channels[channel.topic] = writer.register_channel(channel.topic, channel.message_encoding, kind)
            writer.add_message(channels[channel.topic], message.log_time, changed[1], message.publish_time)
        writer.finish()  # type: ignore[no-untyped-call]
    return to


Change = Callable[[int, bytes, bytes], tuple[bytes, bytes] | None]
"""An `Edit` of the messages of one topic."""


def of(topic: str, change: Change) -> Edit:
    """Edits the messages of one topic."""
    return lambda name, number, schema, data: change(number, schema, data) if name == topic else (schema, data)


def changed(kind: type, change: Callable[[Any], Any]) -> Callable[[int, bytes, bytes], tuple[bytes, bytes]]:
    """Edits packed values of `kind`."""
    return lambda _, schema, data: (schema, packer(kind).pack(change(Unpacker(kind, schema).unpack(data))))


def at_time(frame: SensorFrame, stamp: Stamp) -> SensorFrame:
    return replace(frame, stamp=stamp)


def other_settings(folder: Path) -> Path:
    """A configuration of the stack in which one gain of control is another."""
    path = folder / "other_stack.yaml"
    path.write_text("planning: {}\ncontrol: {lateral: {look_ahead_min_m: 6.0}}\n")
    return path
