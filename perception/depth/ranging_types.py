"""Data types of the compiled `ranging_kernel`: the array rows that it receives, and the tuples that it computes with.

`LENS` is the row of a camera, `KIND` the row of a kind of road user. Kernel code reads a row's fields as attributes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from av_core.compiled import records

Rows = NDArray[np.void]

VIEWS = 31
"""Number of view angles at which a kind's apparent width is tabulated."""


class Size(NamedTuple):
    """Mean sizes of a kind and the standard deviations of its height and length, over CARLA's blueprints.

    The lowest visible point of an object is at its nearest wheels, `stand_m` behind its nearest face; the highest is
    the edge of its roof, `roof_m` behind that face.
    """

    length_m: float
    width_m: float
    height_m: float
    height_sigma_m: float
    length_sigma_m: float
    stand_m: float
    roof_m: float


class Lens(NamedTuple):
    """`View` as plain numbers, and the limits beyond which the picture's edges may cut a box."""

    middle_u: float
    middle_v: float
    focal_px: float
    x_m: float
    y_m: float
    z_m: float
    rx: float
    ry: float
    rz: float
    dx: float
    dy: float
    dz: float
    fx: float
    fy: float
    fz: float
    low_px: float
    right_px: float
    edge_px: float
    height_px: float


KIND = np.dtype(
    [
        *((name, np.float64) for name in Size._fields),
        ("widths_m", np.float64, VIEWS),  # apparent widths at `turns_rad`
        ("turns_rad", np.float64, VIEWS),  # angles between the object's axis and the ray, from 0 to pi / 2
        ("rising", np.int64),  # how many of the widths rise, up to the broadest view
        ("is_round", np.bool_),
        ("is_opaque", np.bool_),  # whether it hides what is behind it
    ],
    align=True,
)
"""A kind of road user: `Size` and what follows from it."""

Kind = Any
"""A row of `KIND` in a kernel."""

LENS = np.dtype([(name, np.float64) for name in Lens._fields])

KINDS, LENSES = records(KIND), records(LENS)
"""Numba types of arrays of `KIND` and of `LENS`."""


class Cue(NamedTuple):
    """One estimate of the range, see `Distance`; NaN where there is none."""

    range_m: float
    sigma_m: float
    jitter_m: float


class Hidden(NamedTuple):
    """What a nearer box hides of a box: its foot line, its left edge, its right edge."""

    foot: bool
    left: bool
    right: bool


class Footprint(NamedTuple):
    """Position of the footprint relative to the point below the camera.

    `centre_m` and `bearing_rad` give its centre, `near_m` its nearest point, `depth_m` the depth of its foot point
    along the camera's axis, `turn_rad` its rotation against the ray (NaN: unknown). Standard deviations are along and
    across the ray; `..._jitter_m` are their parts that are new in each picture.
    """

    depth_m: float
    near_m: float
    centre_m: float
    bearing_rad: float
    turn_rad: float
    along_m: float
    across_m: float
    along_jitter_m: float
    across_jitter_m: float
