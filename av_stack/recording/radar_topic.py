"""The recording's topic of a radar: its returns as a point cloud that viewers draw.

Its numbers are rounded, which halves its size. The exact ones are in /replay/frame.
"""

from __future__ import annotations

import math

import foxglove.messages as messages
import numpy as np

from av_core.types import RadarSweep

COLUMNS = ("x", "y", "z", "range_rate_mps")
"""Columns of a point, float32 each: the place in the radar's axes, m, and the range rate."""

STEPS_PER_UNIT = 32
"""Numbers are multiples of 1/32 m and m/s: their float32 end in zeros, which are compressed away."""

BYTES = 4  # of a float32


def radar_message(sweep: RadarSweep, stamp: messages.Timestamp) -> messages.PointCloud:
    """The sweep as a message in the frame `ego`, with the radar's mount as its pose."""
    radar, (distance, azimuth, elevation, rate) = sweep.radar, sweep.points.T
    level = distance * np.cos(elevation)
    across, up = level * np.sin(azimuth), distance * np.sin(elevation)
    points = np.stack([level * np.cos(azimuth), across, up, rate], axis=1)
    half = radar.yaw_rad / 2.0
    return messages.PointCloud(
        timestamp=stamp,
        frame_id="ego",
        pose=messages.Pose(
            position=messages.Vector3(x=radar.x_m, y=radar.y_m, z=radar.z_m),
            orientation=messages.Quaternion(x=0.0, y=0.0, z=math.sin(half), w=math.cos(half)),
        ),
        point_stride=BYTES * len(COLUMNS),
        fields=[
            messages.PackedElementField(
                name=name, offset=BYTES * i, type=messages.PackedElementFieldNumericType.Float32
            )
            for i, name in enumerate(COLUMNS)
        ],
        data=(np.round(STEPS_PER_UNIT * points) / STEPS_PER_UNIT).astype("<f4").tobytes(),
    )
