"""Spawn points of vehicles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embedded_carla.scene import F64
from embedded_carla.scenery.grid import SectionGrid
from embedded_carla.types import Transform, wrapped_deg

LANE_KIND = "driving"  # the default lane type of `get_waypoint`, which the TrafficManager uses
SPACING_M = 9.5  # between spawn points of a lane
END_MARGIN_M = 4.0  # from a junction or the end of the road
NARROWEST_LANE_M = 2.5
LIFT_M = 0.4  # above the road, so that no wheel starts inside it
CLEARANCE_M = 5.5  # least distance between any two spawn points
MOST = 400  # spawn points of a map


def spawn_points(grids: Sequence[SectionGrid]) -> tuple[Transform, ...]:
    """Poses in the middle of driving lanes outside junctions, heading with the traffic, none near another one."""
    out: list[Transform] = []
    taken = np.zeros((0, 3))
    for grid in grids:
        if grid.road.junction != -1:
            continue
        for i, lane_id in enumerate(grid.lanes):
            if grid.kind(i) != LANE_KIND:
                continue
            points, yaw = _along(grid, i, lane_id)
            for point, yaw_deg, pitch_deg in zip(points, yaw[0], yaw[1], strict=True):
                if len(taken) and np.min(np.linalg.norm(taken - point, axis=1)) < CLEARANCE_M:
                    continue
                x, y, z = (float(v) for v in point)
                out.append(Transform(x, y, z + LIFT_M, float(pitch_deg), wrapped_deg(float(yaw_deg)), 0.0))
                taken = np.vstack([taken, point])
    thin = -(-len(out) // MOST)  # on large maps keep every n-th, so that they cover all of the map
    return tuple(out[:: max(thin, 1)])


def _along(grid: SectionGrid, lane: int, lane_id: int) -> tuple[F64, tuple[F64, F64]]:
    """Centre points (n, 3) of one lane and (yaw, pitch) in degrees, `SPACING_M` apart."""
    first, last = grid.s[0] + END_MARGIN_M, grid.s[-1] - END_MARGIN_M
    if last < first:
        return np.zeros((0, 3)), (np.zeros(0), np.zeros(0))
    s = np.linspace(first, last, int((last - first) / SPACING_M) + 1)
    if len(s) == 1:
        s = np.array([0.5 * (first + last)])
    points = 0.5 * (grid.at(lane, s) + grid.at(lane + 1, s))
    ahead = 0.5 * (grid.at(lane, s + 1.0) + grid.at(lane + 1, s + 1.0)) - points
    if lane_id > 0:
        ahead = -ahead
    width = np.linalg.norm(grid.at(lane, s) - grid.at(lane + 1, s), axis=1)
    wide = width >= NARROWEST_LANE_M
    yaw = np.degrees(np.arctan2(ahead[:, 1], ahead[:, 0]))
    pitch = np.degrees(np.arctan2(ahead[:, 2], np.linalg.norm(ahead[:, :2], axis=1)))
    return points[wide], (yaw[wide], pitch[wide])
