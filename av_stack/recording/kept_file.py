"""A file to write to that keeps its first error for whoever asks, and takes no more after it.

What the MCAP library is told of a failed write it prints, once a message, instead of raising it.
"""

from __future__ import annotations

import os
from pathlib import Path


class KeptFile:
    """A binary file with `write`, `seek` and `flush`, none of which raises; raises OSError where `path` cannot be
    opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._error: OSError | None = None
        self._is_broken = False

    def take_error(self) -> OSError | None:
        """What went wrong first, the first time that it is asked for."""
        error, self._error = self._error, None
        return error

    def write(self, data: bytes | bytearray) -> int:
        if not self._is_broken:
            try:
                self._file.write(data)
            except OSError as error:
                self._break(error)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if not self._is_broken:
            try:
                return self._file.seek(offset, whence)
            except OSError as error:
                self._break(error)
        return 0

    def flush(self) -> None:
        if not self._is_broken:
            try:
                self._file.flush()
            except OSError as error:
                self._break(error)

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self._break(error)

    def _break(self, error: OSError) -> None:
        if not self._is_broken:
            self._error, self._is_broken = error, True
