"""Which topics of a ROS 2 recording are the stack's inputs: named in a file (YAML), or found by their type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from av_core.config import Strict, load
from av_core.errors import ConfigError
from av_core.suggest import did_you_mean

TYPES: Mapping[str, Sequence[str]] = {
    "image": ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"),
    "camera_info": ("sensor_msgs/msg/CameraInfo",),
    "gnss": ("sensor_msgs/msg/NavSatFix",),
    "imu": ("sensor_msgs/msg/Imu",),
    "odometry": ("nav_msgs/msg/Odometry",),
}
"""The types of message that each input may have; the speed ahead in `odometry` counts as wheel speed."""

ABSENT = {"gnss": "no GNSS", "imu": "no IMU", "odometry": "no wheel speed"}
"""For each input, the text of the report if the recording has no topic for it."""


class TopicsFile(Strict):
    """Content of a topics file: the topic of each input; those left out are found by their type."""

    image: str | None = None
    camera_info: str | None = None
    gnss: str | None = None
    imu: str | None = None
    odometry: str | None = None


@dataclass(frozen=True, slots=True)
class Topics:
    """The topic of each input, and for each input without one the reason."""

    chosen: Mapping[str, str]
    lacking: Mapping[str, str]


def read_topics_file(path: Path | None) -> TopicsFile:
    """The topics file; without a path, an empty one. Raises ConfigError if the file is missing or wrong."""
    return TopicsFile() if path is None else load(path, TopicsFile)


def choose_topics(types: Mapping[str, str], named: TopicsFile, where: Path) -> Topics:
    """Choose among the topics of a recording, given with their types.

    Raises ConfigError where a named topic is not there or of another type, and without exactly one topic of pictures.
    """
    chosen: dict[str, str] = {}
    lacking: dict[str, str] = {}
    for name, allowed in TYPES.items():
        found = sorted(topic for topic, kind in types.items() if kind in allowed)
        topic = getattr(named, name)
        if topic is not None:
            if topic not in found:
                hint = did_you_mean(topic, found) or f"; there are {', '.join(found) or 'none'}"
                raise ConfigError(f"{where}: {name}: no topic {topic!r:.80} of {' or '.join(allowed)}{hint}")
            chosen[name] = topic
        elif name == "camera_info" and (beside := _beside(chosen["image"])) in found:
            chosen[name] = beside
        elif len(found) == 1:
            chosen[name] = found[0]
        elif name == "image":
            what = f"{len(found)} topics of pictures ({', '.join(found)})" if found else "no topic of pictures"
            raise ConfigError(f"{where}: {what}; name one in --topics FILE" if found else f"{where}: {what}")
        else:
            lacking[name] = (
                f"{', '.join(found)} are all of {allowed[0]}: --topics names none"
                if found
                else ABSENT.get(name, f"no {name}")
            )
    return Topics(chosen, lacking)


def _beside(image_topic: str) -> str:
    """The topic of the camera's calibration as ROS names it: /camera/image_raw has /camera/camera_info."""
    parts = image_topic.split("/")
    while parts and ("image" in parts[-1] or parts[-1] == "compressed"):
        parts.pop()
    return "/".join([*parts, "camera_info"])
