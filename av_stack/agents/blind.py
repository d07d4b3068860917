"""Two agents that look at nothing: scenarios that they pass test nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from av_core.types import ControlCommand, SensorFrame
from av_stack.agents.base import Agent, AgentStep

STRAIGHT_MPS = 30.0 / 3.6
"""Speed of the agent that drives straight on."""

CRUISE_THROTTLE = 0.25
"""Throttle that about holds `STRAIGHT_MPS` on a level road."""

THROTTLE_PER_MPS = 0.25
"""Change of the throttle for each m/s that the speed is off."""


class IdleAgent:
    """Stands on the brake."""

    def step(self, frame: SensorFrame) -> AgentStep:
        return AgentStep(ControlCommand(throttle=0.0, brake=1.0, steer=0.0))

    def close(self) -> None:
        """Nothing to release."""


class StraightAgent:
    """Drives straight on at `STRAIGHT_MPS`, whatever comes."""

    def step(self, frame: SensorFrame) -> AgentStep:
        pedal = CRUISE_THROTTLE + THROTTLE_PER_MPS * (STRAIGHT_MPS - frame.wheel_speed_mps)
        return AgentStep(ControlCommand(throttle=min(max(pedal, 0.0), 1.0), brake=0.0, steer=0.0))

    def close(self) -> None:
        """Nothing to release."""


BLIND: Mapping[str, Callable[[], Agent]] = {"idle": IdleAgent, "straight": StraightAgent}
"""How each of them is made, by its name."""
