"""Tells what kind of recording a path is, without loading anything that reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from av_core.errors import ConfigError

MCAP_SUFFIX, MCAP_MAGIC = ".mcap", b"\x89MCAP0\r\n"
PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp")
CARLA_MAGIC = b"CARLA_RECORDER"
OTHER_BAGS = {
    b"SQLite format 3": "a ROS 2 bag in SQLite; expected MCAP: rosbags-convert --src BAG --dst NEW --dst-storage mcap",
    b"\x28\xb5\x2f\xfd": "compressed as a whole; unpack it first: zstd -d FILE",
}
"""Formats of ROS 2 bags that cannot be read, by their first bytes; the text says how to convert them."""

RECORDING = "recording.mcap"
"""The recording in the folder of a drive."""

COMMA2K19_VIDEO = "video.hevc"
"""The video in the folder of a segment of comma2k19."""

KITTI_CAMERAS = ("image_02", "image_03", "image_00", "image_01")
"""The folders of the cameras in a drive of KITTI, the best first: left and right in colour, left and right in grey."""

KITTI_DATA, KITTI_TIMES = "data", "timestamps.txt"
"""Names, within the folder of a camera, of the folder of its pictures and of the file of their times."""

HEADER_BYTES = 64
ROS2_PROFILE = b"\x04\x00\x00\x00ros2"
"""The profile in an MCAP's header, after its length."""


class Kind(Enum):
    OWN = "neither a video nor pictures, nor does it say that it is of ROS 2"
    VIDEO = "a video"
    PICTURES = "a folder of pictures"
    ROS2 = "a ROS 2 recording"
    CARLA = "a recording of CARLA's recorder"
    COMMA2K19 = "a segment of comma2k19"
    KITTI = "a drive of KITTI"


def kind_of(path: Path) -> Kind:
    """The kind of recording at `path`. Raises ConfigError where there is none."""
    if path.is_dir():
        if (path / RECORDING).is_file():
            return Kind.OWN
        if bag_files(path):
            return Kind.ROS2
        if (path / COMMA2K19_VIDEO).is_file():
            return Kind.COMMA2K19
        if any((path / name / KITTI_TIMES).is_file() for name in KITTI_CAMERAS):
            return Kind.KITTI
        if not pictures_in(path):
            for file in filter(Path.is_file, path.iterdir()):
                _start_of(file)
            raise ConfigError(f"{path}: holds no {RECORDING}, no ROS 2 bag in MCAP and no pictures")
        return Kind.PICTURES
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    start = _start_of(path)
    if CARLA_MAGIC in start:
        return Kind.CARLA
    if not start.startswith(MCAP_MAGIC) and path.suffix.lower() != MCAP_SUFFIX:
        return Kind.VIDEO
    return Kind.ROS2 if start[len(MCAP_MAGIC) + 9 :].startswith(ROS2_PROFILE) else Kind.OWN


def _start_of(path: Path) -> bytes:
    """The first bytes of a file. Raises ConfigError if it is one of `OTHER_BAGS`."""
    with path.open("rb") as file:
        start = file.read(HEADER_BYTES)
    for magic, what in OTHER_BAGS.items():
        if start.startswith(magic):
            raise ConfigError(f"{path}: {what}")
    return start


def pictures_in(folder: Path) -> list[Path]:
    """The pictures in a folder by name; numbers within names count as numbers: 2.png is before 10.png."""
    return _in_order(path for path in folder.iterdir() if path.suffix.lower() in PICTURE_SUFFIXES)


def bag_files(path: Path) -> list[Path]:
    """The files of a ROS 2 bag in MCAP, which is a folder or one file, in the order of their recording.

    A bag that was not closed has no metadata; then its files are sorted by name: bag_2.mcap comes before bag_10.mcap.
    """
    if not path.is_dir():
        return [path]
    return _in_order(file for file in path.iterdir() if file.suffix.lower() == MCAP_SUFFIX)


def _in_order(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: [(int(part) if part.isdecimal() else 0, part) for part in _parts(path.name)])


def _parts(name: str) -> list[str]:
    return re.split(r"(\d+)", name)
