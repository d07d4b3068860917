"""Structured array types of the tracker: `TRACK`, a tracked road user; `MEASUREMENT`, one measured in one picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from av_core.compiled import records
from av_core.types import ObjectKind
from perception.tracking.turning_motion import STATE_SIZE

Rows = NDArray[np.void]

KINDS = tuple(ObjectKind)
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
"""Index of each kind in `KINDS`."""

IS_WIDE = np.array([kind in (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS) for kind in KINDS])
"""Whether each of `KINDS` is at least as wide as a car."""

CAMERAS_MAX = 8
"""Maximum number of cameras."""

TRACK = np.dtype(
    [
        ("track_id", np.int64),
        ("state", np.float64, STATE_SIZE),  # motion state as in `turning_motion`, in the map frame
        ("covariance", np.float64, (STATE_SIZE, STATE_SIZE)),
        ("kind", np.int64),  # index in `KINDS` with the most votes
        ("votes", np.float64, len(KINDS)),
        ("seen_kind", np.int64),  # this and the next two fields are from the last match
        ("steady_m2", np.float64, (2, 2)),  # covariance of the measured position in the vehicle frame
        ("is_split", np.bool_),  # whether the measurement separated per-picture noise from persistent error
        ("size_m", np.float64, 3),  # length, width, height
        ("yaw_rad", np.float64),
        ("confidence", np.float64),
        ("hits", np.int64),
        ("unseen_s", np.float64),
        ("free_mps", np.float64),  # expected free-flow speed on its lane; NaN where no lane is known
        ("scale_log", np.float64),  # natural logarithm of its height over its kind's mean
        ("scale_variance", np.float64),
        ("box_px", np.float64, (CAMERAS_MAX, 4)),  # last box in each camera, and its age
        ("box_age_s", np.float64, CAMERAS_MAX),
        ("radar_age_s", np.float64),  # time since a radar saw it
        ("is_by_radar", np.bool_),  # whether no camera has seen it yet
    ],
    align=True,
)
"""A tracked road user."""

MEASUREMENT = np.dtype(
    [
        ("kind", np.int64),
        ("confidence", np.float64),
        ("box_px", np.float64, 4),
        ("size_m", np.float64, 3),
        ("off_m", np.float64, 2),  # from the ego's origin, in the axes of the map
        ("yaw_rad", np.float64),  # in the map frame
        ("steady_m2", np.float64, (2, 2)),  # position covariance in the vehicle frame
        ("spread_m2", np.float64, (2, 2)),  # the same covariance in the map frame
        ("noise_m2", np.float64, (2, 2)),  # its part that is new in each picture, in the map frame
        ("is_split", np.bool_),  # whether `noise_m2` was given apart from `spread_m2`
        ("by_foot", np.float64, 3),  # range, sigma, jitter; NaN where the box does not show it
        ("by_size", np.float64, 3),
        ("velocity_mps", np.float64, 2),  # relative to the ego, in the vehicle frame; NaN where not measured
        ("velocity_noise", np.float64, (2, 2)),
        ("span_s", np.float64),
        ("depth_m", np.float64),
    ],
    align=True,
)
"""A measured road user in one picture: `RangedObject` as an array row."""

PACKED = np.dtype(
    [
        ("kind", np.float64),  # index in `KINDS`
        ("confidence", np.float64),
        ("box_px", np.float64, 4),
        ("size_m", np.float64, 3),
        ("place_m", np.float64, 2),
        ("yaw_rad", np.float64),
        ("is_split", np.float64),  # 1 where `jitter_m2` was given apart from `spread_m2`, else 0
        ("by_foot", np.float64, 3),
        ("by_size", np.float64, 3),
        ("spread_m2", np.float64, (2, 2)),
        ("jitter_m2", np.float64, (2, 2)),
        ("velocity_mps", np.float64, 2),
        ("velocity_noise", np.float64, (2, 2)),
        ("span_s", np.float64),
        ("depth_m", np.float64),
    ]
)
"""`RangedObject` in the vehicle frame, as `tracks` packs it into bytes; NaN where nothing is measured."""

TRACKS, MEASUREMENTS, PACKED_ROWS = records(TRACK), records(MEASUREMENT), records(PACKED)
"""Numba types of arrays of `TRACK`, `MEASUREMENT` and `PACKED`."""
