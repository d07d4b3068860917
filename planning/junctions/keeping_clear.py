"""Keeps junctions clear: the stops before those that the ego could not leave, because of vehicles on its path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from av_core.types import Float, PredictedObject
from planning.config import BehaviorConfig
from planning.junctions.entry import STANDING_MPS, InTheWay, Junction, waits_before
from planning.signals import EgoOnRoute
from planning.speed import StopTarget
from planning.traffic.conflicts import OTHER_ROAD_RAD, conflicts_of, crossing_cause
from planning.traffic.corridor import Corridor

_FACING_RAD = 2.8
"""A vehicle whose heading differs from the path by more faces the ego on the lane beside. From afar, an error in its
place puts it on the path, where it would keep the ego before a green light."""

_QUEUE_RAD = 0.8
"""A vehicle whose heading differs from the path by less goes where the ego goes. At the end of a turn, the path below
its rear has not turned as far as the vehicle."""

_JOINS_M = 6.0
"""A vehicle that drives farther than this along the path within the horizon turns onto the ego's road: the ego
follows it instead of waiting for it."""


@dataclass(frozen=True, slots=True)
class OnPath:
    """A vehicle that is in the corridor now, ahead of the ego: its near end as arc length, and its course.

    `turn_rad` is the angle between its heading and the path, without a sign; `along_mps` its speed along the path.
    """

    one: PredictedObject
    low_s_m: float
    turn_rad: float
    along_mps: float


def stops_before_junctions(
    corridor: Corridor,
    ego: EgoOnRoute,
    junctions: Sequence[Junction],
    arrives_s: Sequence[float],
    present: Sequence[OnPath],
    times_s: Float,
    obstacles: frozenset[int],
    config: BehaviorConfig,
) -> list[StopTarget]:
    """The stops before those of `junctions` that the ego could not leave, because of the vehicles `present`.

    The ego comes to the junctions, all ahead of it, at the times `arrives_s`. `times_s` (T,) are those of the
    prediction. The ego drives up to a vehicle across its way that is one of the `obstacles`. It has stood for so long
    that it may wait for the ego; or it may stand beside the path, which is better seen from near. What is ahead of the
    end of a queue does not count.
    """
    stops: list[StopTarget] = []
    if not junctions:
        return stops
    for vehicle in sorted(present, key=lambda one: one.low_s_m):
        if vehicle.one.item.track_id in obstacles and vehicle.turn_rad > OTHER_ROAD_RAD:
            continue
        clear_s = _clear_s(corridor, vehicle, times_s, config)
        is_queue = vehicle.turn_rad < _QUEUE_RAD
        blocker = InTheWay(vehicle.one.item.track_id, vehicle.low_s_m, clear_s, is_queue)
        junction = waits_before(junctions, arrives_s, ego, blocker, config.conflict_gap_m)
        places_m = [place - ego.front_m for place in junction.places_m(blocker)] if junction is not None else []
        for stop_s_m in places_m:
            if ego.deceleration_to_mps2(stop_s_m) < config.yellow_decel_mps2:
                stops.append(StopTarget(stop_s_m, crossing_cause(vehicle.one.item)))
                break
        if is_queue and clear_s == float("inf"):
            break
    return stops


def _clear_s(corridor: Corridor, vehicle: OnPath, times_s: Float, config: BehaviorConfig) -> float:
    """When the vehicle will have left the corridor, or will have gone on along the path, s from now."""
    if vehicle.turn_rad < OTHER_ROAD_RAD:
        return 0.0 if vehicle.along_mps > STANDING_MPS else float("inf")
    if vehicle.turn_rad > _FACING_RAD:
        return 0.0
    if not vehicle.one.modes:
        return float("inf")
    conflicts = conflicts_of(corridor, [vehicle.one], times_s, config)
    return max((conflict.leave_s for conflict in conflicts if conflict.advance_m < _JOINS_M), default=0.0)
