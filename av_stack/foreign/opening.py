"""Opens foreign recordings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from av_stack.foreign.kinds import Kind
from av_stack.foreign.optics import read_lens_file
from av_stack.foreign.pictures import Pictures
from av_stack.foreign.source import ForeignSource
from av_stack.foreign.topics import read_topics_file
from av_stack.foreign.video import Video

PICTURES_PER_S = 10.0


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The user's options for a foreign recording; None for an option that is not given."""

    lens: Path | None = None
    pictures_per_s: float | None = None
    topics: Path | None = None
    maps: Path | None = None


def open_foreign(path: Path, kind: Kind, options: SourceOptions) -> ForeignSource:
    """The foreign recording at `path`; the caller closes it.

    Raises ConfigError where it cannot be read, WorldError where the embedded server cannot play it.
    """
    if kind is Kind.CARLA:
        from av_stack.foreign.carla_log import CarlaLog

        return CarlaLog(path, options.maps)
    lens = read_lens_file(options.lens)
    if kind is Kind.PICTURES:
        return Pictures(path, lens, options.pictures_per_s or PICTURES_PER_S)
    if kind is Kind.ROS2:
        from av_stack.foreign.ros2 import Ros2

        return Ros2(path, lens, read_topics_file(options.topics))
    if kind is Kind.COMMA2K19:
        from av_stack.foreign.comma2k19 import Comma2k19

        return Comma2k19(path, lens)
    if kind is Kind.KITTI:
        from av_stack.foreign.kitti import Kitti

        return Kitti(path, lens)
    return Video(path, lens)
