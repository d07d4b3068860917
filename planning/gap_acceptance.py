"""Gap acceptance: whether the ego may come onto a lane ahead of a road user that drives along it."""

from __future__ import annotations

STANDSTILL_M, HEADWAY_S = 2.0, 0.8
"""The gap that has to remain behind the ego: this distance, and the way that the ego drives in this time."""

MATCHING_MPS2 = 2.5
"""How fast the two speeds come together: the ego gains speed, and the other one brakes gently."""

PATIENT_S, IMPATIENT_S, IMPATIENT_MPS2 = 5.0, 20.0, 5.0
"""An ego that has stood for the first time accepts smaller gaps, in which the other one has to brake harder. They get
smaller until the second time, from which `IMPATIENT_MPS2` stands for `MATCHING_MPS2`, and half of the headway is left.
In dense traffic there are no other gaps."""

HYSTERESIS = 1.3
"""An ego that gives way already, and is patient, needs a gap that is larger by this factor."""


def is_gap_enough(behind_m: float, ego_mps: float, other_mps: float, is_waiting: bool, stood_s: float) -> bool:
    """Whether a road user that is `behind_m` behind the ego's rear can slow down to the ego's speed.

    `behind_m` is negative where the two overlap. The ego has stood for `stood_s`.
    """
    closing_mps = max(other_mps - ego_mps, 0.0)
    share = min(max((stood_s - PATIENT_S) / (IMPATIENT_S - PATIENT_S), 0.0), 1.0)
    matching_mps2 = MATCHING_MPS2 + share * (IMPATIENT_MPS2 - MATCHING_MPS2)
    needed_m = STANDSTILL_M + HEADWAY_S * ego_mps * (1.0 - 0.5 * share) + closing_mps**2 / (2.0 * matching_mps2)
    return behind_m >= needed_m * (HYSTERESIS if is_waiting and share == 0.0 else 1.0)
