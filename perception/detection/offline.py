"""Imports ultralytics and openvino without network access: no downloads, no installs, no telemetry."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any


def openvino() -> Any:
    """The openvino package, without the usage reports that it sends from a forked process when it is imported.

    Raises ModuleNotFoundError where it is not installed.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # its import fails, as if not installed
    import openvino

    return openvino


def ultralytics() -> Any:
    """The ultralytics package, with its configuration folder under the user's cache.

    Raises ModuleNotFoundError where it is not installed.
    """
    os.environ.update(
        {"YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "0", "YOLO_VERBOSE": os.environ.get("YOLO_VERBOSE", "False")}
    )
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "av-stack" / "ultralytics"
    os.environ.setdefault("YOLO_CONFIG_DIR", str(folder))
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # exports import openvino
    _put_font(Path(os.environ["YOLO_CONFIG_DIR"]) / "Ultralytics" / "Arial.ttf")
    import ultralytics

    ultralytics.settings.update({"sync": False})
    return ultralytics


def _put_font(path: Path) -> None:
    """Write matplotlib's free font under the name of the font that ultralytics would download."""
    if path.exists():
        return
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", path)
