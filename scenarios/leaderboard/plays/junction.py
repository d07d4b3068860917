"""The junction ahead of the ego: how its route leads through, which ways lead in and out, and its traffic lights."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from av_core.errors import RouteError
from av_core.frames import wrap_angle
from av_core.types import Lane, LaneGraph, Signal, SignalKind
from planning import Route
from scenarios.leaderboard.plays.lane_walk import LaneSpot, neighbour, rightmost, straightest, through

SECTORS_DEG = {"left": (30.0, 135.0), "opposite": (135.0, 225.0), "right": (225.0, 330.0)}
"""Sides from which traffic comes, by the angle by which its heading is turned to the right of the ego's."""

STRAIGHT_RAD = 0.8
"""A path through the junction counts as straight if its heading changes by less than this."""

LIGHT_WITHIN_M = 30.0
"""A light on a lane before the junction belongs to it if its stop line is nearer to the junction than this."""


class Junction:
    """The first junction on `route` from `trigger_m` on. `entry_m` and `exit_m` are distances ahead of the trigger.

    Raises RouteError where there is none.
    """

    def __init__(self, graph: LaneGraph, route: Route, trigger_m: float) -> None:
        self._graph = graph
        rows = np.flatnonzero(route.is_junction & (route.s_m >= trigger_m))
        if len(rows) == 0:
            raise RouteError("there is no junction on the route after the trigger")
        first = int(rows[0])
        outside = np.flatnonzero(~route.is_junction[first:])
        if len(outside) == 0:
            raise RouteError("the route ends inside the junction after the trigger")
        last = first + int(outside[0])
        self.entry_m, self.exit_m = float(route.s_m[first]) - trigger_m, float(route.s_m[last]) - trigger_m
        self.entry = graph.lanes[route.lanes[int(route.lane_index[max(first - 1, 0)])]]
        self.exit = graph.lanes[route.lanes[int(route.lane_index[last])]]
        self.curve = route.curve.part(route.curve.rows_between(float(route.s_m[first]), float(route.s_m[last])))
        self._yaw_rad = float(route.curve.yaw_rad[first])
        number = graph.lanes[route.lanes[int(route.lane_index[first])]].junction_id
        self.inside = [lane for lane in graph.lanes.values() if lane.is_junction and lane.junction_id == number]

    @property
    def turn_rad(self) -> float:
        """Change of the ego's heading through the junction, positive to the left."""
        return float(self.curve.yaw_rad[-1] - self.curve.yaw_rad[0])

    def entries(self, direction: str) -> list[Lane]:
        """The lanes on which traffic comes to the junction from the ego's "left", "right" or "opposite" side.

        The lanes of each road are ordered from right to left. Raises RouteError where there is none.
        """
        low_deg, high_deg = SECTORS_DEG[direction]
        keys = {key for lane in self.inside for key in lane.predecessors}
        lanes = [self._graph.lanes[key] for key in keys if key in self._graph.lanes]
        lanes = [lane for lane in lanes if not lane.is_junction]
        found = [lane for lane in lanes if low_deg <= self._right_turn_deg(lane) < high_deg]
        if not found:
            where = "opposite the ego" if direction == "opposite" else f"from the {direction}"
            raise RouteError(f"no road leads {where} into the junction after the trigger")
        return sorted(found, key=lambda lane: (lane.key.road_id, -abs(lane.key.lane_id)))

    def rightmost_entry(self, direction: str) -> Lane:
        """The outer lane of the first road from a direction."""
        spot = LaneSpot(self.entries(direction)[0], 0.0)
        spot = LaneSpot(spot.lane, spot.lane.length_m)
        while (right := neighbour(self._graph, spot, -1.0)) is not None:
            spot = right
        return spot.lane

    def straight_exit(self, entry: Lane) -> Lane:
        """The lane behind the junction that leads on most nearly straight. Raises RouteError where there is none."""
        found = through(self._graph, entry, straightest)
        if found is None:
            raise RouteError(f"no way leads through the junction from {entry.key}")
        return found

    def leads_straight(self, entry: Lane) -> bool:
        """Whether a path leads straight through the junction from the lane `entry`."""
        turn = float(wrap_angle(self.straight_exit(entry).curve.yaw_rad[0] - entry.curve.yaw_rad[-1]))
        return abs(turn) < STRAIGHT_RAD

    def crossing_exit(self, entry: Lane) -> Lane:
        """The lane straight behind the junction, as seen from `entry`.

        If no path leads straight on, it is the lane whose path comes nearest to the ego's. Raises RouteError where
        there is no path at all.
        """
        if self.leads_straight(entry):
            return self.straight_exit(entry)
        inside = [lane for lane in self.inside if lane.key in entry.successors]
        found = through(self._graph, min(inside, key=self._gap_m), straightest) if inside else None
        if found is None:
            raise RouteError(f"no way leads through the junction from {entry.key}")
        return found

    def _gap_m(self, lane: Lane) -> float:
        """Mean distance of a lane's points from the ego's path through the junction."""
        x, y = lane.points[:, 0], lane.points[:, 1]
        return float(np.hypot(self.curve.x_m[:, None] - x, self.curve.y_m[:, None] - y).min(axis=0).mean())

    def right_exit(self, entry: Lane) -> Lane | None:
        """The lane behind the junction at the end of the rightmost path from `entry`; None if no path leads on."""
        return through(self._graph, entry, rightmost)

    def lights_of(self, entry: Lane) -> tuple[str, ...]:
        """The lights of an approach. Raises RouteError where it has none."""
        found = sorted({signal.signal_id for signal in self._lights() if self._governs(signal, entry)})
        if not found:
            raise RouteError(f"the junction after the trigger has no traffic light for {entry.key}")
        return tuple(found)

    def other_lights(self, approaches: Iterable[str]) -> tuple[str, ...]:
        """The lights of the junction without those in `approaches`."""
        return tuple(sorted({signal.signal_id for signal in self._lights()} - set(approaches)))

    def _lights(self) -> list[Signal]:
        inside = {lane.key for lane in self.inside}
        entries = {key for lane in self.inside for key in lane.predecessors}
        lights = [signal for signal in self._graph.signals if signal.kind is SignalKind.TRAFFIC_LIGHT]
        near = [s for s in lights if s.lane in entries - inside and self._is_at_end(s)]
        return [*near, *(signal for signal in lights if signal.lane in inside)]

    def _governs(self, light: Signal, entry: Lane) -> bool:
        return light.lane == entry.key or entry.key in self._graph.lanes[light.lane].predecessors

    def _is_at_end(self, light: Signal) -> bool:
        return light.stop_s_m > self._graph.lanes[light.lane].length_m - LIGHT_WITHIN_M

    def _right_turn_deg(self, lane: Lane) -> float:
        """Angle, 0 to 360 degrees, by which the heading of an entry lane is turned to the right of the ego's."""
        return float(np.degrees(self._yaw_rad - lane.curve.yaw_rad[-1]) % 360.0)
