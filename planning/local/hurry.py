"""Recognises vehicles in a hurry behind the ego, such as emergency vehicles, by their motion alone.

Pure functions: they take the road users behind the ego and a memory, and return the new memory. `making_room` decides
what the ego does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from av_core.types import ObjectKind, Prediction
from planning.reference_path import Route

_IN_LANE_M = 1.8
"""Largest offset from the ego's path of a vehicle in its lane: half a lane."""

_OVER_LIMIT_MPS, _CLOSING_MPS = 6.0, 7.0
"""Least speed of a vehicle in a hurry above the speed limit, and above the ego's speed. Normal traffic exceeds the
limit by a fifth at most: in towns this is less than the first, and on motorways such traffic closes in slowly. A
radar's speed is right to 0.5 m/s."""

_COMES_S = 6.0
"""Largest time until such a vehicle reaches the ego: the time for a lane change, and 2 s."""

_SURE_S = 0.3
"""Time after which the vehicle is confirmed. A radar's ghost is not so steady in position and speed."""

_PRESSING_M, _STILL_CLOSING_MPS, _STANDING_MPS = 30.0, 1.0, 0.5
"""A confirmed vehicle stays in a hurry while it drives within this distance behind the ego, or is this much faster than
the ego: it may have to brake. One that is slower than the last stands."""

_PASSED_M = 6.0
"""The vehicle has passed when its centre is this far ahead of the ego's origin."""

_UNSEEN_S, _CALM_S, _LONGEST_S = 2.0, 4.0, 30.0
"""The ego forgets the vehicle when it was not seen for the first time, stood or was neither fast nor near for the
second, or is still behind the ego after the third."""

_SAME_M, _SAME_MPS, _SAME_SHARE = 8.0, 15.0, 0.03
"""A new track within this distance of the expected position of a lost track is the same vehicle; the distance grows at
this speed while the vehicle is not seen, since it may brake hard, or set off again. Across the road the limit is half a
lane and this share of the vehicle's distance, since a radar's lateral error grows with the distance.
"""

_OTHER_M = 4.0
"""Distance along the road from which on two tracks seen at the same time are two vehicles; across it, half a lane. A
new track of the same vehicle may appear before the old one ends."""

_BEHIND_M = 130.0
"""Distance behind the ego up to which vehicles are considered: farther than the radars see."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A road user near the ego's lane: its middle is `ahead_m` ahead of the ego's origin along the route, negative
    behind it, and `aside_m` to the left of the ego's path; `speed_mps` is along the route."""

    track_id: int
    ahead_m: float
    aside_m: float
    speed_mps: float


@dataclass(frozen=True, slots=True)
class _Hurried:
    """A vehicle that has been fast since `since_s`; it was last seen at `seen_s`, and last fast or near at
    `pressed_s`. The tracks `seen_with` were seen elsewhere at the same time, so they are other vehicles."""

    last: Follower
    since_s: float
    seen_s: float
    pressed_s: float
    seen_with: frozenset[int]
    is_sure: bool = False


@dataclass(frozen=True, slots=True)
class HurryMemory:
    """What is remembered of the vehicles in a hurry, by track id."""

    known: Mapping[int, _Hurried] = field(default_factory=dict)

    @property
    def in_hurry(self) -> tuple[Follower, ...]:
        """The vehicles that the ego makes room for, as they were last seen."""
        return tuple(one.last for one in self.known.values() if one.is_sure)


def followers(route: Route, s_m: float, offset_m: float, prediction: Prediction) -> list[Follower]:
    """The vehicles within reach of the radars behind the ego, or beside it; the ego is at `s_m` and `offset_m`."""
    curve = route.curve.part(route.curve.rows_between(s_m - _BEHIND_M, s_m + 20.0))
    found = []
    for one in prediction.objects:
        item = one.item
        if item.kind in (ObjectKind.PEDESTRIAN, ObjectKind.BICYCLE):
            continue
        at = curve.project(item.x_m, item.y_m, follow_bend=False)
        ahead_m = float(at.s_m) - s_m
        if -_BEHIND_M < ahead_m < 2.0 * _PASSED_M:
            along = item.velocity_mps[0] * math.cos(at.yaw_rad) + item.velocity_mps[1] * math.sin(at.yaw_rad)
            found.append(Follower(item.track_id, ahead_m, float(at.d_m) - offset_m, float(along)))
    return found


