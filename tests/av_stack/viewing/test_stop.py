"""A drive that is asked to stop brakes to a stand in its lane, and ends as by Ctrl-C with its result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.recording.recorder import RESULT
from av_stack.run import Options, run
from av_stack.supervisor import STOP_REQUESTED
from av_stack.viewing.stop import STANDING_MPS, StopRequest
from av_stack.viewing.viewer import DriveStep, ViewedDrive
from av_stack.world.spec import Address
from scenarios.model import load_scenario

STEP_S = 0.05
STOP_AT_S = 4.0
"""When the stop is asked for, after the first step; the ego then drives some 7 m/s."""


class AsksToStop:
    """A viewer that asks for the stop, as the button of the dashboard does."""

    def __init__(self, request: StopRequest) -> None:
        self._request = request
        self.steps: list[DriveStep] = []
        self.ended: list[str] = []

    def begin(self, drive: ViewedDrive) -> None:
        assert drive.roads["lanes"]

    def show(self, step: DriveStep) -> None:
        self.steps.append(step)
        if step.frame.stamp.time_s >= self.steps[0].frame.stamp.time_s + STOP_AT_S:
            self._request.tell()

    def end(self, how: str) -> None:
        self.ended.append(how)

    def speeds_after(self) -> list[float]:
        """The true speeds from the step on in which the stop was asked for."""
        begin_s = self.steps[0].frame.stamp.time_s + STOP_AT_S
        return [one.truth.ego_speed_mps for one in self.steps if one.frame.stamp.time_s >= begin_s]


@pytest.mark.parametrize(("agent", "braking_mps2"), [("stack", 4.0), ("straight", 4.0), ("autopilot", 16.0)])
def test_a_stop_that_is_asked_for_ends_the_drive(
    city_server: Address, tmp_path: Path, agent: str, braking_mps2: float
) -> None:
    request = StopRequest()
    viewer = AsksToStop(request)
    options = Options(
        address=city_server, out=tmp_path, oracles=("detection", "lights") if agent == "stack" else (), agent=agent,
        record="none", viewers=(viewer,), stop=request,
    )  # fmt: skip
    outcome = run(load_scenario("town_drive"), options)
    speeds = viewer.speeds_after()
    assert speeds[0] > 3.0
    assert speeds[-1] < STANDING_MPS
    assert np.diff(speeds[::5]).min() / (5 * STEP_S) > -braking_mps2
    assert outcome.exit_status == INTERRUPTED_STATUS
    assert viewer.ended == ["interrupted"]
    assert json.loads((tmp_path / RESULT).read_text())["error"] == "interrupted"
    if agent == "stack":
        last = viewer.steps[-1].step.result
        assert last is not None
        assert (last.state.value, last.reason) == ("safe stop", STOP_REQUESTED)
        assert last.command.lights.hazard
        assert abs(viewer.steps[-1].progress.lateral_error_m or 0.0) < 0.5
