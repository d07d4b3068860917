"""Supervises the stack: chooses how it drives by the health of its sensors, and watches the time that stages take."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from av_core.types import Behaviour, DriveState, Plan, StepResult
from perception.health.monitor import Health, Response
from planning.behaviour import Situation, decide
from planning.fallback import drive_cautiously, safe_stop, slow_down, stop_lost, stop_on_request

POSITION_SIGMA_MAX_M = 1.5
"""Standard deviation of the position above which the ego stops, because it may be in the wrong lane."""

STAGE_DEADLINE_MS: Mapping[str, float] = {
    "health": 50.0,
    "lanes": 100.0,
    "localization": 20.0,
    "detection": 500.0,
    "objects and lights": 100.0,
    "prediction": 50.0,
    "planning": 200.0,
    "control": 10.0,
    "lights": 20.0,
}
"""Wall time that each stage may take in one step, ms. The values are chosen: several times the means of one drive."""

LOOK_EVERY_S = 0.5
"""Time between two looks at the running stage."""

STALL_LOOKS = 20
"""Number of looks, `LOOK_EVERY_S` apart, at one running stage after which it counts as stalled: 10 s."""

FIRST_STALL_LOOKS = 240
"""As `STALL_LOOKS`, for the first stages of a drive, in which kernels are compiled and networks warmed up."""


def choose_state(
    front: Health, others: Mapping[str, Health] | None = None, position_sigma_m: float = 0.0
) -> tuple[DriveState, str]:
    """(state, reason) by the health of the front camera, of the `others` by name, and by the position's uncertainty.

    A front camera that cannot be trusted slows the ego down, and stops it if that lasts. A fault of another sensor
    makes it cautious.
    """
    if front.response is Response.STOP:
        return DriveState.STOP, str(front)
    if position_sigma_m > POSITION_SIGMA_MAX_M:
        return DriveState.STOP, POSITION_UNCERTAIN
    if front.response is Response.SLOW:
        return DriveState.SLOW, str(front)
    unwell = {name: one for name, one in (others or {}).items() if one.response is not Response.DRIVE}
    if unwell:
        return DriveState.CAUTIOUS, "; ".join(f"{name} {one}" for name, one in unwell.items())
    return DriveState.NORMAL, ""


POSITION_UNCERTAIN = "position uncertain"
"""Reason of a stop because of the position's uncertainty."""

STOP_REQUESTED = "stop requested"
"""Reason of a stop that a person asked for."""


def restrict(plan: Plan, state: DriveState, reason: str, speed_mps: float) -> Plan:
    """The plan as the state allows it, from the measured speed on."""
    if state is DriveState.NORMAL:
        return plan
    if state is DriveState.STOP:
        stop = {POSITION_UNCERTAIN: stop_lost, STOP_REQUESTED: stop_on_request}.get(reason, safe_stop)
        now = Behaviour.FOLLOW_LANE if plan.decision is None else plan.decision.behaviour
        return replace(stop(plan, speed_mps, reason), decision=decide(now, Situation(fault=reason)))
    return {DriveState.CAUTIOUS: drive_cautiously, DriveState.SLOW: slow_down}[state](plan, speed_mps, reason)


def late_stages(stage_ms: Mapping[str, float]) -> dict[str, float]:
    """The stages that took longer than their deadline, with their time in ms."""
    return {name: ms for name, ms in stage_ms.items() if ms > STAGE_DEADLINE_MS.get(name, math.inf)}


@dataclass(slots=True)
class SupervisionLog:
    """Collects the changes of the state and the late stages of a drive; call `update` with every step's result."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    _late: dict[str, list[float]] = field(default_factory=dict)

    def update(self, step: StepResult) -> None:
        now = {"state": step.state.value, "reason": step.reason}
        if not self.changes or {key: self.changes[-1][key] for key in now} != now:
            self.changes.append({"time_s": round(step.stamp.time_s, 3), **now})
        for name, ms in late_stages(step.stage_ms).items():
            self._late.setdefault(name, []).append(ms)

    def figures(self) -> dict[str, Any]:
        """The states in their order, and for each late stage the number of late steps and its longest time."""
        late = {name: {"steps": len(ms), "longest_ms": round(max(ms), 1)} for name, ms in self._late.items()}
        return {"states": list(self.changes), "late_stages": late}


class StallWatchdog:
    """Calls `on_stall` once, from its own thread, with the name of a stage that does not return.

    `running` tells the number of stages begun so far and the name of the one that runs, or None between two steps; the
    first `first` stages get more time. Looks are counted instead of seconds, so a process that was suspended does not
    count as stalled.
    """

    def __init__(
        self,
        running: Callable[[], tuple[int, str] | None],
        on_stall: Callable[[str], None],
        first: int = len(STAGE_DEADLINE_MS),
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._running, self._on_stall = running, on_stall
        self._first, self._look_every_s = first, look_every_s
        self._ended = threading.Event()
        self._telling = threading.Lock()
        threading.Thread(target=self._watch, name="stall watchdog", daemon=True).start()

    def close(self) -> None:
        """End the watch. Waits for a running `on_stall`, which may end the process."""
        self._ended.set()
        with self._telling:
            pass

    def _watch(self) -> None:
        seen, looks = None, 0
        while not self._ended.wait(self._look_every_s):
            now = self._running()
            looks = looks + 1 if now is not None and now == seen else 0
            seen = now
            if now is not None and looks >= (FIRST_STALL_LOOKS if now[0] <= self._first else STALL_LOOKS):
                with self._telling:
                    if not self._ended.is_set():
                        self._on_stall(now[1])
                return
