"""The queries that CARLA's clients make on a map: finds those that crash or never end before a client gets the map."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import carla

RESOLUTIONS_M = (1.0, 2.0)
"""Sampling resolutions, m, that CARLA's agents use in their GlobalRoutePlanner."""

_SPARE_STEPS = 1000
_SAMPLED = 100  # approximate number of waypoints that are queried


class NeverEndsError(Exception):
    """A client that follows a lane of the map would never stop."""


def ask_everything(town: Any, on_road: Callable[[int], None]) -> None:
    """Make all queries that clients make; `on_road` is called with the id of the next road.

    Raises NeverEndsError, or any exception of the wheel.
    """
    topology = town.get_topology()
    waypoints = town.generate_waypoints(2.0)
    town.get_all_landmarks(), town.get_crosswalks()
    most = _SPARE_STEPS + len(waypoints)  # passes every lane once
    entries = {_lane(entry) for entry, _ in topology}
    for entry, exit_ in topology:
        on_road(entry.road_id)
        for resolution_m in RESOLUTIONS_M:
            _walk(entry, exit_, resolution_m, int(2.0 / resolution_m * most))
        if _lane(exit_) not in entries:
            on_road(exit_.road_id)
            _leave(exit_, most)
        _ask_around(entry)
    for waypoint in waypoints[:: max(len(waypoints) // _SAMPLED, 1)]:
        on_road(waypoint.road_id)
        _ask_around(waypoint)
        with contextlib.suppress(RuntimeError):
            town.get_waypoint(waypoint.transform.location, True, carla.LaneType.Any)
            town.get_waypoint_xodr(waypoint.road_id, waypoint.lane_id, waypoint.s)


def _lane(waypoint: Any) -> tuple[int, int, int]:
    return waypoint.road_id, waypoint.section_id, waypoint.lane_id


def _walk(entry: Any, exit_: Any, resolution_m: float, most: int) -> None:
    """Follow one edge of the topology as GlobalRoutePlanner does."""
    end = exit_.transform.location
    if entry.transform.location.distance(end) <= resolution_m:
        entry.next(resolution_m)
        return
    following = entry.next(resolution_m)
    if not following:
        raise NeverEndsError(f"has a lane ({entry.lane_id}) on which a route planner cannot make its first step")
    for _ in range(most):
        if not following or following[0].transform.location.distance(end) <= resolution_m:
            return
        following = following[0].next(resolution_m)
    raise NeverEndsError(f"has a lane ({entry.lane_id}) that a route planner follows for ever")


def _leave(exit_: Any, most: int) -> None:
    """Follow a lane that begins no edge of the topology until the next lane begins, like GlobalRoutePlanner."""
    following = exit_.next(2.0)
    for _ in range(most):
        if not following or _lane(following[0]) != _lane(exit_):
            return
        following = following[0].next(2.0)
    raise NeverEndsError(f"has a lane ({exit_.lane_id}) that a route planner follows for ever")


def _ask_around(waypoint: Any) -> None:
    """Make the queries of an agent at this waypoint. Exceptions are ignored, since an agent can handle them."""
    with contextlib.suppress(RuntimeError):
        waypoint.get_left_lane(), waypoint.get_right_lane(), waypoint.previous(2.0), waypoint.get_landmarks(50.0)
        _ = waypoint.left_lane_marking, waypoint.right_lane_marking, waypoint.lane_change, waypoint.lane_width
        if waypoint.is_junction:
            junction = waypoint.get_junction()
            junction.get_waypoints(carla.LaneType.Driving)
            _ = junction.bounding_box
