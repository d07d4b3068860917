"""Files that are complete at any time: a full disk or a killed process does not leave a half-written one behind."""

from __future__ import annotations

import os
from pathlib import Path

PIECE_MODE = 0o644


class AtomicFile:
    """A file of pieces and an ending. `append` writes a piece entirely or not at all, and replaces the ending.

    Raises OSError where `path` cannot be opened. For one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PIECE_MODE)
        self._size_bytes = 0  # of all pieces
        self._ending = b""

    @property
    def size_bytes(self) -> int:
        """Size of all pieces, without the ending."""
        return self._size_bytes

    def append(self, piece: bytes, ending: bytes = b"") -> None:
        """Replace the old ending by `piece` and a new `ending`. An OSError leaves the file as it was before."""
        try:
            self._write(piece + ending, self._size_bytes)
            os.ftruncate(self._descriptor, self._size_bytes + len(piece) + len(ending))
        except OSError:
            self._restore()
            raise
        self._size_bytes += len(piece)
        self._ending = ending

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _restore(self) -> None:
        """Write the old ending again, into space that the file already has; remove the file if it has no pieces."""
        if not self._size_bytes:
            self.path.unlink(missing_ok=True)
            return
        self._write(self._ending, self._size_bytes)
        os.ftruncate(self._descriptor, self._size_bytes + len(self._ending))

    def _write(self, data: bytes, at: int) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            rest, at = rest[written:], at + written


def write_atomically(path: Path, text: str) -> None:
    """Write `path` in one step: it is complete, or as it was before. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
