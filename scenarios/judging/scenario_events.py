"""Reports of the scenario engine to the judge: scenarios that begin and end, time-outs, and emergency vehicles."""

from __future__ import annotations

from dataclasses import dataclass

from av_core.frames import map_to_vehicle
from av_core.types import Pose2D
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.score import Infractions
from scenarios.judging.tick import Tick, logged


@dataclass(slots=True)
class _Running:
    """A scenario that runs. `is_blocking`: the emergency vehicle was behind the ego when last seen."""

    waits: bool
    allows_oncoming_lane: bool
    emergency_id: int | None
    is_blocking: bool = False


class ScenarioEvents:
    """Scenarios that the ego did not finish in time, and emergency vehicles that it did not let pass.

    The scenario engine calls `begin` and `end`; the judge passes the ticks between them.
    """

    def __init__(self) -> None:
        self.descriptions: list[str] = []
        self._running: dict[str, _Running] = {}
        self._timeouts = self._failed_yields = 0
        self._log: list[LoggedInfraction] = []
        self._last: Tick | None = None

    def begin(
        self, name: str, *, waits: bool = False, allows_oncoming_lane: bool = False, emergency_id: int | None = None
    ) -> None:
        """Report that a scenario begins. Raises ValueError if a scenario of this name runs already.

        * `waits`: the scenario has a time-out of its own, so the ego may stand still in it.
        * `allows_oncoming_lane`: the ego may use the oncoming lane.
        * `emergency_id`: track id of a vehicle that must be ahead of the ego at the end.
        """
        if name in self._running:
            raise ValueError(f"scenario {name!r} runs already")
        self._running[name] = _Running(waits, allows_oncoming_lane, emergency_id)

    def watch(self, name: str, emergency_id: int) -> None:
        """Report the track id of a scenario's emergency vehicle, once it is spawned.

        Raises ValueError if the scenario `name` does not run.
        """
        if name not in self._running:
            raise ValueError(f"scenario {name!r} does not run")
        self._running[name].emergency_id = emergency_id

    def end(self, name: str, is_timed_out: bool = False) -> None:
        """Report that a scenario ends, in time or not. Raises ValueError if `name` does not run."""
        if name not in self._running:
            raise ValueError(f"scenario {name!r} does not run")
        ended = self._running.pop(name)
        if is_timed_out:
            self._timeouts += 1
            self.descriptions.append(f"{name}: not finished in time")
            self._log.append(logged(InfractionKind.SCENARIO_TIMEOUT, self._last, f"did not finish {name} in time"))
        if ended.is_blocking:
            self._failed_yields += 1
            self.descriptions.append(f"{name}: emergency vehicle {ended.emergency_id} still behind")
            self._log.append(self._failed_yield(name, ended))

    @property
    def may_stand(self) -> bool:
        """Whether a scenario runs in which the ego may stand still."""
        return any(running.waits for running in self._running.values())

    @property
    def is_oncoming_lane_allowed(self) -> bool:
        return any(running.allows_oncoming_lane for running in self._running.values())

    def update(self, tick: Tick) -> None:
        self._last = tick
        ego = (tick.centre.x_m, tick.centre.y_m)
        for running in self._running.values():
            for vehicle in tick.truth.objects:
                if vehicle.track_id == running.emergency_id:
                    ahead, _ = map_to_vehicle(ego, Pose2D(vehicle.x_m, vehicle.y_m, vehicle.yaw_rad))
                    running.is_blocking = bool(ahead > 0.0)

    @property
    def infractions(self) -> Infractions:
        """The infractions of the scenarios that have ended, and the emergency vehicles that the ego holds up now."""
        blocking = sum(running.is_blocking for running in self._running.values())
        return Infractions(scenario_timeouts=self._timeouts, failed_yields=self._failed_yields + blocking)

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        blocking = [self._failed_yield(name, each) for name, each in self._running.items() if each.is_blocking]
        return (*self._log, *blocking)

    def _failed_yield(self, name: str, running: _Running) -> LoggedInfraction:
        what = f"did not let the emergency vehicle {running.emergency_id} of {name} pass"
        return logged(InfractionKind.FAILED_YIELD, self._last, what)
