"""The agent that this project is about: the stack's pipeline."""

from __future__ import annotations

from av_core.types import SensorFrame
from av_stack.agents.base import AgentStep
from av_stack.pipeline import Pipeline


class StackAgent:
    """Drives with `pipeline`, whose planner has the route."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def step(self, frame: SensorFrame) -> AgentStep:
        result = self._pipeline.step(frame)
        return AgentStep(result.command, result)

    def close(self) -> None:
        """Nothing to release."""
