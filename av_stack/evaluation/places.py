"""Chooses places on a map from which to measure lane detection: straights, bends and slopes, by seed."""

from __future__ import annotations

from math import atan2

import numpy as np

from av_core.types import Lane, LaneGraph, Pose2D
from av_stack.world.carla.stand import Place

AHEAD_M = 32.0
"""The lane continues at least this far: lines are measured up to 30 m."""

BEND_1PM = 0.008
"""Curvature from which a lane counts as a bend."""

GRADE_CHANGE = 0.02
"""Change of the road's grade from which it counts as a crest or dip."""

OFF_CENTRE_M, OFF_HEADING_RAD = 0.3, 0.03
"""Largest lateral offset and heading error of the car in its lane."""


def choose_places(graph: LaneGraph, count: int, rng: np.random.Generator) -> list[Place]:
    """`count` places: a third each in bends, before crests and dips, and anywhere, as far as the map has them.

    The car stands as cars drive: up to `OFF_CENTRE_M` beside the lane's centre and not exactly along it.
    """
    lanes = [lane for lane in graph.lanes.values() if not lane.is_junction and lane.length_m > AHEAD_M + 3.0]
    wanted = (_bends, _has_crest, lambda lane, row: True)
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


def _bends(lane: Lane, row: int) -> bool:
    return bool(np.abs(lane.curvature_1pm[_ahead(lane, row)]).max() > BEND_1PM)


def _has_crest(lane: Lane, row: int) -> bool:
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
