"""Progress of a soak test, in a JSON file from which the next start continues."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn


class Progress:
    """The JSON object of one test, in `FOLDER/PART.json`; each write is atomic."""

    def __init__(self, folder: Path, part: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{part}.json"
        self.data: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}

    def save(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1) + "\n")
        os.replace(part, self._path)


def _interrupt(_number: int, _frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def stop_on_signals() -> None:
    """Let SIGTERM end a run like Ctrl-C."""
    signal.signal(signal.SIGTERM, _interrupt)


def tell(line: str) -> None:
    print(line, flush=True)


def leave(status: int) -> NoReturn:
    """End the process at once; otherwise the wheel's threads would access freed objects."""
    sys.stdout.flush()
    os._exit(status)
