"""The protocol of an agent, which drives the ego, and the result of one of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from av_core.types import ControlCommand, SensorFrame, StepResult


@dataclass(frozen=True, slots=True)
class AgentStep:
    """The decision of an agent in one step.

    * `command`: the command to the ego; None if the simulator itself drives the ego.
    * `observed`: in this case, the command that the simulator gives the ego; None if it is not known.
    * `result`: the result of the stack's pipeline; None for every other agent.
    """

    command: ControlCommand | None
    result: StepResult | None = None
    observed: ControlCommand | None = None

    @property
    def applied(self) -> ControlCommand | None:
        """The command that the ego obeys, for recordings; None where it is not known."""
        return self.command if self.command is not None else self.observed


class Agent(Protocol):
    """Drives the ego: call `step` with every sensor frame in order, and `close` once at the end, also after an error.

    A step raises AgentError where the agent fails.
    """

    def step(self, frame: SensorFrame) -> AgentStep:
        """Decide on one tick."""
        ...

    def close(self) -> None:
        """Release what the agent holds. Safe to call twice."""
        ...
