"""Disk cache of built maps, so that the next server does not build them again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import scipy
import shapely

from embedded_carla.log import log
from embedded_carla.maps.packing import PackingError, pack, unpack

FOLDER_VARIABLE = "EMBEDDED_CARLA_CACHE"
MOST_BYTES = 1 << 30
_SUFFIX = ".map"
_PART_SUFFIX = ".part"
_ABANDONED_S = 3600.0  # a part file this old belongs to a server that died while writing


def default_folder() -> Path:
    """$EMBEDDED_CARLA_CACHE, or embedded_carla in the user's cache folder."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "embedded_carla"


def _code_digest() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode())
        digest.update(path.read_bytes())
    for library in (np, cv2, scipy, shapely):
        digest.update(f"{library.__name__} {library.__version__}\n".encode())
    return digest.hexdigest()


CODE_DIGEST = _code_digest()
"""Hash of this package's source and of the versions of the libraries that build maps, computed at import."""


class MapCache:
    """Values by key in a folder of about `most_bytes` at most; the least recently used ones are removed first.

    Several servers may share the folder, because files are written atomically. If the folder cannot be used, the log
    says so and nothing is cached.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}{_SUFFIX}"

    def load(self, key: str) -> Any | None:
        """The value stored under `key`; None if there is none or its file is damaged."""
        path = self._path(key)
        try:
            value = unpack(np.fromfile(path, dtype=np.uint8))
            os.utime(path)
            return value
        except FileNotFoundError:
            return None
        except (OSError, PackingError) as error:
            log(f"map cache: {path} cannot be used and is built anew: {error}")
            return None

    def store(self, key: str, value: Any) -> None:
        """Store `value` under `key`."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, part = tempfile.mkstemp(suffix=_PART_SUFFIX, dir=self._folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.writelines(pack(value))
                os.replace(part, self._path(key))
            except BaseException:
                Path(part).unlink(missing_ok=True)
                raise
            self._make_room()
        except (OSError, PackingError) as error:
            log(f"map cache: nothing kept in {self._folder}: {error}")

    def _make_room(self) -> None:
        """Remove the least recently used files, and part files of servers that died."""
        kept = []
        for path in self._folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another server was faster
                state = path.stat()
                if path.suffix == _SUFFIX:
                    kept.append((state.st_mtime, state.st_size, path))
                elif path.suffix == _PART_SUFFIX and time.time() - state.st_mtime > _ABANDONED_S:
                    path.unlink()
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept)[:-1]:
            if total <= self._most_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size
