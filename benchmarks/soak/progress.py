"""What a long run has done so far, in a JSON file that the next start reads."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn


class Progress:
    """One part's JSON object, in `FOLDER/PART.json`. Written whole or not at all."""

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
    """SIGTERM ends a run as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _interrupt)


def tell(line: str) -> None:
    print(line, flush=True)


def leave(status: int) -> NoReturn:
    """End at once: the wheel's threads would still step on what is gone."""
    sys.stdout.flush()
    os._exit(status)
