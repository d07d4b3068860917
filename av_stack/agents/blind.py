"""Two agents that use no sensors, as a check of the scenarios: a scenario that they pass tests nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from av_core.types import ControlCommand, SensorFrame
from av_stack.agents.base import Agent, AgentStep

STRAIGHT_MPS = 30.0 / 3.6
"""Speed of the agent that drives straight on."""

CRUISE_THROTTLE = 0.25
"""Throttle that roughly keeps `STRAIGHT_MPS` on a level road."""

THROTTLE_PER_MPS = 0.25
"""Change of the throttle per m/s of speed error."""


class IdleAgent:
    """Stands still with full brake."""

    def step(self, frame: SensorFrame) -> AgentStep:
        return AgentStep(ControlCommand(throttle=0.0, brake=1.0, steer=0.0))

    def close(self) -> None:
        """Nothing to release."""


class StraightAgent:
    """Drives straight on at `STRAIGHT_MPS`, and reacts to nothing."""

    def step(self, frame: SensorFrame) -> AgentStep:
        pedal = CRUISE_THROTTLE + THROTTLE_PER_MPS * (STRAIGHT_MPS - frame.wheel_speed_mps)
        return AgentStep(ControlCommand(throttle=min(max(pedal, 0.0), 1.0), brake=0.0, steer=0.0))

    def close(self) -> None:
        """Nothing to release."""


BLIND: Mapping[str, Callable[[], Agent]] = {"idle": IdleAgent, "straight": StraightAgent}
"""The constructors of these agents, by name."""
