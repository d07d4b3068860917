"""The movements of a map's junctions: the arm that each comes from, its turn, and which movements cross."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import Float, LaneKey, SignalKind
from scenarios.leaderboard.placing.needs import Control, Turn
from scenarios.leaderboard.placing.roads import RoadView

STRAIGHT_MAX_DEG = 30.0
TURN_DEG = (50.0, 130.0)
"""A turn changes the heading by an angle in this range."""

CROSSING_M = 1.5
"""Two movements cross if they come closer to each other than this."""


@dataclass(frozen=True, slots=True)
class Movement:
    """A path through a junction: from the lane `entry`, on the lane `inside`, to the lane `exit`.

    `turn` is None if the change of heading is neither that of a turn nor straight on.
    """

    entry: LaneKey
    inside: LaneKey
    exit: LaneKey
    turn: Turn | None


class Junctions:
    """The movements of all junctions of a map."""

    def __init__(self, view: RoadView) -> None:
        self.view = view
        self.of_junction: dict[int, list[Movement]] = {}
        for entry, inside in view.entries.items():
            for key in inside:
                junction_id, exit_key = view.lanes[key].junction_id, view.exit_of(key)
                if junction_id is not None and exit_key is not None:
                    movement = Movement(entry, key, exit_key, _turn(view, entry, exit_key))
                    self.of_junction.setdefault(junction_id, []).append(movement)

    def arms(self, junction_id: int) -> set[int]:
        """The roads that lead into a junction."""
        return {movement.entry.road_id for movement in self.of_junction[junction_id]}

    def others(self, junction_id: int, ego: Movement, arm: str) -> list[Movement]:
        """The movements that come from one side of the ego's approach: "left", "right" or "opposite"."""
        yaw_rad = _end_yaw_rad(self.view, ego.entry)
        return [
            other
            for other in self.of_junction[junction_id]
            if other.entry.road_id != ego.entry.road_id
            and _side(math.degrees(float(wrap_angle(_end_yaw_rad(self.view, other.entry) - yaw_rad)))) == arm
        ]

    def cross(self, one: Movement, other: Movement) -> bool:
        """Whether the ways of two movements meet inside the junction."""
        a, b = (self.view.lanes[m.inside].points[:, :2] for m in (one, other))
        return distance_m(a, b) < CROSSING_M

    def is_controlled(self, junction_id: int, ego: Movement, control: Control) -> bool:
        """Whether the right of way on an approach is of this kind."""
        own = self.view.signals(ego.entry, ego.inside)
        if control is Control.LIGHTS:
            return SignalKind.TRAFFIC_LIGHT in own
        kinds = [self.view.signals(m.entry, m.inside) for m in self.of_junction[junction_id]]
        has_lights = any(SignalKind.TRAFFIC_LIGHT in found for found in kinds)
        return not has_lights and (control is Control.NO_LIGHTS or SignalKind.STOP in own)


def _end_yaw_rad(view: RoadView, key: LaneKey) -> float:
    return view.pose(key, view.lanes[key].length_m).yaw_rad


def _turn(view: RoadView, entry: LaneKey, exit_key: LaneKey) -> Turn | None:
    angle = math.degrees(float(wrap_angle(view.pose(exit_key, 0.0).yaw_rad - _end_yaw_rad(view, entry))))
    if abs(angle) < STRAIGHT_MAX_DEG:
        return Turn.STRAIGHT
    if TURN_DEG[0] < abs(angle) < TURN_DEG[1]:
        return Turn.LEFT if angle > 0.0 else Turn.RIGHT
    return None


def _side(angle_deg: float) -> str:
    """The side from which traffic comes: `angle_deg` is its heading relative to the ego's."""
    if abs(angle_deg) > 140.0:
        return "opposite"
    if abs(angle_deg) < 40.0:
        return "behind"
    return "right" if angle_deg > 0.0 else "left"


def distance_m(one: Float, other: Float) -> float:
    """Smallest distance between the points of two lines (N, 2) and (M, 2)."""
    return float(np.hypot(*(one[:, None] - other[None, :]).T).min())
