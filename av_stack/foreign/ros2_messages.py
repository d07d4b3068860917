"""Converts decoded ROS 2 messages to the stack's values. Frames as in REP 103 and 105: x forward, y left, z up; east is
0.
"""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np

from av_core.types import GnssFix, Image, ImuSample, Stamp
from av_stack.foreign.source import UNKNOWN, no_fix
from perception.lanes.lens import Lens

ENCODINGS: dict[str, tuple[int, int | None]] = {
    "bgr8": (3, None),
    "8UC3": (3, None),
    "rgb8": (3, cv2.COLOR_RGB2BGR),
    "bgra8": (4, cv2.COLOR_BGRA2BGR),
    "8UC4": (4, cv2.COLOR_BGRA2BGR),
    "rgba8": (4, cv2.COLOR_RGBA2BGR),
    "mono8": (1, cv2.COLOR_GRAY2BGR),
    "8UC1": (1, cv2.COLOR_GRAY2BGR),
    "bayer_rggb8": (1, cv2.COLOR_BayerBG2BGR),
    "bayer_bggr8": (1, cv2.COLOR_BayerRG2BGR),
    "bayer_gbrg8": (1, cv2.COLOR_BayerGR2BGR),
    "bayer_grbg8": (1, cv2.COLOR_BayerGB2BGR),
    "yuv422_yuy2": (2, cv2.COLOR_YUV2BGR_YUY2),
    "yuv422": (2, cv2.COLOR_YUV2BGR_UYVY),
}
"""For each encoding, the bytes per pixel and OpenCV's conversion to BGR. OpenCV names Bayer patterns by their second
row."""

DISTORTIONS = ("plumb_bob", "")
NO_FIX = -1
"""Value of `status.status` of a NavSatFix without a fix, and of the first covariance of a quantity that an Imu does not
measure."""


def time_of(message: Any, log_time_ns: int) -> float:
    """The time of the measurement, s; if the message's header has none, the time of its recording."""
    stamp = message.header.stamp
    time_s = float(stamp.sec) + 1e-9 * float(stamp.nanosec)
    return time_s if time_s > 0.0 else 1e-9 * log_time_ns


def picture_of(message: Any) -> Image:
    """The picture (height, width, 3) BGR of an Image or CompressedImage. Raises ValueError if it cannot be decoded."""
    if hasattr(message, "format"):
        bgr = cv2.imdecode(np.frombuffer(message.data, np.uint8), cv2.IMREAD_COLOR)
        if bgr is None:
            raise ValueError(f"a compressed picture ({message.format[:40]}) that cannot be read")
        return np.asarray(bgr, dtype=np.uint8)
    if message.encoding not in ENCODINGS:
        raise ValueError(f"encoding {message.encoding[:40]!r} is not known; known are {', '.join(ENCODINGS)}")
    channels, conversion = ENCODINGS[message.encoding]
    height, width, step = message.height, message.width, message.step
    if step < width * channels or len(message.data) < height * step or 0 in (height, width):
        raise ValueError(f"{len(message.data)} bytes are not a picture of {width}x{height} px")
    rows = np.frombuffer(message.data, np.uint8, height * step).reshape(height, step)
    pixels = rows[:, : width * channels].reshape(height, width, channels)
    bgr = pixels if conversion is None else cv2.cvtColor(np.ascontiguousarray(pixels), conversion)
    return np.ascontiguousarray(bgr)


def lens_of(message: Any) -> Lens | None:
    """The lens in a CameraInfo; None where it is not calibrated. Raises ValueError for another model of distortion."""
    if message.k[0] <= 0.0:
        return None
    if message.distortion_model not in DISTORTIONS:
        raise ValueError(f"distortion model {message.distortion_model[:40]!r} is not known; name a lens file")
    five = np.zeros(5)
    five[: min(len(message.d), 5)] = message.d[:5]
    return Lens(message.width, message.height, np.array(message.k).reshape(3, 3), five, 0.0, 1)


def fix_of(message: Any, stamp: Stamp) -> GnssFix:
    """The position; NaN without a fix."""
    if message.status.status == NO_FIX:
        return no_fix(stamp)
    return GnssFix(stamp, message.latitude, message.longitude, message.altitude)


def imu_of(message: Any, stamp: Stamp) -> ImuSample:
    """Motion and heading; NaN where the IMU does not measure them."""
    accel, rate, turn = message.linear_acceleration, message.angular_velocity, message.orientation
    has_accel = message.linear_acceleration_covariance[0] != NO_FIX
    has_rate = message.angular_velocity_covariance[0] != NO_FIX
    norm = math.hypot(turn.w, turn.x, turn.y, turn.z)
    yaw = math.nan
    if message.orientation_covariance[0] != NO_FIX and norm > 0.5:
        yaw = math.atan2(2.0 * (turn.w * turn.z + turn.x * turn.y), 1.0 - 2.0 * (turn.y**2 + turn.z**2))
    return ImuSample(
        stamp,
        (accel.x, accel.y, accel.z) if has_accel else UNKNOWN,
        (rate.x, rate.y, rate.z) if has_rate else UNKNOWN,
        yaw,
    )


def speed_of(message: Any) -> float:
    """The speed ahead in an Odometry, m/s."""
    return float(message.twist.twist.linear.x)
