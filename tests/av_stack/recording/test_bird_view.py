"""The view from above shows things where they are: what is believed filled, what is there as an outline."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from av_core.types import (
    Behaviour,
    Cause,
    CauseKind,
    ControlCommand,
    Decision,
    EgoState,
    Image,
    LaneEstimate,
    ObjectKind,
    Plan,
    Pose2D,
    PredictedMode,
    PredictedObject,
    Prediction,
    Scene,
    Stamp,
    StepResult,
    TrackedObject,
    Trajectory,
    Truth,
)
from av_stack.agents.base import AgentStep
from av_stack.recording.bird_view import (
    AHEAD_M,
    ALTERNATIVE_BGR,
    BEHIND_M,
    CAPTION_PX,
    PAPER_BGR,
    ROAD_BGR,
    TRUE_BGR,
    BirdView,
)
from av_stack.recording.ground_view import GroundView
from av_stack.recording.overlay import OBJECT_BGR, PLAN_BGR, speed_text

HEIGHT_PX = 400
PX_PER_M = HEIGHT_PX / (AHEAD_M + BEHIND_M)
EAST_TO_WEST: Any = [(False, [[-200.0, 1.75], [200.0, 1.75]], [[-200.0, -1.75], [200.0, -1.75]])]


def truth(ego: Pose2D, *things: TrackedObject) -> Truth:
    return Truth(Stamp(0, 0.0), ego, 0.0, 5.0, things, {}, ())


def car(x_m: float, y_m: float, yaw_rad: float = 0.0) -> TrackedObject:
    return TrackedObject(7, ObjectKind.CAR, x_m, y_m, yaw_rad, (0.0, 0.0), 4.0, 2.0, 1.5)


def is_near(picture: Image, pixel: tuple[float, float], bgr: tuple[int, int, int]) -> bool:
    u, v = round(pixel[0]), round(pixel[1])
    return bool(np.abs(picture[v - 1 : v + 2, u - 1 : u + 2].astype(int) - bgr).sum(axis=2).min() < 60)


PLACES = st.floats(-300.0, 300.0)


@given(PLACES, PLACES, st.floats(-4.0, 4.0), st.floats(-30.0, 30.0), st.floats(-20.0, 20.0), st.booleans())
def test_ahead_and_left_of_the_ego(
    x_m: float, y_m: float, yaw_rad: float, ahead_m: float, left_m: float, is_up: bool
) -> None:
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    point = (x_m + ahead_m * cos - left_m * sin, y_m + ahead_m * sin + left_m * cos)
    [[found]] = GroundView(np.array([x_m, y_m, yaw_rad]), (100.0, 200.0), 5.0, is_up).pixels([point])
    wanted = (100 - 5 * left_m, 200 - 5 * ahead_m) if is_up else (100 + 5 * ahead_m, 200 - 5 * left_m)
    assert found == pytest.approx(wanted, abs=0.51)


@pytest.mark.parametrize("yaw_rad", [0.0, math.pi])
def test_roads_and_what_is_there(yaw_rad: float) -> None:
    panel = BirdView(EAST_TO_WEST, HEIGHT_PX)
    sign = math.cos(yaw_rad)
    alone = panel.draw(AgentStep(None), truth(Pose2D(0.0, 0.0, yaw_rad)))
    assert alone.shape == (HEIGHT_PX, panel.width_px, 3)
    middle_px, bumper_v = panel.width_px / 2, (AHEAD_M - 20.0 + 2.0) * PX_PER_M
    assert is_near(alone, (middle_px, 10.0), ROAD_BGR)
    assert is_near(alone, (middle_px - 10.0 * PX_PER_M, 10.0), PAPER_BGR)
    there = panel.draw(AgentStep(None), truth(Pose2D(0.0, 0.0, yaw_rad), car(sign * 20.0, 0.0, yaw_rad)))
    assert is_near(there, (middle_px, bumper_v), TRUE_BGR)
    assert not is_near(alone, (middle_px, bumper_v), TRUE_BGR)


def test_no_lanes_and_an_ego_far_from_all_lanes() -> None:
    far = truth(Pose2D(5000.0, 5000.0, 1.0))
    lanes: Any
    for lanes in ([], EAST_TO_WEST):
        picture = BirdView(lanes, HEIGHT_PX).draw(AgentStep(None), replace(far, objects=(car(5010.0, 5000.0),)))
        assert is_near(picture, (1.0, 1.0), PAPER_BGR)


def test_the_plan_the_other_ways_and_where_a_car_may_go() -> None:
    """The ego drives east along y = 0, a car comes from the right by two ways, and another way leads past it."""
    stamp, times_s = Stamp(0, 0.0), np.arange(0.0, 5.0)
    still, x_m = np.zeros(5), 10.0 * times_s
    coming = car(30.0, -12.0, math.pi / 2)
    ways = (
        PredictedMode(np.full(5, 30.0), -12.0 + 4.0 * times_s, np.full(5, math.pi / 2)),
        PredictedMode(30.0 + 4.0 * times_s, np.full(5, -12.0), still),
    )
    plan = Plan(
        stamp,
        Trajectory.through((x_m, still, still), still, np.full(5, 10.0), still, times_s),
        None,
        alternatives=(np.array([[5.0, 0.0], [15.0, 4.0], [40.0, 4.0]]),),
    )
    scene = Scene(stamp, EgoState(stamp, 0, 0, 0, 10, 0, 0, np.eye(4)), LaneEstimate(stamp, None, None), (coming,), {})
    prediction = Prediction(stamp, times_s, (PredictedObject(coming, ways),))
    result = StepResult(stamp, scene, prediction, plan, ControlCommand(0.0, 0.0, 0.0))
    panel = BirdView(EAST_TO_WEST, HEIGHT_PX)
    picture = panel.draw(AgentStep(None, result), truth(Pose2D(0.0, 0.0, 0.0)))

    def pixel(x_m: float, y_m: float) -> tuple[float, float]:
        return panel.width_px / 2 - y_m * PX_PER_M, (AHEAD_M - x_m) * PX_PER_M

    assert is_near(picture, pixel(20.0, 0.0), PLAN_BGR)
    assert is_near(picture, pixel(25.0, 4.0), ALTERNATIVE_BGR)
    assert is_near(picture, pixel(30.0, -4.0), OBJECT_BGR), "straight on, in 2 s"
    assert is_near(picture, pixel(40.0, -12.0), OBJECT_BGR), "to the right, in 2.5 s"
    assert not is_near(picture, pixel(30.0, 3.5), OBJECT_BGR), "what is later than 3 s is left out"
    decision = Decision(Behaviour.CHANGE_LANE, (Cause(CauseKind.GAP_BEHIND, "31"),))
    told = panel.draw(AgentStep(None, replace(result, plan=replace(plan, decision=decision))), truth(Pose2D(0, 0, 0)))
    rows = np.flatnonzero((told != picture).any(axis=(1, 2)))
    assert 2 * CAPTION_PX <= rows.max() < 3 * CAPTION_PX, "a caption of two lines above the rest"


@pytest.mark.parametrize(("speed_mps", "text"), [(-0.004, "  0.0 km/h"), (-0.5, " -1.8 km/h"), (10.0, " 36.0 km/h")])
def test_an_ego_that_stands_has_no_negative_zero(speed_mps: float, text: str) -> None:
    assert speed_text(speed_mps) == text