def update_hurry(
    memory: HurryMemory, seen: Sequence[Follower], ego_mps: float, limit_mps: float, time_s: float
) -> HurryMemory:
    """The new memory, of a step in which the ego drives at `ego_mps` where `limit_mps` is the limit."""
    by_id = {one.track_id: one for one in seen}
    known: dict[int, _Hurried] = {}
    for number, before in memory.known.items():
        others = [one for one in seen if one.track_id not in memory.known]
        now = by_id.get(number) or _found_again(before, others, ego_mps, time_s)
        after = _followed(before, now, seen, ego_mps, limit_mps, time_s)
        if after is not None:
            known[after.last.track_id] = after
    for one in seen:
        if one.track_id not in known and abs(one.aside_m) < _IN_LANE_M and _comes_fast(one, ego_mps, limit_mps):
            known[one.track_id] = _Hurried(one, time_s, time_s, time_s, _others(one, seen))
    return HurryMemory(known)


def _followed(
    before: _Hurried, now: Follower | None, seen: Sequence[Follower], ego_mps: float, limit_mps: float, time_s: float
) -> _Hurried | None:
    """What is known of a vehicle that was in a hurry; None if it is not any more. `seen` are all that are seen now."""
    if now is None:
        return before if time_s - before.seen_s < _UNSEEN_S and before.is_sure else None
    is_fast = _comes_fast(now, ego_mps, limit_mps)
    if not before.is_sure and not is_fast:
        return None
    is_near = now.ahead_m > -_PRESSING_M and now.speed_mps > _STANDING_MPS
    presses = is_fast or (before.is_sure and (is_near or now.speed_mps > ego_mps + _STILL_CLOSING_MPS))
    after = replace(
        before,
        last=now,
        seen_s=time_s,
        pressed_s=time_s if presses else before.pressed_s,
        seen_with=_others(now, seen),
        is_sure=before.is_sure or time_s - before.since_s >= _SURE_S,
    )
    is_over = now.ahead_m > _PASSED_M or time_s - after.pressed_s > _CALM_S or time_s - after.since_s > _LONGEST_S
    return None if is_over else after


def _others(one: Follower, seen: Sequence[Follower]) -> frozenset[int]:
    """The track ids of those that are not at the place of one vehicle."""
    return frozenset(
        other.track_id
        for other in seen
        if abs(other.ahead_m - one.ahead_m) > _OTHER_M or abs(other.aside_m - one.aside_m) > _IN_LANE_M
    )


def _comes_fast(one: Follower, ego_mps: float, limit_mps: float) -> bool:
    """Whether a vehicle is behind the ego, much too fast, and soon there."""
    closing_mps = one.speed_mps - ego_mps
    is_fast = closing_mps > _CLOSING_MPS and one.speed_mps > limit_mps + _OVER_LIMIT_MPS
    return is_fast and 0.0 < -one.ahead_m < _COMES_S * closing_mps


def _found_again(lost: _Hurried, others: Sequence[Follower], ego_mps: float, time_s: float) -> Follower | None:
    """The vehicle under another id, near where it should be now."""
    unseen_s = time_s - lost.seen_s
    should_m = lost.last.ahead_m + (lost.last.speed_mps - ego_mps) * unseen_s
    near_m = _SAME_M + _SAME_MPS * unseen_s
    aside_m = _IN_LANE_M + _SAME_SHARE * abs(should_m)
    near = [
        one
        for one in others
        if one.track_id not in lost.seen_with
        and abs(one.ahead_m - should_m) < near_m
        and abs(one.aside_m - lost.last.aside_m) < aside_m
    ]
    return min(near, key=lambda one: abs(one.ahead_m - should_m), default=None)
