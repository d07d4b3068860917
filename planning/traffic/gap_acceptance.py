"""Gap acceptance: whether the ego may come onto a lane ahead of a road user that drives along it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.types import Float

STANDSTILL_M, HEADWAY_S = 2.0, 0.8
"""The gap that has to remain behind the ego when both are equally fast: this distance, plus the ego's speed times
this headway. A fully impatient ego leaves half of the headway, and one that has started into the gap none."""

THEIR_MPS2 = 0.5
"""Assumed deceleration of the follower once it has entered the lane. It is small, because some drivers hardly
brake for the ego: those of the Leaderboard's streams never do."""

HYSTERESIS = 1.3
"""Factor by which the gap has to be larger for a patient ego that already gives way."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A road user that comes to the ego's lane: its speed, when it enters, and its front's arc length then.

    The ego is in its way from `ego_joins_s` on.
    """

    speed_mps: float
    enters_s: float
    front_s_m: float
    ego_joins_s: float

    def fronts_m(self, times_s: Float) -> Float:
        """The arc length of its front at the times (N,)."""
        braking_s = np.clip(times_s - self.enters_s, 0.0, self.speed_mps / THEIR_MPS2)
        driven_m = self.speed_mps * (np.minimum(times_s - self.enters_s, 0.0) + braking_s)
        return np.asarray(self.front_s_m + driven_m - 0.5 * THEIR_MPS2 * braking_s**2)


def is_gap_enough(
    times_s: Float, ego_rear_m: Float, follower: Follower, is_waiting: bool, is_going: bool, impatience: float
) -> bool:
    """Whether the ego reaches the speed of a follower before that follower is too near.

    The ego's rear is at `ego_rear_m` (N,) at `times_s` (N,), evenly spaced. An impatient ego that `is_going` into the
    gap needs only the standstill distance. `impatience` is from 0 to 1, as in `patience`. A gap is never enough if the
    ego joins after the last time; a follower that enters after it is ignored.
    """
    if follower.ego_joins_s > times_s[-1]:
        return False
    meet = int(np.searchsorted(times_s, max(follower.ego_joins_s, follower.enters_s)))
    if meet >= len(times_s):
        return True
    front_m, step_s = follower.fronts_m(times_s), float(times_s[1] - times_s[0])
    ego_mps, other_mps = np.gradient(ego_rear_m, step_s), np.gradient(front_m, step_s)
    equal = np.flatnonzero(other_mps[meet:] <= ego_mps[meet:])
    last = meet + int(equal[0]) if len(equal) else len(times_s) - 1
    gap_m = ego_rear_m - front_m
    factor = HYSTERESIS if is_waiting and impatience == 0.0 else 1.0
    headway_s = 0.0 if is_going and impatience > 0.0 else HEADWAY_S * (1.0 - 0.5 * impatience)
    least_m, last_m = float(gap_m[meet : last + 1].min()), float(gap_m[last])
    return least_m >= factor * STANDSTILL_M and last_m >= factor * (STANDSTILL_M + headway_s * float(ego_mps[last]))
