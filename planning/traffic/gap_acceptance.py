"""Gap acceptance: whether the ego may come onto a lane ahead of a road user that drives along it."""

from __future__ import annotations

STANDSTILL_M, HEADWAY_S = 2.0, 0.8
"""The gap that has to remain behind the ego: this distance, and the way that the ego drives in this time."""

MATCHING_MPS2 = 2.5
"""How fast the two speeds come together: the ego gains speed, and the other one brakes gently."""

IMPATIENT_MPS2 = 5.0
"""The same for an impatient ego: the other one has to brake harder. Half of the headway is left then."""

HYSTERESIS = 1.3
"""An ego that gives way already, and is patient, needs a gap that is larger by this factor."""


def is_gap_enough(behind_m: float, ego_mps: float, other_mps: float, is_waiting: bool, impatience: float) -> bool:
    """Whether a road user that is `behind_m` behind the ego's rear can slow down to the ego's speed.

    `behind_m` is negative where the two overlap. `impatience` is from 0 to 1, as in `patience`.
    """
    closing_mps = max(other_mps - ego_mps, 0.0)
    matching_mps2 = MATCHING_MPS2 + impatience * (IMPATIENT_MPS2 - MATCHING_MPS2)
    needed_m = STANDSTILL_M + HEADWAY_S * ego_mps * (1.0 - 0.5 * impatience) + closing_mps**2 / (2.0 * matching_mps2)
    return behind_m >= needed_m * (HYSTERESIS if is_waiting and impatience == 0.0 else 1.0)
