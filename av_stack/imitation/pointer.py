"""Computes the points of the route ahead for the imitation, with a position from the sensors alone."""

from __future__ import annotations

from av_core.types import EgoState, Float, LaneGraph, SensorFrame
from av_stack.imitation.geometry import route_points
from perception.localization.localizer import Localizer
from planning import Route, RouteTracker


class RoutePointer:
    """Localizes the ego, and computes the points of the route ahead; call `update` with every frame in order."""

    def __init__(self, graph: LaneGraph, route: Route) -> None:
        self._localizer, self._route, self._tracker = Localizer(graph), route, RouteTracker(route)

    def update(self, frame: SensorFrame) -> tuple[EgoState, Float]:
        """The estimated state of the ego, and points of the route (routes, 2) in the map frame."""
        ego = self._localizer.update(frame)
        return ego, route_points(self._route, self._tracker, ego)
