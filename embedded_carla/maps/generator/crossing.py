"""A junction of streets at one level: all movements, pavements round the corners, crosswalks, lights and signs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from embedded_carla.maps.generator.builder import STRAIGHT_RAD, Arm, Movement, TownBuilder, turn_of
from embedded_carla.maps.generator.model import Controller, Junction, MapObject, Road, Signal, SignalReference

CROSSWALK_S_M = 2.6  # from the junction's edge to the middle of the crosswalk
CROSSWALK_HALF_M = 1.5
STRAIGHT_M = 4.5  # straight part of every movement before its turn, where the crosswalk lies
CORNER_RADIUS_M = 10.0  # of the left edge of the right-turning lane


@dataclass(frozen=True, slots=True)
class Control:
    """Right of way at a junction.

    `kind` is "lights", "lights_split" (one approach at a time), "stop", "all_stop" or "yield". The approaches of the
    minor street (`minor`, indices of arms) get the sign.
    """

    kind: str
    minor: tuple[int, ...] = ()


def cross(town: TownBuilder, name: str, arms: Sequence[Arm], control: Control) -> list[Movement]:
    """Join `arms` (at least three) by one connecting road for each possible movement, and set up `control`."""
    junction = town.junction(name)
    by_arm = [_movements(town, junction, arms, source) for source in arms]
    if control.kind.startswith("lights"):
        _lights(town, junction, arms, by_arm, control.kind == "lights_split")
        for moves in filter(None, by_arm):
            _crosswalk(town, moves[0])
    else:
        for i, moves in enumerate(by_arm):
            if control.kind == "all_stop" or i in control.minor:
                give_way(town, moves, "yield" if control.kind == "yield" else "stop")
    return [m for moves in by_arm for m in moves]


def _movements(town: TownBuilder, junction: Junction, arms: Sequence[Arm], source: Arm) -> list[Movement]:
    others = (arm for arm in arms if arm is not source and arm.leads_out and source.leads_in)
    targets = sorted(others, key=lambda arm: turn_of(source, arm))
    moves = []
    for arm in targets:
        turn, n_in, n_out = turn_of(source, arm), source.profile.lanes, arm.profile.lanes
        lanes, first_in, first_out = 1, 1, 1
        if abs(turn) < STRAIGHT_RAD:
            lanes = min(n_in, n_out)
            first_in, first_out = 1 + (n_in - lanes) // 2, 1 + (n_out - lanes) // 2
        elif turn < 0.0:
            first_in, first_out = n_in, n_out
        straight = STRAIGHT_M if turn < -STRAIGHT_RAD else 0.0
        corner = arm is targets[0]  # the next arm on the right: the pavement goes round this corner
        moves.append(
            town.connect(
                junction, source, arm, first_in=first_in, first_out=first_out, lanes=lanes,
                pavement=corner, straight_m=straight,
            )
        )  # fmt: skip
    return moves


def _lights(
    town: TownBuilder, junction: Junction, arms: Sequence[Arm], by_arm: Sequence[list[Movement]], split: bool
) -> None:
    phases: list[list[int]] = []
    axes: list[float] = []
    for arm, moves in ((arm, moves) for arm, moves in zip(arms, by_arm, strict=True) if moves):
        signal = _far_side_light(town, arm, arms, moves)
        axis = arm.into.heading_rad % math.pi
        for phase, known in zip(phases, axes, strict=True):
            if not split and abs(math.sin(axis - known)) < 0.5:
                phase.append(signal)
                break
        else:
            phases.append([signal])
            axes.append(axis)
    for sequence, phase in enumerate(phases):
        controller = Controller(town.new_id(), sequence, tuple(phase))
        town.town.controllers.append(controller)
        junction.controllers.append(controller.controller_id)


def _refer(moves: Sequence[Movement], signal_id: int) -> None:
    """Add to each connecting road a reference to its signal, at the road's start as in CARLA's towns."""
    for move in moves:
        for i in range(move.lanes):
            move.road.signals.append(SignalReference(signal_id, 0.1, "-", -1 - i))


def _far_side_light(town: TownBuilder, arm: Arm, arms: Sequence[Arm], moves: Sequence[Movement]) -> int:
    """Place a light on the far side of the junction, right of the lanes straight on, or behind the crossing street."""
    signal_id = town.new_id()
    ahead = [other for other in arms if other is not arm and abs(turn_of(arm, other)) < STRAIGHT_RAD]
    kerb = 0.9  # from the lane's edge to the pole's middle
    if ahead:
        target = ahead[0]
        s = 1.0 if target.contact == "start" else target.road.alignment.length_m - 1.0
        t = target.profile.kerb_m + kerb
        _stand(town, target.road, signal_id, s, -t if target.contact == "start" else t, arm.into.heading_rad)
    else:
        into = arm.into
        across, edge = _pavement_road_ahead(town, arm)
        lane_side = arm.profile.half_m - 0.5 * arm.profile.lane_m
        s = _station_beside(across, into.moved(0.0, -lane_side).x, into.moved(0.0, -lane_side).y)
        _stand(town, across, signal_id, s, -(edge + kerb), into.heading_rad)
    _refer(moves, signal_id)
    return signal_id


def _pavement_road_ahead(town: TownBuilder, arm: Arm) -> tuple[Road, float]:
    """The connecting road that crosses in front of `arm` on the far side, and its lanes' outer edge."""
    junction = arm.road.successor if arm.contact == "end" else arm.road.predecessor
    assert junction is not None
    left = arm.into.heading_rad + math.pi / 2.0  # direction of the far side's traffic
    roads = [r for r in town.town.roads if r.junction == junction.element_id]
    far = max(roads, key=lambda r: min(math.cos(pose.heading_rad - left) for pose in r.alignment.poses))
    lanes = [lane for lane in far.sections[0].lanes.values() if lane.kind in ("driving", "biking")]
    return far, sum(lane.widths[0][1] for lane in lanes)


