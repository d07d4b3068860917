"""A disk cache of results that are slow to compute, one file per entry.

Several processes may share its folder. The folder may be read-only, and its files may be lost or damaged.
An entry is the SHA-256 of the payload followed by the payload. It is written to a temporary file in the same folder and
renamed into place, so that a reader sees a whole entry or none. An entry that does not match its checksum counts as
missing and is replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

LOG = logging.getLogger(__name__)
DIGEST_BYTES = 32


def user_folder(name: str) -> Path:
    """The folder `name` of this program in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "av-stack" / name


def key_of(parts: Iterable[str | bytes]) -> str:
    """Entry name as a hash of `parts` (source, options, versions...); their order and boundaries count."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class DiskCache:
    """Entries as files `KEY.suffix` in one folder; where the folder cannot be used, every entry is computed anew.

    The first such error is reported by a warning, to which `consequence` adds what it means for the user. When the
    folder holds more than `most_entries` files, the oldest are removed.
    """

    def __init__(self, folder: Path, suffix: str, consequence: str, most_entries: int | None = None) -> None:
        self._folder = folder
        self._suffix = suffix
        self._consequence = consequence
        self._most_entries = most_entries
        self._complained = False

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The entry `key`; if it is missing or damaged, it is made by `make` and stored."""
        found = self._read(key)
        if found is not None:
            return found
        payload = make()
        self._write(key, payload)
        return payload

    def _read(self, key: str) -> bytes | None:
        try:
            data = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._complain(error)
            return None
        payload = data[DIGEST_BYTES:]
        return payload if payload and hashlib.sha256(payload).digest() == data[:DIGEST_BYTES] else None

    def _write(self, key: str, payload: bytes) -> None:
        temporary: str | None = None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, self._path(key))
            self._make_room()
        except OSError as error:
            self._complain(error)
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)

    def _make_room(self) -> None:
        if self._most_entries is None:
            return
        made = []
        for path in self._folder.glob(f"*.{self._suffix}"):
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                made.append((path.stat().st_mtime_ns, path))
        for _, path in sorted(made)[: -self._most_entries]:
            path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.{self._suffix}"

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            LOG.warning("cache %s: %s; %s", self._folder, error, self._consequence)
            self._complained = True
