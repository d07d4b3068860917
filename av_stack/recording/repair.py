"""Completes recordings and videos that were cut off by a crash or an interrupted copy (`av-stack repair FILE`).

A recording is cut after its last whole record and given a summary and footer. A video is cut after its last whole
fragment. Nothing else in a file changes.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Footer, Header

from av_core.errors import ConfigError
from av_stack.recording.fragments import FIRST_BOX, FRAGMENT_HEAD, read_boxes, whole_fragments_bytes
from av_stack.recording.mcap_index import HEAD, MAGIC, DamagedRecordError, McapIndex, read_records, written

FOOTER_BYTES = HEAD.size + 20
CRC_BYTES = 4


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """How to complete a file: keep its first `kept_bytes` and append `ending`."""

    size_bytes: int
    kept_bytes: int
    ending: bytes

    @property
    def is_needed(self) -> bool:
        return self.kept_bytes < self.size_bytes or bool(self.ending)

    @property
    def dropped_bytes(self) -> int:
        return self.size_bytes - self.kept_bytes


def repair(path: Path) -> RepairPlan:
    """Complete the file in place; returns what was done. Raises ConfigError where it is no recording or video."""
    try:
        with path.open("r+b") as file:
            plan = _examine(path, file)
            _apply(file, plan)
            return plan
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


@contextmanager
def open_recording(path: Path) -> Iterator[IO[bytes]]:
    """Open a recording for reading. An incomplete one is read from a repaired copy; the file itself does not change."""
    with path.open("rb") as file:
        plan = _examine(path, file)
        file.seek(0)
        if not plan.is_needed:
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            _apply(copy, plan)
            copy.seek(0)
            yield copy


def _examine(path: Path, file: IO[bytes]) -> RepairPlan:
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(len(MAGIC))
    if start == MAGIC:
        return (
            RepairPlan(size_bytes, size_bytes, b"")
            if _is_complete(file, size_bytes)
            else _examine_mcap(file, size_bytes)
        )
    if start[4:8] == FIRST_BOX:
        return _examine_mp4(path, file, size_bytes)
    raise ConfigError(f"{path}: neither an MCAP recording nor an mp4 video")


def _apply(file: IO[bytes], plan: RepairPlan) -> None:
    if plan.is_needed:
        file.truncate(plan.kept_bytes)
        file.seek(plan.kept_bytes)
        file.write(plan.ending)


def _is_complete(file: IO[bytes], size_bytes: int) -> bool:
    """Whether the file ends with a footer whose checksum, if it has one, matches the summary before it."""
    at = size_bytes - FOOTER_BYTES - len(MAGIC)
    if at < len(MAGIC):
        return False
    file.seek(at)
    opcode, length = HEAD.unpack(file.read(HEAD.size))
    if opcode != Opcode.FOOTER or length != FOOTER_BYTES - HEAD.size:
        return False
    footer = Footer.read(ReadDataStream(file))
    if file.read() != MAGIC or footer.summary_start > at:
        return False
    if footer.summary_crc == 0 or footer.summary_start == 0:
        return True
    file.seek(footer.summary_start)
    summary = file.read(at + FOOTER_BYTES - CRC_BYTES - footer.summary_start)
    return bool(zlib.crc32(summary) == footer.summary_crc)


def _examine_mcap(file: IO[bytes], size_bytes: int) -> RepairPlan:
    index, kept_bytes = McapIndex(), len(MAGIC)
    file.seek(kept_bytes)
    for record in read_records(file, kept_bytes, size_bytes):
        if record.opcode == Opcode.DATA_END:
            break
        try:
            index.add(record)
        except DamagedRecordError:
            break
        kept_bytes = record.end
    header = written([Header("", "av-stack repair")]) if kept_bytes == len(MAGIC) else b""
    return RepairPlan(size_bytes, kept_bytes, header + index.ending(kept_bytes + len(header)))


def _examine_mp4(path: Path, file: IO[bytes], size_bytes: int) -> RepairPlan:
    boxes = list(read_boxes(file))
    name, end = boxes[-1] if boxes else (b"", 0)
    if end == size_bytes and name != FRAGMENT_HEAD:
        return RepairPlan(size_bytes, size_bytes, b"")
    kept_bytes = whole_fragments_bytes(file)
    if not kept_bytes or FRAGMENT_HEAD not in (name for name, _ in boxes):
        raise ConfigError(f"{path}: cut off before its first whole fragment; nothing of it can be played")
    return RepairPlan(size_bytes, kept_bytes, b"")
