"""Chooses places on a map at which lane detection is measured: straights, bends and slopes, by seed."""

from __future__ import annotations

from math import atan2

import numpy as np

from av_core.types import Lane, LaneGraph, Pose2D
from av_stack.world.carla.stand import Place

AHEAD_M = 32.0
"""Minimum length of lane ahead of a place, m: lines are measured up to 30 m."""

BEND_1PM = 0.008
"""Minimum curvature of a bend, 1/m."""

GRADE_CHANGE = 0.02
"""Minimum change of the road's grade at a crest or dip, m/m."""

OFF_CENTRE_M, OFF_HEADING_RAD = 0.3, 0.03
"""Largest lateral offset, m, and heading error, rad, of the car in its lane."""


def choose_places(graph: LaneGraph, count: int, rng: np.random.Generator) -> list[Place]:
    """`count` places: a third in bends, a third before crests and dips, and a third anywhere, if the map has them.

    The car has a random offset and heading error in its lane, like a driven car.
    """
    lanes = [lane for lane in graph.lanes.values() if not lane.is_junction and lane.length_m > AHEAD_M + 3.0]
    wanted = (_is_before_bend, _is_before_crest, lambda lane, row: True)
    places: list[Place] = []
    if not lanes:
        return places
    length = np.array([lane.length_m - AHEAD_M for lane in lanes])
    for number in range(count):
        fits = wanted[number % len(wanted)]
        for _ in range(200):
            lane = lanes[int(rng.choice(len(lanes), p=length / length.sum()))]
            row = lane.curve.row_at(rng.uniform(1.0, lane.length_m - AHEAD_M))
            if fits(lane, row):
                break
        places.append(_place(lane, row, rng))
    return places


def _ahead(lane: Lane, row: int) -> slice:
    return slice(row, max(lane.curve.row_at(lane.s_m[row] + 25.0), row + 2))


def _is_before_bend(lane: Lane, row: int) -> bool:
    return bool(np.abs(lane.curvature_1pm[_ahead(lane, row)]).max() > BEND_1PM)


def _is_before_crest(lane: Lane, row: int) -> bool:
    ahead = _ahead(lane, row)
    grade = np.diff(lane.points[ahead, 2]) / np.diff(lane.s_m[ahead])
    return bool(np.ptp(grade) > GRADE_CHANGE)


def _place(lane: Lane, row: int, rng: np.random.Generator) -> Place:
    x, y, z = (float(value) for value in lane.points[row])
    yaw = float(lane.yaw_rad[row])
    aside = float(rng.uniform(-OFF_CENTRE_M, OFF_CENTRE_M))
    heading = yaw + float(rng.uniform(-OFF_HEADING_RAD, OFF_HEADING_RAD))
    grade = atan2(float(lane.points[row + 1, 2]) - z, float(lane.s_m[row + 1] - lane.s_m[row]))
    return Place(Pose2D(x - aside * float(np.sin(yaw)), y + aside * float(np.cos(yaw)), heading), z, grade)
