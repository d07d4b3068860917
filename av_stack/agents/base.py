"""The protocol of an agent, which drives the ego, and the result of one of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from av_core.types import ControlCommand, SensorFrame, StepResult


@dataclass(frozen=True, slots=True)
class AgentStep:
    """What an agent decided in one step.

    Without `command` the simulator itself drives the ego; `observed` is then the command that the simulator gives it,
    where that is known. `result` is the stack's, and None for every other agent.
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
