"""The supervisor: what it collects of a drive, and how it notices a stage that fails, is late, or does not return."""

from __future__ import annotations

import threading
from typing import cast

import numpy as np
import pytest

from av_core.errors import AgentError, ConfigError
from av_core.types import ControlCommand, DriveState, Plan, Prediction, Scene, SensorFrame, Stamp, StepResult
from av_stack.agents.stack import StackAgent
from av_stack.ending import AGENT_ERROR, Ending, Server
from av_stack.pipeline import Pipeline
from av_stack.results.drive_log import Outcome
from av_stack.supervisor import FIRST_STALL_LOOKS, STALL_LOOKS, StallWatchdog, SupervisionLog, late_stages
from av_stack.world.spec import Address

FRAME = cast(SensorFrame, None)


def step(number: int, state: DriveState, reason: str = "", lanes_ms: float = 1.0) -> StepResult:
    stamp = Stamp(number, number * 0.05)
    nothing = Prediction(stamp, np.zeros(1), ())
    scene, plan = cast(Scene, None), cast(Plan, None)
    return StepResult(stamp, scene, nothing, plan, ControlCommand(0.0, 0.0, 0.0), {"lanes": lanes_ms}, state, reason)


def test_a_drive_tells_each_change_of_state_and_each_late_stage() -> None:
    log = SupervisionLog()
    log.update(step(0, DriveState.NORMAL))
    log.update(step(1, DriveState.NORMAL, lanes_ms=250.0))
    log.update(step(2, DriveState.SLOW, "black"))
    log.update(step(3, DriveState.SLOW, "black", lanes_ms=300.0))
    log.update(step(4, DriveState.STOP, "black"))
    assert log.figures() == {
        "states": [
            {"time_s": 0.0, "state": "normal", "reason": ""},
            {"time_s": 0.1, "state": "slow", "reason": "black"},
            {"time_s": 0.2, "state": "safe stop", "reason": "black"},
        ],
        "late_stages": {"lanes": {"steps": 2, "longest_ms": 300.0}},
    }
    assert late_stages({"lanes": 1.0, "of another program": 1e6}) == {}


class FailingPipeline:
    """Fails in its stage of planning."""

    running = 7, "planning"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def step(self, _: SensorFrame) -> StepResult:
        raise self.error


def test_what_a_stage_raises_is_one_line_that_names_the_stage() -> None:
    agent = StackAgent(cast(Pipeline, FailingPipeline(ValueError("no such lane\nat all"))))
    with pytest.raises(
        AgentError, match=r"^agent stack: stage planning raised ValueError: no such lane at .*\.py:\d+$"
    ):
        agent.step(FRAME)
    with pytest.raises(ConfigError):
        StackAgent(cast(Pipeline, FailingPipeline(ConfigError("an error for people")))).step(FRAME)


def told_of(running: list[tuple[int, str] | None]) -> tuple[list[str], int]:
    """(the stages told as stalled, looks taken) when each look sees the next of `running`."""
    told, ended = list[str](), threading.Event()
    left = iter(running)
    looks = [0]

    def look() -> tuple[int, str] | None:
        try:
            now = next(left)
        except StopIteration:
            ended.set()
            return None
        looks[0] += 1
        return now

    def tell(stage: str) -> None:
        told.append(stage)
        ended.set()

    watchdog = StallWatchdog(look, tell, first=9, look_every_s=0.0005)
    assert ended.wait(10.0)
    watchdog.close()
    return told, looks[0]


def test_a_stage_that_does_not_return_is_told_once() -> None:
    assert told_of([(20, "detection")] * 100) == (["detection"], STALL_LOOKS + 1)


def test_the_first_step_has_more_time() -> None:
    assert told_of([(4, "detection")] * 500) == (["detection"], FIRST_STALL_LOOKS + 1)


def test_stages_that_return_are_no_stall() -> None:
    """Also not the same stage in step after step."""
    running = [one for number in range(20, 29) for one in [(number, "planning")] * (STALL_LOOKS - 1)]
    assert told_of([*running, *[None] * 100]) == ([], len(running) + 100)


def test_a_stall_ends_the_drive_with_a_result_and_one_line() -> None:
    finished, abandoned = list[tuple[str, str | None, int]](), list[tuple[str, int]]()

    def finish(end: str, error: str | None, status: int) -> Outcome:
        finished.append((end, error, status))
        return Outcome({}, status)

    ending = Ending(Server(Address("127.0.0.1", 2000)))
    ending.begin(finish)
    ending.lose_stage(lambda message, status: abandoned.append((message, status)), "detection")
    message = "agent stack: stage detection does not return"
    assert finished == [(AGENT_ERROR, message, AgentError.exit_status)]
    assert abandoned == [(message, AgentError.exit_status)]
