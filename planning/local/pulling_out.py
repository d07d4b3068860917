"""How the ego leaves the side of the road, such as a parking space: it observes traffic, and waits for a gap.

The gap itself is found by the search of the local path (`path_planner`).
"""

from __future__ import annotations

from planning.local.lattice import LatticePath
from planning.local.occupancy import Body, EgoOnRoad
from planning.local.road import RoadLayout
from planning.reference_path import Route

_LOOKS_S, _IN_LANE_M, _STANDS_MPS = 2.0, 1.0, 0.5
"""Time for which an ego beside the road observes traffic before it starts; distance to its lane's centre at which
it has pulled out; and speed below which it stands."""

_ACROSS_M = 0.8
"""An ego that reaches this far into its lane from the side of the road goes on, since it would block others there."""

_HALTING_MPS2 = 4.0
"""Deceleration of an ego that gives up its start."""


class PullingOut:
    """Remembers since when the ego has been on its way from beside the road, along one route."""

    def __init__(self, route: Route, layout: RoadLayout, body: Body) -> None:
        self._route, self._layout, self._body = route, layout, body
        self._since_s: float | None = None

    def update(self, ego: EgoOnRoad, time_s: float) -> bool:
        """Whether the ego stands beside the road, or is on its way from there into its lane."""
        row = self._route.row_at(ego.s_m)
        is_beside = not self._layout.right.edge_m[row] < ego.offset_m < self._layout.left.edge_m[row]
        if is_beside and ego.speed_mps < _STANDS_MPS and self._since_s is None:
            self._since_s = time_s
        elif abs(ego.offset_m) < _IN_LANE_M:
            self._since_s = None
        return self._since_s is not None

    def waits_at(self, found: LatticePath, ego: EgoOnRoad, time_s: float) -> float | None:
        """The arc length where the ego waits, while it has not looked long enough and while there is no way `found`.

        None where it goes on, and for an ego that is not on its way from beside the road.
        """
        if self._since_s is None:
            return None
        looks = time_s - self._since_s < _LOOKS_S
        if looks or (not found.is_complete and self.reaches_m(ego) < _ACROSS_M):
            return ego.s_m + ego.speed_mps**2 / (2.0 * _HALTING_MPS2)
        return None

    def reaches_m(self, ego: EgoOnRoad) -> float:
        """How far an ego beside its lane reaches over the lane's edge."""
        row, half_m = self._route.row_at(ego.s_m), 0.5 * self._body.width_m
        from_right_m = ego.offset_m + half_m - float(self._layout.right_m[row])
        from_left_m = float(self._layout.left_m[row]) - ego.offset_m + half_m
        return min(from_right_m, from_left_m)
