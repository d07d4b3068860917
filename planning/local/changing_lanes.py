"""How the ego changes lanes into a gap in the traffic of a lane in its direction, to pass what blocks its own lane.

Each step looks for a gap beside the ego or behind that, for a lane change at once or soon (`gap_rollout`). The driver
behind the gap may have to brake mildly (MOBIL's safety criterion: Kesting, Treiber, Helbing (2007), "General
lane-changing model MOBIL for car-following models"). An ego that has begun goes on as long as that driver can still
brake firmly: half out of its lane, it would be in everybody's way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from av_core.types import Float
from planning.local.gap_rollout import (
    NO_FOLLOW,
    NO_LEAD,
    STEP_S,
    STEPS,
    Attempt,
    Demands,
    EgoNow,
    Follow,
    Lead,
    gets_in,
    length_now,
    shares,
)
from planning.local.occupancy import Body, EgoOnRoad, OnRoad
from planning.local.road import Beside, RoadLayout
from planning.reference_path import Route

_ACCEL_MPS2, _BRISK_MPS2 = 2.5, 3.8
"""Acceleration into a gap, and the same for an ego that has waited."""

_IN_LANE_M = 1.5
"""Distance by which the middle of the ego's front may be aside if it gives up a lane change: beyond it, the ego is in
the way of the driver behind."""


_PATIENT = Demands(braking_mps2=1.5, gap_m=2.0, headway_s=0.4)
"""For an ego that has not waited."""

_IMPATIENT = Demands(braking_mps2=3.0, gap_m=1.2, headway_s=0.1)
"""For an ego without any patience."""

_BEGUN = Demands(braking_mps2=3.5, gap_m=0.7, headway_s=0.05)
"""For an ego that has begun its lane change."""

_RESERVE = Demands(braking_mps2=0.0, gap_m=0.5, headway_s=0.05)
"""What a lane change that begins later has to leave in addition, so that a small error does not close the gap."""

_RESERVE_M = 1.0
"""The same as a distance to what blocks the lane."""

_STANDS_MPS, _NEAR_M, _IMPATIENCE = 0.3, 7.0, 0.9
"""An ego that stands as near behind an obstacle as that, or that has waited, has no such gap: it gets out by a tighter
way, or before drivers who brake more."""

_STARTS_S = (0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
"""Times after which the lane change may begin."""

_SPEEDS_UP_MPS2 = (2.5, 0.0, -1.0, -2.0)
"""Accelerations until then, in the order in which they are tried."""

_SLOW_MPS = 4.0
"""An ego that is slower does not slow down further for a gap behind."""

_GAIN_MIN_MPS2, _GAIN_MAX_MPS2 = 0.5, 3.0
"""Least acceleration of the driver behind that counts, and the most."""

_GAPS, _NOW_GAPS = 3, 2
"""Number of gaps that are looked at: the one beside the ego, and those behind; and for a lane change at once."""

_FAR_AHEAD_M, _FAR_BEHIND_M = 60.0, 80.0
"""Range in which others on the next lane count as traffic."""

_SOON = 7
"""Layers of the predicted motion in which somebody may come onto the lane beside."""

_BEYOND_M, _BACK_S, _BACK_MIN_M = 3.0, 2.8, 25.0
"""Distance of the ego's rear beyond the last obstacle at which it may return; time and least distance of the return."""

_ROOM_BESIDE_M, _EDGE_M, _STOOD_MPS, _ASIDE_STEP_M = 0.9, 0.3, 1.5, 0.02
"""In the lane beside, the ego keeps the first distance from what stands, up to the second from the lane's far edge.
What is slower than the speed stands. The ego moves aside by the last distance in a step."""

_BRAKING_MPS2 = 6.0
"""An ego that could no longer stop with this before the obstacle does not give up its lane change."""

_OFF_PATH_M = 1.2
"""Distance from the path of the lane change at which the ego is not on it any more."""

_LOST_STEPS = 4
"""Steps in a row in which a begun lane change is not safe, until the ego gives it up."""

_STOOD_STEPS = 100
"""Steps in which the ego stands in a lane change, until it gives it up; it begins none before it has moved."""


