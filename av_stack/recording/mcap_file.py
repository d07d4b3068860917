"""The file object for foxglove's MCAP writer: after every `commit`, the file on disk is a complete MCAP file."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

from av_stack.recording.atomic_file import AtomicFile
from av_stack.recording.mcap_index import MAGIC, McapIndex, read_records


class McapFile:
    """Buffers what is written in memory until `commit`, since the writer seeks back to the head of an open chunk.

    `write`, `seek` and `flush` raise nothing, because the library answers an exception with a panic. Raises OSError
    where `path` cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)
        self._pending = BytesIO()
        self._index = McapIndex()

    @property
    def path(self) -> Path:
        return self._file.path

    def write(self, data: bytes | bytearray) -> int:
        return self._pending.write(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move within what was written since the last commit; earlier positions cannot be reached."""
        start = self._file.size_bytes
        if whence == os.SEEK_SET:
            offset = max(0, offset - start)
        return start + self._pending.seek(offset, whence)

    def flush(self) -> None:
        """Does nothing: `commit` writes."""

    def commit(self) -> None:
        """Write all records since the last commit; no chunk may be open. An OSError leaves the file as it was."""
        start, written = self._file.size_bytes, self._pending.getvalue()
        skipped = 0 if start else len(MAGIC)
        self._pending.seek(skipped)
        for record in read_records(self._pending, start + skipped, start + len(written)):
            self._index.add(record)
        self._pending = BytesIO()
        self._file.append(written, self._index.ending(start + len(written)))

    def close(self) -> None:
        self._file.close()
