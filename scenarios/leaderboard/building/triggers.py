"""Where on a route the triggers of its scenarios lie, and which of them the official code drops."""

from __future__ import annotations

import numpy as np

from av_core.frames import carla_to_map_points, carla_to_map_yaw, wrap_angle
from av_core.types import LaneGraph
from planning import Route
from scenarios.leaderboard.lint_placement import TRIGGER_DISTANCE_M, TRIGGER_HEADING_DEG
from scenarios.leaderboard.lint_road import LaneCentres
from scenarios.leaderboard.routes import Trigger

CHANGING_M = 4.0
"""Largest distance from the route of a trigger on a lane that the route is just leaving."""


class Triggers:
    """The triggers of scenarios on one route."""

    def __init__(self, route: Route, graph: LaneGraph) -> None:
        self._route = route
        self._centres = LaneCentres(route, graph)

    def off_route(self, trigger: Trigger) -> str:
        """The reason why the trigger is off the route, in words; empty if it is on the route."""
        return self._centres.off_route(trigger)

    def place_m(self, trigger: Trigger) -> float:
        """Distance along the route of a trigger on the route; if the route passes it twice, that of the first time."""
        curve = self._route.curve
        x, y = (float(value) for value in carla_to_map_points((trigger.x_m, trigger.y_m)))
        away_m = np.hypot(curve.x_m - x, curve.y_m - y)
        turned = np.abs(wrap_angle(curve.yaw_rad - float(carla_to_map_yaw(trigger.yaw_deg))))
        heads = turned < np.radians(3.0 * TRIGGER_HEADING_DEG)
        for within_m in (TRIGGER_DISTANCE_M, CHANGING_M):
            near = np.flatnonzero((away_m < within_m) & heads)
            if len(near):
                first = near[: int(np.argmax(np.diff(near, append=near[-1] + 2) > 1)) + 1]
                return float(curve.s_m[first[np.argmin(away_m[first])]])
        return float(curve.project(x, y).s_m)
