"""Map library: the towns that come with the server, and maps that the user adds."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from embedded_carla.errors import MapError

OWN_MAPS = Path(__file__).parent
FILE_MAX_BYTES = 64 * 1024 * 1024
"""Largest map file that is read, equal to a client's largest message. CARLA's Town04 has 3.4 MB."""
_PREFIXES = ("/Game/Carla/Maps/", "Carla/Maps/", "/Game/Maps/")


class MapLibrary:
    """OpenDRIVE files by name: added files come first, then those in `extra_dirs` in order, then the server's own."""

    def __init__(self, extra_dirs: Sequence[Path] = ()) -> None:
        """Raises MapError if one of `extra_dirs` is not a folder."""
        for folder in extra_dirs:
            if not folder.is_dir():
                raise MapError(f"map folder {folder} does not exist")
        self._dirs = (*extra_dirs, OWN_MAPS)
        self._own_files: dict[str, Path] = {}

    def names(self) -> list[str]:
        """Names of all maps, sorted."""
        return sorted(self._files())

    def add_file(self, path: Path) -> str:
        """Add one .xodr file from any folder; returns its map name."""
        self._own_files[path.stem] = path
        return path.stem

    def load_text(self, given: str) -> tuple[str, str]:
        """Return (name, OpenDRIVE text) of a map given by name, by its file's name or by CARLA's asset path.

        Only the last part of a path is used, so that clients can read no other files. `Town01_Opt` is the same town as
        `Town01`; the requested name is returned, because programs compare names. Raises MapError, which lists the
        available maps or says why a file cannot be read.
        """
        files = self._files()
        name = plain_name(given).removesuffix(".xodr")
        for candidate in (name, name.removesuffix("_Opt")):
            if candidate in files:
                return name, _read(files[candidate])
        there = ", ".join(sorted(files))
        raise MapError(f"unknown map {given!r:.200}; there are {there} (--maps DIR adds the maps in DIR)")

    def is_own(self, given: str) -> bool:
        """Whether the map of this name comes with the server; the server's tests prove that clients can use it."""
        name = plain_name(given).removesuffix(".xodr")
        files = self._files()
        found = files.get(name) or files.get(name.removesuffix("_Opt"))
        return found is not None and found.parent == OWN_MAPS

    def _files(self) -> dict[str, Path]:
        files = dict(self._own_files)
        for folder in self._dirs:
            for path in sorted(folder.glob("*.xodr")):
                files.setdefault(path.stem, path)
        return files


def plain_name(name: str) -> str:
    """A map's name without CARLA's asset folders."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name.rsplit("/", 1)[-1]


def _read(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise MapError(f"map file {path} is not a regular file")
        with path.open("rb") as file:
            data = file.read(FILE_MAX_BYTES + 1)
        if len(data) > FILE_MAX_BYTES:
            raise MapError(f"map file {path} is larger than {FILE_MAX_BYTES >> 20} MiB, the most that is allowed")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise MapError(f"map file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MapError(f"map file {path} is not text in UTF-8") from error