def _station_beside(road: Road, x: float, y: float) -> float:
    """Station of (x, y) projected onto a straight road, at least 0.5 m from its ends."""
    start = road.alignment.poses[0]
    dx, dy = x - start.x, y - start.y
    along = math.cos(start.heading_rad) * dx + math.sin(start.heading_rad) * dy
    return min(max(along, 0.5), road.alignment.length_m - 0.5)


def _stand(town: TownBuilder, road: Road, signal_id: int, s: float, t: float, heading_rad: float) -> None:
    offset = heading_rad - road.alignment.at(s).heading_rad
    road.signals.append(
        Signal(signal_id, "Signal_3Light_Post01", s, t, 0.0, offset, "-" if t < 0.0 else "+", True, "1000001")
    )


def give_way(town: TownBuilder, moves: Sequence[Movement], kind: str) -> None:
    """Place a stop or yield sign on the right of the approach, 1 m before the junction."""
    arm = moves[0].source
    name, number = ("Sign_Stop", "206") if kind == "stop" else ("Sign_Yield", "205")
    signal_id = town.new_id()
    t = arm.profile.kerb_m + 0.9
    at_end = arm.contact == "end"
    s = arm.road.alignment.length_m - 1.0 if at_end else 1.0
    arm.road.signals.append(
        Signal(
            signal_id, name, s, -t if at_end else t, 2.4, 0.0 if at_end else math.pi, "-" if at_end else "+",
            False, number,
        )
    )  # fmt: skip
    _refer(moves, signal_id)
    if kind == "stop":
        stop_line(town, arm)


def stop_line(town: TownBuilder, arm: Arm) -> None:
    """Add a line across the lanes that lead into the junction, 0.6 m before it."""
    at_end = arm.contact == "end"
    half = 0.5 * arm.profile.half_m
    arm.road.objects.append(
        MapObject(
            town.new_id(), "StopLine", "-1", arm.road.alignment.length_m - 0.6 if at_end else 0.6,
            -half if at_end else half, math.pi / 2.0, "-" if at_end else "+", 2.0 * half - 0.2, 0.0,
            ((half - 0.1, 0.0), (0.0, 0.0), (0.1 - half, 0.0)),
        )
    )  # fmt: skip


def _crosswalk(town: TownBuilder, move: Movement) -> None:
    """Add a crosswalk over `move`'s street just inside the junction, and the stop line before it."""
    profile = move.source.profile
    reach = profile.kerb_m + profile.side_m
    corners = ((reach, CROSSWALK_HALF_M), (reach, -CROSSWALK_HALF_M), (-reach, -CROSSWALK_HALF_M),
               (-reach, CROSSWALK_HALF_M), (reach, CROSSWALK_HALF_M))  # fmt: skip
    move.road.objects.append(
        MapObject(
            town.new_id(), "ContinentalCrosswalk", "crosswalk", CROSSWALK_S_M,
            (move.first_in - 1) * profile.lane_m, math.pi / 2.0, "+", 2.0 * reach, 2.0 * CROSSWALK_HALF_M, corners,
        )
    )  # fmt: skip
    stop_line(town, move.source)
