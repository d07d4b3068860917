"""Import ultralytics so that it never reaches for the network: no downloads, no installs, no telemetry."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any


def ultralytics() -> Any:
    """The ultralytics package, with a configuration folder of our own under the user's cache.

    Raises ModuleNotFoundError where it is not installed.
    """
    os.environ.update(
        {"YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "0", "YOLO_VERBOSE": os.environ.get("YOLO_VERBOSE", "False")}
    )
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "av-stack" / "ultralytics"
    os.environ.setdefault("YOLO_CONFIG_DIR", str(folder))
    _put_font(Path(os.environ["YOLO_CONFIG_DIR"]) / "Ultralytics" / "Arial.ttf")
    import ultralytics

    ultralytics.settings.update({"sync": False})
    return ultralytics


def _put_font(path: Path) -> None:
    """It downloads a font unless one of this name is there: matplotlib brings a free one."""
    if path.exists():
        return
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", path)
