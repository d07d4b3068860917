"""The corridor that the ego's body will sweep, and the projection of road users on it (Frenet coordinates).

`project_boxes` gives each box its arc length and lateral offset on the route, and whether it blocks the ego.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float
from planning.reference_path import Route


@dataclass(frozen=True, slots=True)
class Corridor:
    """A stretch of the route with the width that the ego's body sweeps on it; all arrays (N,).

    `left_m` and `right_m` are how far the body reaches to either side of the path, without margin: half the width, and
    on a curve the swing of the front to the outside (front overhang squared over twice the radius).
    """

    s_m: Float
    x_m: Float
    y_m: Float
    yaw_rad: Float
    left_m: Float
    right_m: Float


def corridor_of(route: Route, from_s_m: float, to_s_m: float, width_m: float, front_m: float, stride: int) -> Corridor:
    """The corridor between two arc lengths, at every `stride`-th point of the route.

    `front_m` is the distance from the rear axle to the front bumper.
    """
    low = max(0, int(np.searchsorted(route.s_m, from_s_m)) - 1)
    high = max(low + 2, int(np.searchsorted(route.s_m, to_s_m)) + 1)
    low = min(low, max(0, len(route.s_m) - 1 - stride))
    rows = slice(low, high, stride)
    swing = 0.5 * route.curvature_1pm[rows] * front_m**2
    return Corridor(
        s_m=route.s_m[rows],
        x_m=route.x_m[rows],
        y_m=route.y_m[rows],
        yaw_rad=route.yaw_rad[rows],
        left_m=0.5 * width_m + np.maximum(0.0, -swing),
        right_m=0.5 * width_m + np.maximum(0.0, swing),
    )


@dataclass(frozen=True, slots=True)
class Projection:
    """Boxes in route coordinates, arrays of any one shape.

    Arc length and lateral offset (left positive) of the centre, half the extent along the path, and the path's heading
    there. `blocks` is True where a box overlaps the corridor.
    """

    s_m: Float
    d_m: Float
    half_s_m: Float
    path_yaw_rad: Float
    blocks: NDArray[np.bool_]


def project_boxes(
    corridor: Corridor, x_m: Float, y_m: Float, yaw_rad: Float, length_m: Float, width_m: Float, margin_m: Float
) -> Projection:
    """Project oriented boxes (arrays of one shape) on the corridor, by the path's tangent at the nearest point."""
    shape = x_m.shape
    px, py = x_m.ravel(), y_m.ravel()
    # |p - c|^2 without |p|^2, which is the same for all c: one matrix product instead of two differences.
    cx, cy = corridor.x_m - corridor.x_m[0], corridor.y_m - corridor.y_m[0]
    rx, ry = px - corridor.x_m[0], py - corridor.y_m[0]
    cost = (cx**2 + cy**2)[None, :] - 2.0 * (np.outer(rx, cx) + np.outer(ry, cy))
    nearest = np.argmin(cost, axis=1)
    yaw = corridor.yaw_rad[nearest]
    cos, sin = np.cos(yaw), np.sin(yaw)
    dx, dy = px - corridor.x_m[nearest], py - corridor.y_m[nearest]
    along, across = dx * cos + dy * sin, -dx * sin + dy * cos
    turn = yaw_rad.ravel() - yaw
    c, s = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    half_l, half_w = 0.5 * length_m.ravel(), 0.5 * width_m.ravel()
    half_s, half_d = c * half_l + s * half_w, s * half_l + c * half_w
    margin = margin_m.ravel()
    blocks = (across - half_d < corridor.left_m[nearest] + margin) & (
        across + half_d > -corridor.right_m[nearest] - margin
    )
    reach = np.abs(along) <= half_s + 2.0
    return Projection(
        s_m=(corridor.s_m[nearest] + along).reshape(shape),
        d_m=across.reshape(shape),
        half_s_m=half_s.reshape(shape),
        path_yaw_rad=yaw.reshape(shape),
        blocks=(blocks & reach).reshape(shape),
    )
