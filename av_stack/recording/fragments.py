"""Reads the boxes of an mp4 file, and finds the last whole fragment of a fragmented one that was cut off.

A fragmented file is a head (`ftyp`, `moov`), then fragments of two boxes each (`moof`, `mdat`), then an index (`mfra`).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO

FIRST_BOX, FRAGMENT_HEAD = b"ftyp", b"moof"
LAST_BOXES = (b"mdat", b"mfra")
"""A fragmented file plays when it ends with one of these boxes."""

HEAD = struct.Struct(">I4s")
LONG_SIZE = struct.Struct(">Q")
LONG = 1
"""In the 32-bit size field: the size is in the 64 bits after the name."""


def read_boxes(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """The whole boxes of `file` from its beginning: name, and the offset in bytes at which the box ends."""
    size_bytes, at = file.seek(0, os.SEEK_END), 0
    while at + HEAD.size <= size_bytes:
        file.seek(at)
        head = file.read(HEAD.size + LONG_SIZE.size)
        size, name = HEAD.unpack_from(head)
        if size == LONG and len(head) == HEAD.size + LONG_SIZE.size:
            (size,) = LONG_SIZE.unpack_from(head, HEAD.size)
        at += size
        if size < HEAD.size or at > size_bytes:
            return
        yield name, at


def whole_fragments_bytes(file: IO[bytes]) -> int:
    """Length in bytes of `file` up to its last whole fragment; 0 where it has none."""
    return max((end for name, end in read_boxes(file) if name in LAST_BOXES), default=0)
