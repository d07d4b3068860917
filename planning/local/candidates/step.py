"""One step of the local path: what it knows, and the paths that it offers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from av_core.types import Float, Manoeuvre
from planning.behaviour import Gap
from planning.local.candidates.surroundings import Surroundings
from planning.local.lattice import CELLS, COLUMN_M, LatticePath
from planning.local.occupancy import EgoOnRoad
from planning.local.profile import IN_LANE_M
from planning.local.road_cells import RoadAhead

KEEP_M, _KEEP_S = 0.3, 0.3
"""A new plan keeps the old path for this distance plus the ego's speed times this time."""

_ON_ROUTE_M = 0.02
"""Offsets of the path below this count as none."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step knows of the road, and of the place where its new path may begin.

    `rows` are the points of the route from the ego to as far as the search looks. `planned_m` is the offset of the path
    of the earlier steps where the ego is now.
    """

    ego: EgoOnRoad
    start: EgoOnRoad
    start_offset_m: float
    planned_m: float
    rows: slice
    road: RoadAhead
    surroundings: Surroundings

    @property
    def is_on_route(self) -> bool:
        """Whether the ego follows its route, and nobody is a reason to leave it."""
        return self.surroundings.is_free and abs(self.planned_m) < _ON_ROUTE_M

    @property
    def s_m(self) -> Float:
        """The arc lengths of the search's cells."""
        return self.start.s_m + np.arange(CELLS, dtype=np.float64)

    @property
    def is_near_lane(self) -> bool:
        """Whether the path of the earlier steps is in the lane where a new one begins."""
        return abs(self.start_offset_m) < IN_LANE_M + COLUMN_M


def start_of(ego: EgoOnRoad) -> EgoOnRoad:
    """The ego where a new path may begin: until then it is on the old one."""
    return replace(ego, s_m=ego.s_m + KEEP_M + _KEEP_S * ego.speed_mps, time_s=_KEEP_S)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path that the ego could take: its motion as `found`, its offsets at the route's points (N,), and what it does
    in the next metres."""

    found: LatticePath
    offset_m: Float
    manoeuvre: Manoeuvre


@dataclass(frozen=True, slots=True)
class Candidates:
    """The paths that the ego could take in one step; None where there is none, or where none was looked for.

    * `aside`: within the lane, away from those beside it.
    * `into_gap`: a lane change into `gap` in the traffic beside. With `waits_for_gap`, there is such traffic, and no
      gap for a lane change at once.
    * `onward`: past what is in the way. With `is_held`, it is the path of the earlier steps, for a moment in which the
      search finds none.
    * `back`, `beside`, `kept`: for an ego without a path onward that is out of its lane. The first leads back into its
      lane, the second along the lane where it is, and the third is the path of the earlier steps, as far as it lasts.
      `beside` also keeps an ego in its lane where the route changes lanes.
    * `is_lost`: the search has found no path onward for several steps.
    """

    aside: Candidate | None = None
    into_gap: Candidate | None = None
    gap: Gap | None = None
    waits_for_gap: bool = False
    onward: Candidate | None = None
    is_held: bool = False
    back: Candidate | None = None
    beside: Candidate | None = None
    kept: Candidate | None = None
    is_lost: bool = False

    @property
    def last_resort(self) -> Candidate | None:
        """The path of an ego that finds none onward, and must not just follow its route."""
        return self.back or self.beside or self.kept
