"""The corridor that the ego's body will sweep, and the projection of road users on it (Frenet coordinates).

`project_boxes` gives each box its arc length and lateral offset on the route, and whether it blocks the ego.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve
from av_core.types import Float
from planning.reference_path import Route

_BEYOND_M = 4.5
"""A box so far beyond the end of the corridor still counts: the ego's front reaches beyond the end of its route."""


@dataclass(frozen=True, slots=True)
class Corridor:
    """A stretch of the route with the width that the ego's body sweeps on it; arrays (N,) belong to the curve's points.

    `left_m` and `right_m` are how far the body reaches to either side of the path, without margin: half the width, and
    on a curve the swing of the front to the outside (front overhang squared over twice the radius).
    """

    curve: Curve
    left_m: Float
    right_m: Float


def corridor_of(route: Route, from_s_m: float, to_s_m: float, width_m: float, front_m: float, stride: int) -> Corridor:
    """The corridor between two arc lengths, at every `stride`-th point of the route.

    `front_m` is the distance from the rear axle to the front bumper.
    """
    low = max(0, route.row_at(from_s_m) - 1)
    high = max(low + 2, route.row_at(to_s_m) + 1)
    low = min(low, max(0, len(route.s_m) - 1 - stride))
    curve = route.curve.part(slice(low, high, stride))
    swing = 0.5 * curve.curvature_1pm * front_m**2
    return Corridor(
        curve,
        left_m=0.5 * width_m + np.maximum(0.0, -swing),
        right_m=0.5 * width_m + np.maximum(0.0, swing),
    )


@dataclass(frozen=True, slots=True)
class BoxProjection:
    """Boxes in route coordinates, arrays of any one shape.

    Arc length and lateral offset (left positive) of the centre, half the extent along the path, and the path's heading
    there. `aside_m` is the distance between a box and the corridor's side, negative inside. `blocks` is True where a
    box overlaps the corridor.
    """

    s_m: Float
    d_m: Float
    half_s_m: Float
    path_yaw_rad: Float
    aside_m: Float
    blocks: NDArray[np.bool_]


def project_boxes(
    corridor: Corridor, x_m: Float, y_m: Float, yaw_rad: Float, length_m: Float, width_m: Float, margin_m: Float
) -> BoxProjection:
    """Project oriented boxes (arrays of one shape) on the corridor, by the path's tangent at the nearest point."""
    # On the tangent: boxes may be far beyond the corridor's end, where a bend leads anywhere.
    at = corridor.curve.project(x_m, y_m, follow_bend=False)
    turn = yaw_rad - at.yaw_rad
    c, s = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    half_l, half_w = 0.5 * length_m, 0.5 * width_m
    half_s, half_d = c * half_l + s * half_w, s * half_l + c * half_w
    aside = np.maximum(at.d_m - corridor.left_m[at.row], -at.d_m - corridor.right_m[at.row]) - half_d - margin_m
    reach = np.abs(at.s_m - corridor.curve.s_m[at.row]) <= half_s + _BEYOND_M
    return BoxProjection(at.s_m, at.d_m, half_s, at.yaw_rad, aside, (aside < 0.0) & reach)
