"""Writes ROS 2 recordings with mcap-ros2-support's own writer: a straight drive east at a steady speed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
import pytest
import zstandard
from mcap.reader import make_reader
from mcap.records import Channel, Message, Schema
from mcap.writer import CompressionType, Writer

from av_core.frames import map_to_geodetic
from av_core.types import GeoReference, Image
from av_stack.foreign.kinds import MCAP_SUFFIX
from tests.av_stack.foreign.ros2_definitions import DEFINITIONS

START_NS, PICTURE_NS, IMU_NS, GNSS_NS = 1_700_000_000_000_000_000, 40_000_000, 10_000_000, 100_000_000
SPEED_MPS = 25.0
PLACE = GeoReference(37.4, -122.1)
FOCAL_PX = 831.4
"""960 px wide at 60 degrees."""


@dataclass(frozen=True)
class Drive:
    """What the recording holds, by the kind of input."""

    pictures: Sequence[Image]
    inputs: Collection[str] = ("camera_info", "gnss", "imu")
    encoding: str = "bgr8"
    second_camera: bool = False
    jump_back_at: int | None = None
    info_width_px: int = 960
    first_fix_s: float = 0.0
    chunks: str = "ZSTD"


def write_drive(path: Path, drive: Drive) -> Path:
    """The messages in order of time, each stamped when it was measured and logged 2 ms later."""
    writer_module = pytest.importorskip("mcap_ros2.writer")
    with path.open("wb") as file:
        writer = writer_module.Writer(file, chunk_size=64 * 1024, compression=CompressionType[drive.chunks])
        schemas = {name: writer.register_msgdef(name, text) for name, text in DEFINITIONS.items()}

        def put(topic: str, kind: str, time_ns: int, **content: Any) -> None:
            header = {"stamp": _stamp(time_ns), "frame_id": "base_link"}
            message = content if kind == "std_msgs/msg/String" else {"header": header, **content}
            writer.write_message(topic, schemas[kind], message, START_NS + time_ns + 2_000_000)

        end_ns = len(drive.pictures) * PICTURE_NS
        put("/log", "std_msgs/msg/String", 0, data="started")
        for time_ns in range(0, end_ns, IMU_NS):
            if "imu" in drive.inputs:
                put("/imu/data", "sensor_msgs/msg/Imu", time_ns, **_imu())
            if "gnss" in drive.inputs and time_ns % GNSS_NS == 0:
                put("/gps/fix", "sensor_msgs/msg/NavSatFix", time_ns, **_fix(time_ns, drive.first_fix_s))
            if time_ns % PICTURE_NS == 0:
                number = time_ns // PICTURE_NS
                taken_ns = time_ns - (10 * PICTURE_NS if number == drive.jump_back_at else 0)
                if "camera_info" in drive.inputs:
                    put("/front/camera_info", "sensor_msgs/msg/CameraInfo", taken_ns, **_info(drive.info_width_px))
                _put_picture(put, drive, taken_ns, drive.pictures[number])
        writer.finish()
    return path


def write_bag(folder: Path, drive: Drive, files: int = 1, packs_messages: bool = False) -> Path:
    """The drive as `ros2 bag record` leaves it: a folder of files, which it splits where they become too long.

    With `packs_messages` each message is compressed on its own.
    """
    whole = write_drive(folder.with_suffix(MCAP_SUFFIX), drive)
    folder.mkdir()
    with whole.open("rb") as source:
        messages = list(make_reader(source).iter_messages())
    whole.unlink()
    for number in range(files):
        part = messages[number * len(messages) // files : (number + 1) * len(messages) // files]
        with (folder / f"{folder.name}_{number}.mcap").open("wb") as file:
            _copy(part, file, packs_messages)
    (folder / "metadata.yaml").write_text("rosbag2_bagfile_information:\n  version: 9\n  storage_identifier: mcap\n")
    return folder


def _copy(messages: Iterable[tuple[Schema | None, Channel, Message]], file: BinaryIO, packs_messages: bool) -> None:
    """Write messages; topics are numbered by their first message in this file."""
    writer = Writer(file, compression=CompressionType.NONE)
    writer.start(profile="ros2", library="test")
    channels: dict[str, int] = {}
    for schema, channel, message in messages:
        assert schema is not None
        if channel.topic not in channels:
            number = writer.register_schema(schema.name, schema.encoding, schema.data)
            channels[channel.topic] = writer.register_channel(channel.topic, channel.message_encoding, number)
        data = zstandard.compress(message.data) if packs_messages else message.data
        writer.add_message(channels[channel.topic], message.log_time, data, message.publish_time)
    writer.finish()  # type: ignore[no-untyped-call]


def _put_picture(put: Any, drive: Drive, time_ns: int, bgr: Image) -> None:
    if drive.encoding == "jpeg":
        data = cv2.imencode(".jpg", bgr)[1].tobytes()
        put("/front/image/compressed", "sensor_msgs/msg/CompressedImage", time_ns, format="jpeg", data=data)
        return
    height, width = bgr.shape[:2]
    pixels = bgr if drive.encoding == "bgr8" else np.ascontiguousarray(bgr[:, :, ::-1])
    padded = np.zeros((height, 3 * width + 8), np.uint8)
    padded[:, : 3 * width] = pixels.reshape(height, -1)
    for topic in ("/front/image_raw", "/rear/image_raw") if drive.second_camera else ("/front/image_raw",):
        put(
            topic, "sensor_msgs/msg/Image", time_ns, height=height, width=width, encoding=drive.encoding,
            is_bigendian=0, step=3 * width + 8, data=padded.tobytes(),
        )  # fmt: skip


def _stamp(time_ns: int) -> dict[str, int]:
    sec, nanosec = divmod(START_NS + time_ns, 1_000_000_000)
    return {"sec": sec, "nanosec": nanosec}


def _imu() -> dict[str, Any]:
    return {
        "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        "orientation_covariance": [0.01] * 9,
        "angular_velocity": {"x": 0.0, "y": 0.0, "z": 0.0},
        "angular_velocity_covariance": [0.01] * 9,
        "linear_acceleration": {"x": 0.0, "y": 0.0, "z": 9.81},
        "linear_acceleration_covariance": [0.01] * 9,
    }


def _fix(time_ns: int, first_fix_s: float) -> dict[str, Any]:
    latitude, longitude = map_to_geodetic(np.array([[SPEED_MPS * 1e-9 * time_ns, 0.0]]), PLACE)
    return {
        "status": {"status": 0 if 1e-9 * time_ns >= first_fix_s else -1, "service": 1},
        "latitude": float(latitude[0]),
        "longitude": float(longitude[0]),
        "altitude": 10.0,
        "position_covariance": [0.3] * 9,
        "position_covariance_type": 0,
    }


def _info(width_px: int) -> dict[str, Any]:
    return {
        "height": 540,
        "width": width_px,
        "distortion_model": "plumb_bob",
        "d": [0.0] * 5,
        "k": [FOCAL_PX, 0.0, 479.5, 0.0, FOCAL_PX, 269.5, 0.0, 0.0, 1.0],
        "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "p": [0.0] * 12,
        "binning_x": 0,
        "binning_y": 0,
        "roi": {"x_offset": 0, "y_offset": 0, "height": 0, "width": 0, "do_rectify": False},
    }
