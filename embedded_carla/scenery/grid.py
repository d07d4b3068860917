"""Samples lane sections along s; surfaces, markings and placements are made from the points of their borders."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from embedded_carla.opendrive.cubics import Cubics
from embedded_carla.opendrive.network import LaneSection, Road, RoadNetwork
from embedded_carla.scene import F64

LONGEST_STEP_M = 10.0
SAGITTA_M = 0.02  # largest distance between a chord and its curve
CURVED_PROFILE_STEP_M = 2.0  # longest step where a profile is curved
JUMP_M = 0.02  # smallest sideways step of a border at one station that counts as a jump
BEFORE_M = 1e-4  # distance before a profile's next piece at which the value before a jump is read


@dataclass(frozen=True, slots=True)
class SectionGrid:
    """One lane section in CARLA's frame.

    - `s` (n,) stations; `lanes` ids from left to right.
    - `t` (lanes + 1, n) lateral positions of the lanes' borders, positive left.
    - `points` (lanes + 1, n, 3) the same borders in the world.
    - `leftward` (n, 2) unit vectors towards +t; `forward` (n, 2) unit vectors along s.
    """

    road_index: int
    road: Road
    section: LaneSection
    s: F64
    lanes: list[int]
    t: F64
    points: F64
    leftward: F64
    forward: F64

    def kind(self, i: int) -> str:
        """Type of the i-th lane from the left."""
        return self.section.lanes[self.lanes[i]].kind

    def at(self, border: int, s: F64) -> F64:
        """Points (m, 3) of a border at `s` (m,), on the chords of the sampled surface."""
        return np.stack([np.interp(s, self.s, self.points[border, :, k]) for k in range(3)], axis=1)

    def leftward_at(self, s: F64) -> F64:
        """Unit vectors (m, 2) towards +t at `s` (m,)."""
        v = np.stack([np.interp(s, self.s, self.leftward[:, k]) for k in range(2)], axis=1)
        return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def section_grids(network: RoadNetwork) -> list[SectionGrid]:
    """Every lane section of the map that has a lane, in file order."""
    grids = []
    for index, road in enumerate(network.roads.values()):
        for section in road.sections:
            if section.end_m - section.s_m > 2.0 * BEFORE_M and any(i != 0 for i in section.lanes):
                grids.append(_grid(index, road, section))
    return grids


def _grid(index: int, road: Road, section: LaneSection) -> SectionGrid:
    s = sample_s(road, section)
    lanes, t = road.borders(section, s)
    xyz, heading = road.reference(s)
    leftward = np.stack([-np.sin(heading), np.cos(heading)], axis=1)
    points = np.empty((*t.shape, 3))
    points[..., :2] = xyz[None, :, :2] + t[..., None] * leftward[None]
    points[..., 2] = xyz[None, :, 2] + t * np.tan(road.superelevation(s))[None]
    flip = np.array([1.0, -1.0])
    points[..., 1] *= -1.0
    forward = np.stack([np.cos(heading), np.sin(heading)], axis=1) * flip
    return SectionGrid(index, road, section, s, lanes, t, points, leftward * flip, forward)


def sample_s(road: Road, section: LaneSection) -> F64:
    """Stations of a section, as far apart as curvature, changes of slope and lane widths allow."""
    lanes = list(section.lanes.values())
    widths = [lane.width if lane.border is None else lane.border for lane in lanes]
    profiles = [road.elevation, road.superelevation, road.offset, *widths]
    knots = np.concatenate([[p.s_m for p in road.plan.pieces], *(p.start for p in profiles)])
    # Lane offsets and widths may jump at the start of a piece or of the next section, so the surface ends just before.
    last = section.end_m - BEFORE_M
    inside = knots[(knots > section.s_m + 0.01) & (knots < last - 0.01)]
    knots = np.unique(np.concatenate([[section.s_m], np.round(inside, 6), [last]]))
    _, t = road.borders(section, knots)
    _, before = road.borders(section, np.maximum(knots - BEFORE_M, section.s_m))
    jumps = knots[1:-1][np.max(np.abs(t - before), axis=0)[1:-1] > JUMP_M]
    reach = float(np.max(np.abs(t)))
    stations = [
        np.linspace(a, b, max(int(np.ceil((b - a) / _step(road, profiles, a, b, reach))), 1), endpoint=False)
        for a, b in pairwise(knots.tolist())
    ]
    return np.sort(np.concatenate([*stations, jumps - BEFORE_M, [last]]))


def _step(road: Road, profiles: list[Cubics], start: float, end: float, reach_m: float) -> float:
    """Longest step on (start, end), where every profile is a single cubic."""
    middle = 0.5 * (start + end)
    pieces = [p for p in road.plan.pieces if p.s_m <= middle]
    curvature = (pieces[-1] if pieces else road.plan.pieces[0]).curvature_max_1pm()
    step = LONGEST_STEP_M
    if curvature > 1e-6:
        radius = 1.0 / curvature + reach_m
        step = min(step, float(np.sqrt(8.0 * SAGITTA_M * radius)) / (1.0 + reach_m * curvature))
        step = max(step, 0.5)
    for profile in profiles:
        if len(profile.start):
            k = max(int(np.searchsorted(profile.start, middle, side="right")) - 1, 0)
            if np.any(np.abs(profile.coefficients[k, 2:]) > 1e-7):
                step = min(step, CURVED_PROFILE_STEP_M)
    return step
