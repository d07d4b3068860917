"""Gap acceptance: whether the ego may come onto a lane ahead of a road user that drives along it."""

from __future__ import annotations

STANDSTILL_M, HEADWAY_S = 2.0, 0.8
"""The gap to whoever drives behind the ego: a distance, and a time at the ego's speed."""

MATCHING_MPS2 = 2.5
"""Deceleration at which the two speeds come together: the ego gains speed, and the other one slows down gently."""

HYSTERESIS = 1.3
"""An ego that already waits needs a gap that is larger by this factor."""


def is_gap_enough(behind_m: float, ego_mps: float, other_mps: float, is_waiting: bool) -> bool:
    """Whether a road user that is `behind_m` behind the ego's rear can slow down to the ego's speed in comfort.

    `behind_m` is negative where the two overlap.
    """
    closing_mps = max(other_mps - ego_mps, 0.0)
    needed_m = STANDSTILL_M + HEADWAY_S * ego_mps + closing_mps**2 / (2.0 * MATCHING_MPS2)
    return behind_m >= needed_m * (HYSTERESIS if is_waiting else 1.0)
