"""Where a route begins, as a waypoint of CARLA's."""

from __future__ import annotations

import carla

from av_core.frames import carla_to_map_points
from av_core.lane_points import nearest_lane
from av_core.types import LaneGraph


def waypoint_of_start(carla_map: carla.Map, graph: LaneGraph, x: float, y: float) -> carla.Waypoint:
    """The waypoint of the lane that a route from (x, y), in CARLA's frame, begins on.

    CARLA's own search takes the height 0, and so a road below a bridge instead of the bridge. Raises RouteError where
    no lane is near.
    """
    found = carla_map.get_waypoint(carla.Location(x=x, y=y))
    lane, row = nearest_lane(graph, *map(float, carla_to_map_points((x, y))))
    if (found.road_id, found.lane_id) == (lane.key.road_id, lane.key.lane_id):
        return found
    return carla_map.get_waypoint(carla.Location(x=x, y=y, z=float(lane.points[row, 2])))
