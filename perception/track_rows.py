"""The rows in which the tracker keeps what it believes, and what one picture shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from av_stack.types import ObjectKind
from perception.compiled import records
from perception.turning_motion import STATE_SIZE

Rows = NDArray[np.void]

KINDS = tuple(ObjectKind)
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
IS_WIDE = np.array([kind in (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS) for kind in KINDS])

CAMERAS_MAX = 8

TRACK = np.dtype(
    [
        ("track_id", np.int64),
        ("state", np.float64, STATE_SIZE),  # as in `turning_motion`, in the map frame
        ("covariance", np.float64, (STATE_SIZE, STATE_SIZE)),
        ("kind", np.int64),  # of `KINDS`, the one of most votes
        ("votes", np.float64, len(KINDS)),
        ("seen_kind", np.int64),  # this and the next two: of when it was seen last
        ("steady_m2", np.float64, (2, 2)),  # covariance of its place in the vehicle frame, where part of it stays
        ("is_split", np.bool_),  # whether it was told which part that is
        ("size_m", np.float64, 3),  # length, width, height
        ("yaw_rad", np.float64),
        ("confidence", np.float64),
        ("hits", np.int64),
        ("unseen_s", np.float64),
        ("free_mps", np.float64),  # the speed to which it comes on its lane if it drives; NaN where no lane tells
        ("scale_log", np.float64),  # natural logarithm of its height over its kind's mean
        ("scale_variance", np.float64),
        ("box_px", np.float64, (CAMERAS_MAX, 4)),  # where each camera saw it last, and how long ago
        ("box_age_s", np.float64, CAMERAS_MAX),
    ],
    align=True,
)
"""One believed road user."""

LOOK = np.dtype(
    [
        ("kind", np.int64),
        ("confidence", np.float64),
        ("box_px", np.float64, 4),
        ("size_m", np.float64, 3),
        ("off_m", np.float64, 2),  # from the ego's origin, in the axes of the map
        ("yaw_rad", np.float64),  # in the map frame
        ("steady_m2", np.float64, (2, 2)),  # its covariance, in the vehicle frame
        ("spread_m2", np.float64, (2, 2)),  # the same in the map frame
        ("noise_m2", np.float64, (2, 2)),  # in the map frame: what is new in each picture
        ("is_split", np.bool_),  # whether the two differ
        ("by_foot", np.float64, 3),  # range, sigma, jitter; NaN where the box does not show it
        ("by_size", np.float64, 3),
        ("velocity_mps", np.float64, 2),  # against the ego, in the vehicle frame; NaN where nothing tells
        ("velocity_noise", np.float64, (2, 2)),
        ("span_s", np.float64),
        ("depth_m", np.float64),
    ],
    align=True,
)
"""One road user in one picture: `RangedObject` for many at once."""

TRACKS, LOOKS = records(TRACK), records(LOOK)