@dataclass(frozen=True, slots=True)
class Change:
    """A lane change: it begins at `from_s_m`, at an offset, and leads within `length_m` to the middle of the lane on
    `side` (1: left, -1: right). The ego may return from `until_s_m` on."""

    from_s_m: float
    from_m: float
    length_m: float
    side: int
    until_s_m: float


@dataclass(frozen=True, slots=True)
class _Case:
    """A lane change that is rolled out: how far aside it leads, and what blocks the lane, as `gets_in` wants it.

    `nearer` is the same for a lane change that begins later, with a reserve.
    """

    change: Change
    aside_m: float
    blockers: Float
    nearer: Float
    top_mps: float


class LaneChanges:
    """Decides on lane changes along one route, and remembers the one that the ego makes.

    `soon_mps` is the speed after 0.5 s of an ego that changes lanes soon, not yet; None for any other.
    """

    def __init__(self, route: Route, layout: RoadLayout, body: Body) -> None:
        self._route, self._layout, self._body = route, layout, body
        self._middles_m = {
            1: 0.5 * (layout.left_m + layout.left.edge_m),
            -1: 0.5 * (layout.right_m + layout.right.edge_m),
        }
        self._speeds_mps = np.empty(STEPS)
        self._gains_mps2: Mapping[int, float] = {}
        self._lost, self._stood, self._aside_m, self._is_stuck = 0, 0, 0.0, False
        self.change: Change | None = None
        self.soon_mps: float | None = None

    def update(
        self,
        ways: Sequence[OnRoad],
        blockers: Sequence[OnRoad],
        ego: EgoOnRoad,
        top_mps: float,
        gains_mps2: Mapping[int, float] | None = None,
    ) -> Change | None:
        """The lane change to make now; None where the ego stays in its lane.

        `blockers` are what the ego wants to pass, `gains_mps2` how fast others gain speed, by their track ids.
        """
        self._gains_mps2 = gains_mps2 or {}
        self.soon_mps = None
        stands = ego.speed_mps < _STANDS_MPS
        self._stood = self._stood + (self.change is not None) if stands else 0
        if self.change is None:
            self._aside_m = 0.0
            self.change = self._begin(ways, blockers, ego, top_mps)
        else:
            self.change = self._go_on(self.change, ways, blockers, ego, top_mps)
        if self.change is not None:
            self._is_stuck = False
            wanted_m = self._keeps_aside_m(self.change, ways, ego)
            self._aside_m += min(max(wanted_m - self._aside_m, -_ASIDE_STEP_M), _ASIDE_STEP_M)
        return self.change

    def end(self) -> None:
        """Forget the lane change: the ego does something else."""
        self.change, self.soon_mps, self._is_stuck = None, None, False

    def is_in_traffic(self, ways: Sequence[OnRoad], blockers: Sequence[OnRoad], ego: EgoOnRoad) -> bool:
        """Whether a lane in the ego's direction lies beside what blocks its own, with others on it near the ego."""
        self._is_stuck &= bool(blockers)
        return any(self._beside(ways, ego, side) for side in self._sides(blockers, ego))

    def is_stuck(self, blockers: Sequence[OnRoad], ego: EgoOnRoad) -> bool:
        """Whether an ego that found no gap should not wait for one any more; this holds until it has passed."""
        is_near = self._room_m(blockers, ego) < _NEAR_M
        is_waiting = self.soon_mps is None and ego.speed_mps < _STANDS_MPS
        self._is_stuck |= is_waiting and (is_near or ego.impatience > _IMPATIENCE)
        return self._is_stuck

    def offsets(self, change: Change, s_m: Float, speed_mps: float) -> Float:
        """The offsets of the path (N,) at arc lengths (N,): into the lane beside, along it, and back."""
        to_m = np.interp(s_m, self._route.s_m, self._middles_m[change.side]) + change.side * self._aside_m
        out_m = change.from_m + (to_m - change.from_m) * shares((s_m - change.from_s_m) / change.length_m)
        back_m = max(_BACK_S * speed_mps, _BACK_MIN_M)
        return np.asarray(out_m * (1.0 - shares((s_m - change.until_s_m) / back_m)))

    def behind(self, ways: Sequence[OnRoad], ego: EgoOnRoad) -> frozenset[int]:
        """The track ids of those that drive behind the ego's front: they look out for it."""
        front_s_m = ego.s_m + self._body.front_m
        return frozenset(way.one.item.track_id for way in ways if way.is_moving and float(way.s_m[0]) < front_s_m)

    def _go_on(
        self, now: Change, ways: Sequence[OnRoad], blockers: Sequence[OnRoad], ego: EgoOnRoad, top_mps: float
    ) -> Change | None:
        until_s_m = min(max(now.until_s_m, self._end_of(blockers)), self._lane_end_s_m(now.side, ego) - _BACK_MIN_M)
        now = replace(now, until_s_m=until_s_m)
        off_m = abs(ego.offset_m - float(self.offsets(now, np.array([ego.s_m]), ego.speed_mps)[0]))
        if ego.s_m > now.until_s_m or off_m > _OFF_PATH_M or self._stood > _STOOD_STEPS:
            return None
        front_m = ego.offset_m + self._body.front_m * math.sin(ego.turn_rad)
        if now.side * (front_m - now.from_m) > _IN_LANE_M or ego.s_m > now.from_s_m + 0.5 * now.length_m:
            return now
        case = self._case(now, blockers, ego, top_mps)
        gaps = self._gaps(self._beside(ways, ego, now.side), ego)[:_NOW_GAPS]
        is_safe = any(self._rolled(case, ego, gap, _BEGUN, 0.0, 0.0) for gap in gaps)
        self._lost = 0 if is_safe else self._lost + 1
        return None if self._lost > _LOST_STEPS and self._can_stop(blockers, ego) else now

    def _begin(
        self, ways: Sequence[OnRoad], blockers: Sequence[OnRoad], ego: EgoOnRoad, top_mps: float
    ) -> Change | None:
        self._lost = 0
        if self._stood > _STOOD_STEPS:
            return None
        demands = _between(_PATIENT, _IMPATIENT, ego.impatience)
        sides = [
            (
                self._case(self._change_to(side, blockers, ego), blockers, ego, top_mps),
                self._gaps(self._beside(ways, ego, side), ego),
            )
            for side in self._sides(blockers, ego)
        ]
        for case, gaps in sides:
            if any(self._rolled(case, ego, gap, demands, 0.0, 0.0) for gap in gaps[:_NOW_GAPS]):
                return case.change
        reserve = Demands(*map(sum, zip(demands, _RESERVE, strict=True)))
        speeds_up_mps2 = _SPEEDS_UP_MPS2 if ego.speed_mps > _SLOW_MPS else (self._accel_mps2(ego), 0.0)
        for before_mps2, start_s in product(speeds_up_mps2, _STARTS_S):
            for case, gaps in sides:
                if any(self._rolled(case, ego, gap, reserve, start_s, before_mps2) for gap in gaps):
                    self.soon_mps = float(self._speeds_mps[round(0.5 / STEP_S)])
                    return None
        return None

    def _accel_mps2(self, ego: EgoOnRoad) -> float:
        return _BRISK_MPS2 if ego.is_brisk else _ACCEL_MPS2

    def _keeps_aside_m(self, change: Change, ways: Sequence[OnRoad], ego: EgoOnRoad) -> float:
        """How far the ego keeps to the far side of the lane beside, away from what stands between the lanes."""
        body, layout = self._body, self._layout
        middle_m = float(np.interp(ego.s_m, self._route.s_m, self._middles_m[change.side]))
        edges_m = layout.left.edge_m if change.side > 0 else layout.right.edge_m
        room_m = abs(float(np.interp(ego.s_m, self._route.s_m, edges_m)) - middle_m) - 0.5 * body.width_m - _EDGE_M
        least_m = _ROOM_BESIDE_M
        for way in ways:
            is_near = ego.s_m - body.rear_m < float(way.s_m[0] + way.half_s_m[0]) < change.until_s_m + _BEYOND_M
            inside_m = change.side * (middle_m - float(way.d_m[0]))
            if is_near and inside_m > 0.0 and way.one.item.speed_mps < _STOOD_MPS:
                least_m = min(least_m, inside_m - float(way.half_d_m[0]) - 0.5 * body.width_m)
        return min(_ROOM_BESIDE_M - least_m, max(room_m, 0.0))

    def _change_to(self, side: int, blockers: Sequence[OnRoad], ego: EgoOnRoad) -> Change:
        """A lane change that begins now."""
        aside_m = side * (float(np.interp(ego.s_m, self._route.s_m, self._middles_m[side])) - ego.offset_m)
        room_m = self._room_m(blockers, ego)
        length_m = length_now(ego.speed_mps, aside_m, room_m)
        return Change(ego.s_m, ego.offset_m, length_m, side, self._end_of(blockers))

    def _room_m(self, blockers: Sequence[OnRoad], ego: EgoOnRoad) -> float:
        """The gap to the first one ahead that blocks the lane."""
        front_s_m = ego.s_m + self._body.front_m
        gaps_m = (float(way.s_m[0] - way.half_s_m[0]) - front_s_m for way in blockers)
        return min((gap_m for gap_m in gaps_m if gap_m > -1.0), default=np.inf)

    def _end_of(self, blockers: Sequence[OnRoad]) -> float:
        """Where the ego may return to its lane."""
        ends = (float((way.s_m + way.half_s_m)[:_SOON].max()) for way in blockers)
        return max(ends, default=-np.inf) + self._body.rear_m + _BEYOND_M

    def _can_stop(self, blockers: Sequence[OnRoad], ego: EgoOnRoad) -> bool:
        """Whether the ego stands, or can still stop before what blocks its lane."""
        is_standing = ego.speed_mps < _STANDS_MPS
        return is_standing or self._room_m(blockers, ego) > ego.speed_mps**2 / (2.0 * _BRAKING_MPS2) + 2.0

    def _sides(self, blockers: Sequence[OnRoad], ego: EgoOnRoad) -> list[int]:
        """The sides on which a lane in the ego's direction lies beside it until beyond what it passes.

        None where an oncoming lane lies beside, and where the route changes lanes.
        """
        if not blockers:
            return []
        rows = slice(self._route.row_at(ego.s_m), self._route.row_at(self._end_of(blockers)) + 1)
        left, right = self._layout.left.kind[rows], self._layout.right.kind[rows]
        if (left == Beside.ONCOMING).any() or (right == Beside.ONCOMING).any() or self._route.is_change[rows].any():
            return []
        return [side for side, kind in ((1, left), (-1, right)) if (kind == Beside.SAME).all()]

    def _lane_end_s_m(self, side: int, ego: EgoOnRoad) -> float:
        """Where the lane beside ends."""
        row = self._route.row_at(ego.s_m)
        kinds = (self._layout.left if side > 0 else self._layout.right).kind[row:]
        ends = np.flatnonzero(kinds != Beside.SAME)
        return float(self._route.s_m[row + ends[0]]) if len(ends) else np.inf

    def _beside(self, ways: Sequence[OnRoad], ego: EgoOnRoad, side: int) -> list[OnRoad]:
        """Those on the lane on one side, or on their way to it, near the ego."""
        found = []
        for way in ways:
            if not -_FAR_BEHIND_M < float(way.s_m[0]) - ego.s_m < _FAR_AHEAD_M or way.is_oncoming:
                continue
            middle_m = np.interp(way.s_m[:_SOON], self._route.s_m, self._middles_m[side])
            reach_m = way.half_d_m[:_SOON] + 0.5 * self._body.width_m
            if (np.abs(way.d_m[:_SOON] - middle_m) < reach_m).any():
                found.append(way)
        return found

    def _gaps(self, others: Sequence[OnRoad], ego: EgoOnRoad) -> list[tuple[Lead, Follow]]:
        """The gaps between others on a lane, from the one beside the ego on backwards: those at both ends of each."""
        middle_s_m = ego.s_m + 0.5 * (self._body.front_m - self._body.rear_m)
        ahead = [way for way in others if float(way.s_m[0]) > middle_s_m]
        behind = sorted((way for way in others if float(way.s_m[0]) <= middle_s_m), key=lambda way: -float(way.s_m[0]))
        first = min(ahead, key=lambda way: float(way.s_m[0] - way.half_s_m[0]), default=None)
        ends: list[OnRoad | None] = [first, *behind[:_GAPS], None][: _GAPS + 1]
        gaps = [(_rear(lead, ego), _front(follow, ego, self._gain_mps2(follow))) for lead, follow in pairwise(ends)]
        if behind and len(behind) < _GAPS:  # behind the last one that is seen, others may come
            gaps[-1] = gaps[-1][0], Follow(-_FAR_BEHIND_M, _speed(behind[-1]), 0.0)
        return gaps

    def _gain_mps2(self, way: OnRoad | None) -> float:
        """How fast the driver behind a gap gains speed; noise is no gain."""
        gain_mps2 = self._gains_mps2.get(way.one.item.track_id, 0.0) if way is not None else 0.0
        return min(gain_mps2, _GAIN_MAX_MPS2) if gain_mps2 > _GAIN_MIN_MPS2 else 0.0

    def _rolled(
        self,
        case: _Case,
        ego: EgoOnRoad,
        gap: tuple[Lead, Follow],
        demands: Demands,
        start_s: float,
        before_mps2: float,
    ) -> bool:
        """Whether the ego gets into a gap by a lane change that begins after `start_s`; one that has begun goes on."""
        lead, follow = gap
        attempt = Attempt(
            aside_m=case.aside_m,
            driven_m=ego.s_m - case.change.from_s_m,
            length_m=0.0 if start_s else case.change.length_m,
            start_s=start_s,
            before_mps2=before_mps2,
            accel_mps2=self._accel_mps2(ego),
            top_mps=case.top_mps,
        )
        now = EgoNow(ego.speed_mps, ego.accel_mps2, self._body.front_m, self._body.rear_m)
        blockers = case.nearer if start_s else case.blockers
        return bool(gets_in(now, attempt, lead, follow, blockers, demands, self._speeds_mps))

    def _case(self, change: Change, blockers: Sequence[OnRoad], ego: EgoOnRoad, top_mps: float) -> _Case:
        middle_m = float(np.interp(ego.s_m, self._route.s_m, self._middles_m[change.side]))
        rows = np.array(
            [
                (
                    float(way.s_m[0] - way.half_s_m[0]) - ego.s_m,
                    float(way.s_m[0] + way.half_s_m[0]) - ego.s_m,
                    _speed(way),
                    change.side * (float(way.d_m[0]) - change.from_m)
                    + float(way.half_d_m[0])
                    + 0.5 * self._body.width_m,
                )
                for way in blockers
            ]
        ).reshape(-1, 4)
        nearer = rows - np.array([_RESERVE_M, 0.0, 0.0, 0.0])
        return _Case(change, change.side * (middle_m - change.from_m), rows, nearer, top_mps)


def _speed(way: OnRoad) -> float:
    return float(way.s_m[2] - way.s_m[0]) if way.is_moving else 0.0


def _rear(way: OnRoad | None, ego: EgoOnRoad) -> Lead:
    """The one ahead of a gap, from the ego's origin."""
    if way is None:
        return NO_LEAD
    return Lead(float(way.s_m[0] - way.half_s_m[0]) - ego.s_m, _speed(way))


def _front(way: OnRoad | None, ego: EgoOnRoad, gain_mps2: float) -> Follow:
    """The one behind a gap, from the ego's origin, with its gain of speed."""
    if way is None:
        return NO_FOLLOW
    return Follow(float(way.s_m[0] + way.half_s_m[0]) - ego.s_m, _speed(way), gain_mps2)


def _between(first: Demands, second: Demands, share: float) -> Demands:
    """The demands by so much of the way from the first to the second."""
    return Demands(*(one + share * (other - one) for one, other in zip(first, second, strict=True)))
