"""Tells what kind of recording a path is, without loading anything that reads it."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from av_core.errors import ConfigError

MCAP_SUFFIX, MCAP_MAGIC = ".mcap", b"\x89MCAP0\r\n"
PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp")
CARLA_MAGIC = b"CARLA_RECORDER"
RECORDING = "recording.mcap"
"""The recording in the folder of a drive."""

HEADER_BYTES = 64
ROS2_PROFILE = b"\x04\x00\x00\x00ros2"
"""The profile in an MCAP's header, after its length."""


class Kind(Enum):
    OWN = "neither a video nor pictures, nor does it say that it is of ROS 2"
    VIDEO = "a video"
    PICTURES = "a folder of pictures"
    ROS2 = "a ROS 2 recording"
    CARLA = "a recording of CARLA's recorder"


def kind_of(path: Path) -> Kind:
    """The kind of recording at `path`. Raises ConfigError where there is none."""
    if path.is_dir():
        if (path / RECORDING).is_file():
            return Kind.OWN
        if not pictures_in(path):
            raise ConfigError(f"{path / RECORDING}: no such file, nor are there pictures in the folder")
        return Kind.PICTURES
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    with path.open("rb") as file:
        start = file.read(HEADER_BYTES)
    if CARLA_MAGIC in start:
        return Kind.CARLA
    if not start.startswith(MCAP_MAGIC) and path.suffix.lower() != MCAP_SUFFIX:
        return Kind.VIDEO
    return Kind.ROS2 if start[len(MCAP_MAGIC) + 9 :].startswith(ROS2_PROFILE) else Kind.OWN


def pictures_in(folder: Path) -> list[Path]:
    """The pictures in a folder by name; numbers within names count as numbers: 2.png is before 10.png."""
    found = [path for path in folder.iterdir() if path.suffix.lower() in PICTURE_SUFFIXES]
    return sorted(found, key=lambda path: [(int(part) if part.isdecimal() else 0, part) for part in _parts(path.name)])


def _parts(name: str) -> list[str]:
    return re.split(r"(\d+)", name)
