"""Ends a drive when a person who watches it asks for it; the ego brakes to a stop first."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Protocol, runtime_checkable

from av_core.types import SensorFrame, Truth
from av_stack.agents.base import Agent, AgentStep
from scenarios.judging.judge import Judge

STANDING_MPS = 0.1
"""Below this speed the ego counts as standing."""

STOP_WITHIN_S = 15.0
"""Time after which the drive ends even if the ego does not stand."""

BRAKE = 0.15
"""Brake pedal for the stop of an agent that cannot stop by itself: about 3 m/s2 in CARLA's cars."""


class StopRequest:
    """A request to stop a drive; any thread may make it."""

    def __init__(self) -> None:
        self._told = threading.Event()

    def tell(self) -> None:
        """Ask the drive to stop. Asking again does nothing."""
        self._told.set()

    @property
    def is_told(self) -> bool:
        return self._told.is_set()


@runtime_checkable
class Stoppable(Protocol):
    """An agent that can brake to a stop by itself."""

    def stop(self) -> None:
        """Brake to a stop in the lane, and stand there."""
        ...


class StoppingAgent:
    """Drives as `agent`, and brings the ego to a stop once the stop is requested.

    An agent that cannot stop by itself continues to steer, while the brake replaces its pedals.
    """

    def __init__(self, agent: Agent, request: StopRequest) -> None:
        self._agent, self._request = agent, request
        self._has_asked = False
        self._until_s: float | None = None

    def step(self, frame: SensorFrame) -> AgentStep:
        if not self._request.is_told:
            return self._agent.step(frame)
        if isinstance(self._agent, Stoppable):
            if not self._has_asked:
                self._agent.stop()
                self._has_asked = True
            return self._agent.step(frame)
        return _braking(self._agent.step(frame))

    def end_when_stopped(self, frame: SensorFrame, _step: AgentStep, truth: Truth, _judge: Judge) -> None:
        """Raise KeyboardInterrupt, as Ctrl-C does, once the ego stands or `STOP_WITHIN_S` is over; call every step."""
        if not self._request.is_told:
            return
        now_s = frame.stamp.time_s
        if self._until_s is None:
            self._until_s = now_s + STOP_WITHIN_S
        if abs(truth.ego_speed_mps) < STANDING_MPS or now_s >= self._until_s:
            raise KeyboardInterrupt

    def close(self) -> None:
        self._agent.close()


def _braking(step: AgentStep) -> AgentStep:
    if step.command is None:
        return step
    lights = replace(step.command.lights, brake=True, hazard=True)
    braking = replace(step.command, throttle=0.0, brake=max(step.command.brake, BRAKE), lights=lights)
    return replace(step, command=braking)
