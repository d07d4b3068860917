"""The table of manoeuvres: how the ego and one other car move on the open crossing, at constant speeds.

Both drive on straight lines. Time 0 is the conflict: where nobody reacted, a crossing car would hit the ego, an
oncoming or overtaking one would come abreast of it. A car beside the ego stays there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from av_core.types import Float, Pose2D

START_S, END_S = -7.0, -0.8
"""When a manoeuvre starts and ends; before the conflict, since the cars would collide."""

INNER_M, OUTER_M = 1.75, 5.25
"""Middles of the inner and the outer lane."""

STOP_LINE_M = 9.0
"""Distance from the middle of a standing ego to the path of a crossing car."""

ABREAST_M = 5.0
"""Distance between the middles of two cars at which one comes abreast of the other."""

BLUEPRINTS = ("vehicle.tesla.model3", "vehicle.audi.a2", "vehicle.nissan.patrol_2021", "vehicle.mini.cooper_s")


@dataclass(frozen=True, slots=True)
class Manoeuvre:
    """Poses of the middles of both cars at the conflict, with their speeds; all constant."""

    kind: str
    ego: Pose2D
    ego_mps: float
    other: Pose2D
    other_mps: float
    blueprint: str
    number: int

    def ego_at(self, time_s: float) -> Pose2D:
        return _moved(self.ego, self.ego_mps * time_s)

    def other_at(self, time_s: float) -> Pose2D:
        return _moved(self.other, self.other_mps * time_s)


def _moved(pose: Pose2D, gone_m: float) -> Pose2D:
    return Pose2D(pose.x_m + gone_m * math.cos(pose.yaw_rad), pose.y_m + gone_m * math.sin(pose.yaw_rad), pose.yaw_rad)


def manoeuvres(per_kind: int, seed: int) -> list[Manoeuvre]:
    """`per_kind` manoeuvres of each kind, with speeds, cars and places drawn by `seed`."""
    rng = np.random.default_rng(seed)
    table: list[Manoeuvre] = []
    for kind in ("crossing from the left", "crossing from the right", "overtaking", "beside", "oncoming"):
        for number in range(per_kind):
            blueprint = BLUEPRINTS[number % len(BLUEPRINTS)]
            ego, ego_mps, other, other_mps = _drawn(kind, number, rng)
            table.append(Manoeuvre(kind, ego, ego_mps, other, other_mps, blueprint, number))
    return table


def _drawn(kind: str, number: int, rng: np.random.Generator) -> tuple[Pose2D, float, Pose2D, float]:
    aside = float(rng.uniform(-0.4, 0.4))  # the other car's offset in its lane
    if kind.startswith("crossing"):
        ego_mps = (0.0, 30.0, 50.0)[number % 3] / 3.6
        way = 1.0 if kind.endswith("right") else -1.0  # along y
        x_m = way * INNER_M + aside
        ego_x_m = x_m - STOP_LINE_M if ego_mps == 0.0 else x_m
        other = Pose2D(x_m, -INNER_M, way * math.pi / 2.0)
        return Pose2D(ego_x_m, -INNER_M, 0.0), ego_mps, other, 50.0 / 3.6
    ego_mps = (30.0, 50.0)[number % 2] / 3.6
    if kind == "overtaking":
        faster_mps = float(rng.uniform(10.0, 30.0)) / 3.6
        ego_m, other_m = (-OUTER_M, -INNER_M) if number % 4 < 2 else (-INNER_M, -OUTER_M)
        return Pose2D(ABREAST_M, ego_m, 0.0), ego_mps, Pose2D(0.0, other_m + aside, 0.0), ego_mps + faster_mps
    if kind == "beside":
        ahead_m = float(rng.uniform(-4.0, 4.0))
        ego_m, other_m = (-OUTER_M, -INNER_M) if number % 4 < 2 else (-INNER_M, -OUTER_M)
        return Pose2D(0.0, ego_m, 0.0), ego_mps, Pose2D(ahead_m, other_m + aside, 0.0), ego_mps
    return Pose2D(-ABREAST_M, -INNER_M, 0.0), ego_mps, Pose2D(0.0, INNER_M + aside, math.pi), 50.0 / 3.6


def in_ego_frame(place: Float, ego: Pose2D) -> Float:
    """A vector or place difference (2,) of the map in the axes of `ego`."""
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    return np.array([[c, s], [-s, c]]) @ place
