"""The state that each fault must lead to at its default strength, and the time within which it must be reached.

Tests and `benchmarks.faults` hold the stack to this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from av_core.types import DriveState
from av_stack.faults.fault import (
    CAMERA_BLACK,
    CAMERA_DELAY,
    CAMERA_DROP,
    CAMERA_FREEZE,
    CAMERA_NOISE,
    CAMERA_OCCLUSION,
    CONTROL_DELAY,
    GNSS_DROP,
    GNSS_JUMP,
    GNSS_NOISE,
    IMU_BIAS,
    RADAR_OFF,
    SERVER_FREEZE,
    SERVER_KILL,
    FaultKind,
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected reaction to a fault: `state` within `within_s` after the fault's begin.

    `reason` must be a part of the recorded reason. If `state` is None, the drive must end with `reason` in its error,
    and `within_s` is wall time.
    """

    state: DriveState | None
    reason: str
    within_s: float

    @property
    def label(self) -> str:
        """The state in words, for tables."""
        return "ends with one line" if self.state is None else self.state.value


EXPECTED: Mapping[FaultKind, Expected] = {
    CAMERA_FREEZE: Expected(DriveState.STOP, "frozen", 1.3),
    CAMERA_DROP: Expected(DriveState.STOP, "missing", 1.3),
    CAMERA_BLACK: Expected(DriveState.STOP, "black", 1.3),
    CAMERA_NOISE: Expected(DriveState.STOP, "noisy", 1.3),
    CAMERA_DELAY: Expected(DriveState.STOP, "late", 1.3),
    CAMERA_OCCLUSION: Expected(DriveState.STOP, "covered", 2.5),
    GNSS_DROP: Expected(DriveState.CAUTIOUS, "gnss missing", 0.3),
    GNSS_NOISE: Expected(DriveState.CAUTIOUS, "gnss", 0.5),
    GNSS_JUMP: Expected(DriveState.CAUTIOUS, "gnss implausible", 0.3),
    IMU_BIAS: Expected(DriveState.NORMAL, "", 0.0),
    RADAR_OFF: Expected(DriveState.CAUTIOUS, "radar", 0.3),
    CONTROL_DELAY: Expected(DriveState.NORMAL, "", 0.0),
    SERVER_KILL: Expected(None, "went away", 5.0),
    SERVER_FREEZE: Expected(None, "went away", 5.0),
}


def reached_s(expected: Expected, states: list[dict[str, object]], from_s: float) -> float | None:
    """Seconds from the fault's begin at `from_s` to the expected state; None where it was not reached.

    `states` are those of a result's `supervision`. A normal state has to last from the fault's begin to the end.
    """
    if expected.state is DriveState.NORMAL:
        later = [one for one in states if float(str(one["time_s"])) >= from_s]
        return None if any(one["state"] != DriveState.NORMAL.value for one in later) else 0.0
    wanted = expected.state.value if expected.state is not None else ""
    for one in states:
        after_s = float(str(one["time_s"])) - from_s
        if after_s >= 0.0 and one["state"] == wanted and expected.reason in str(one["reason"]):
            return round(after_s, 3)
    return None
