"""The folder of recordings, and the mapping from a client's file name to a file in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from embedded_carla.errors import CommandError

FOLDER_VARIABLE = "EMBEDDED_CARLA_RECORDINGS"
MAX_NAME_BYTES = 200

_SEPARATORS = re.compile(r"[/\\:]")


def default_folder() -> Path:
    """$EMBEDDED_CARLA_RECORDINGS, else embedded_carla/recordings in the user's state folder (XDG base directories)."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "embedded_carla" / "recordings"


class RecordingFolder:
    """The folder in which all recordings are written and read.

    CARLA treats a name with a folder as a path on the server's disk. Here every name leads into `folder`: a path into
    it is used unchanged, and of any other path only the last part is used. So clients that pass other paths find their
    recordings again, and cannot read or damage other files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()

    def path(self, name: str) -> Path:
        """The path of the file `name`, which need not exist. Raises CommandError if it is not a valid file name."""
        root = self.folder.resolve()
        asked = Path(name) if "\0" not in name else Path()
        if asked.is_absolute() and ".." not in asked.parts and (asked.is_relative_to(self.folder)):
            inside = asked.relative_to(self.folder)
        else:
            inside = Path(_SEPARATORS.split(name)[-1])
        last = inside.name
        if last in ("", ".", "..") or not last.isprintable() or len(last.encode()) > MAX_NAME_BYTES:
            raise CommandError(f"{name!r:.80} names no recording: expected a file name such as 'recording01.log'")
        found = root / inside
        if not found.resolve().is_relative_to(root) or (found.exists() and not found.is_file()):
            raise CommandError(f"{name!r:.80} names no recording: it leads out of {self.folder} or is not a file")
        return found

    def existing(self, name: str) -> Path | None:
        """Like `path`, but None when the file does not exist."""
        path = self.path(name)
        return path if path.is_file() else None

    def missing(self, name: str) -> str:
        """CARLA's answer when the file does not exist, with the path where it is expected."""
        return f"File {self.path(name)} not found on server\n"
