"""The agent that this project is about: the stack's pipeline."""

from __future__ import annotations

from av_core.errors import AgentError, AvStackError
from av_core.types import SensorFrame
from av_stack.agents.base import AgentStep
from av_stack.agents.guard import told
from av_stack.agents.names import STACK
from av_stack.pipeline import Pipeline


class StackAgent:
    """Drives with `pipeline`, whose planner has the route."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def step(self, frame: SensorFrame) -> AgentStep:
        """Decide on one tick. Whatever a stage raises is an AgentError that names the stage, and where it arose."""
        try:
            result = self._pipeline.step(frame)
        except AvStackError:
            raise
        except Exception as error:
            stage = self._pipeline.running
            place = f"stage {stage[1]}" if stage is not None else "a step"
            raise AgentError(f"agent {STACK}: {place} raised {told(error)}") from error
        return AgentStep(result.command, result)

    def running_stage(self) -> tuple[int, str] | None:
        """The stage that runs, as `Pipeline.running`."""
        return self._pipeline.running

    def stop(self) -> None:
        """Brake to a stop in the lane, and stand there."""
        self._pipeline.request_stop()

    def close(self) -> None:
        """Nothing to release."""
