"""Where the car waits for a light that its camera loses before the stop line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.frames import vehicle_to_image
from av_core.types import (
    CameraModel,
    LaneGraph,
    LightState,
    ObjectKind,
    Pose2D,
    Signal,
    SignalKind,
    TrackedObject,
    TrafficLightView,
)
from planning import find_route
from planning.sight import HEAD_HIGH_M, HEAD_LOW_M, sight_limits
from tests.planning.closed_loop import CAR, ScenePlanner, drive
from tests.planning.lanes_by_hand import chain, join, key, straight

CAMERA = CameraModel("front", 640, 360, float(np.radians(60.0)), 2.1, 0.0, 1.6, pitch_rad=float(np.radians(2.0)))
FRONT_M = CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m
LINE_M = 100.0


def road(post: tuple[float, float]) -> LaneGraph:
    lanes = [
        straight(key(0), 0, 0, 0, 100),
        straight(key(1), 100, 0, 0, 20, junction=True),
        straight(key(2), 120, 0, 0, 130),
    ]
    return join(lanes, [Signal("7", SignalKind.TRAFFIC_LIGHT, key(1), 0.0, post)])


def planner_with(post: tuple[float, float]) -> tuple[ScenePlanner, float | None]:
    """A planner that looks through `CAMERA`, and how far it may go before it loses the light."""
    graph = road(post)
    planner = ScenePlanner(graph, cameras=[CAMERA])
    route = planner.navigate(Pose2D(0, 0, 0), Pose2D(250, 0, 0))
    return planner, sight_limits(route, {"7": post}, [CAMERA], FRONT_M).get(("7", 100))


@settings(max_examples=40, deadline=None)
@given(st.floats(-3.0, 20.0), st.floats(-9.0, 9.0))
def test_the_head_is_in_the_picture_at_the_limit_and_lost_soon_after(ahead: float, left: float) -> None:
    post = (LINE_M + ahead, left)
    route = find_route(road(post), Pose2D(0, 0, 0), Pose2D(250, 0, 0))
    limit = sight_limits(route, {"7": post}, [CAMERA], FRONT_M).get(("7", 100))

    def seen(s_m: float, margin_px: float) -> bool:
        pixels, _ = vehicle_to_image([[post[0] - s_m, post[1], z] for z in (HEAD_LOW_M, HEAD_HIGH_M)], CAMERA)
        return bool(((pixels > margin_px) & (pixels < [639 - margin_px, 359 - margin_px])).all())

    if limit is None:
        assert seen(LINE_M - FRONT_M, 10.0)
    else:
        assert seen(limit, 10.0)
        assert not seen(limit + 0.5, 13.0)


def test_a_route_without_lights_or_posts_has_no_limits() -> None:
    route = find_route(chain([("straight", 60, 0)]), Pose2D(0, 0, 0), Pose2D(50, 0, 0))
    assert sight_limits(route, {"7": (10.0, 0.0)}, [CAMERA], FRONT_M) == {}
    lit = find_route(road((101.0, -3.0)), Pose2D(0, 0, 0), Pose2D(250, 0, 0))
    assert sight_limits(lit, {}, [CAMERA], FRONT_M) == {}


def test_the_last_camera_that_sees_the_head_sets_the_limit() -> None:
    post, narrow = (LINE_M + 3.0, -6.0), replace(CAMERA, name="narrow", fov_x_rad=float(np.radians(30.0)))
    route = find_route(road(post), Pose2D(0, 0, 0), Pose2D(250, 0, 0))

    def limit(*cameras: CameraModel) -> float:
        return sight_limits(route, {"7": post}, cameras, FRONT_M)["7", 100]

    assert limit(narrow) < limit(CAMERA)
    assert limit(CAMERA, narrow) == limit(narrow, CAMERA) == limit(CAMERA)
    wide = replace(CAMERA, fov_x_rad=float(np.radians(110.0)))
    assert sight_limits(route, {"7": post}, [narrow, wide], FRONT_M) == {}  # seen up to the line


@pytest.mark.parametrize("ahead", [-2.8, 0.0, 2.7])
def test_waits_where_it_sees_the_light_and_goes_when_it_turns_green(ahead: float) -> None:
    """The light is told only while its head is in the picture."""
    planner, limit = planner_with((LINE_M + ahead, -2.7))
    assert limit is not None

    def lights(t: float) -> dict[str, TrafficLightView]:
        if planner.progress is not None and planner.progress.s_m > limit + 0.7:
            return {}
        return {"7": TrafficLightView("7", LightState.RED if t < 25.0 else LightState.GREEN)}

    log = drive(planner, 60, 10.0, lights=lights)
    t, s, v = log.column(0), log.column(1), log.column(3)
    waiting = (t > 18.0) & (t < 25.0)
    assert v[waiting].max() < 0.05
    assert limit - 1.5 < s[waiting].min() <= s[waiting].max() < limit
    assert log.column(4).min() > -3.5
    assert log.has_arrived
    over = (t > 25.0) & (s < LINE_M + 5.0)
    assert np.diff(v[over]).min() > -0.05, "it does not hesitate where it no longer sees the light"


def test_a_yellow_too_late_to_stop_in_sight_is_driven_through() -> None:
    """Rather than to stand at the line, where the next green would not be seen."""
    planner, limit = planner_with((LINE_M - 2.8, -2.7))
    assert limit is not None

    def lights(_: float) -> dict[str, TrafficLightView]:
        if planner.progress is None or planner.progress.s_m < limit - 10.0:
            return {"7": TrafficLightView("7", LightState.GREEN)}
        return {"7": TrafficLightView("7", LightState.YELLOW)} if planner.progress.s_m < limit + 0.7 else {}

    log = drive(planner, 40, 10.0, lights=lights)
    at = [int(np.searchsorted(log.column(1), place)) for place in (limit - 10.0, LINE_M - FRONT_M)]
    assert log.column(0)[at[1]] - log.column(0)[at[0]] < 3.0, "the yellow's own time"
    assert log.column(3).min() > 5.0 or log.has_arrived
    assert log.column(4)[: at[1]].min() > -1.0


@pytest.mark.parametrize("before_m", [9.0, 4.0])
def test_an_ego_that_comes_too_late_for_a_yellow_stops_at_the_line(before_m: float) -> None:
    """It slows down for a bend, and would reach the line at red (Town02 in hard rain, seed 20261204)."""
    post = (LINE_M - 8.0, -2.7)
    graph = road(post)
    lanes = {
        lane_key: replace(lane, speed_limit_mps=3.0 if lane.is_junction else 10.0)
        for lane_key, lane in graph.lanes.items()
    }
    planner = ScenePlanner(replace(graph, lanes=lanes), cameras=[CAMERA])
    route = planner.navigate(Pose2D(0, 0, 0), Pose2D(250, 0, 0))
    limit = sight_limits(route, {"7": post}, [CAMERA], FRONT_M)[("7", 100)]

    def lights(_: float) -> dict[str, TrafficLightView]:
        if planner.progress is None or planner.progress.s_m < limit - before_m:
            return {"7": TrafficLightView("7", LightState.GREEN)}
        return {"7": TrafficLightView("7", LightState.YELLOW)} if planner.progress.s_m < limit + 0.7 else {}

    log = drive(planner, 20, 10.0, lights=lights)
    assert limit + 1.0 < log.column(1)[-1] < LINE_M - FRONT_M
    assert log.column(3)[-1] < 0.05
    assert log.column(4).min() > -6.0


@pytest.mark.parametrize("before_m", [28.0, 31.0])
def test_firm_braking_for_a_yellow_ends_where_the_light_is_seen(before_m: float) -> None:
    """An ego that came to stand 0.5 m too far drove on to the line, waited a minute there, and went at red."""
    planner, limit = planner_with((LINE_M - 2.8, -2.7))
    assert limit is not None

    def lights(_: float) -> dict[str, TrafficLightView]:
        if planner.progress is None or planner.progress.s_m < limit - before_m:
            return {"7": TrafficLightView("7", LightState.GREEN)}
        return {"7": TrafficLightView("7", LightState.YELLOW)} if planner.progress.s_m < limit + 0.7 else {}

    log = drive(planner, 16, 10.0, lights=lights)
    assert log.column(3)[-1] < 0.05
    assert limit - 1.5 < log.column(1)[-1] < limit


def test_a_red_that_shows_up_too_late_is_stopped_for_at_the_line() -> None:
    planner, limit = planner_with((LINE_M - 2.8, -2.7))
    assert limit is not None

    def lights(_: float) -> dict[str, TrafficLightView]:
        if planner.progress is None or planner.progress.s_m < limit - 12.0:
            return {"7": TrafficLightView("7", LightState.GREEN)}
        return {"7": TrafficLightView("7", LightState.RED)} if planner.progress.s_m < limit + 0.7 else {}

    log = drive(planner, 25, 10.0, lights=lights)
    assert log.column(3)[-1] < 0.05
    assert limit + 1.0 < log.column(1)[-1] < LINE_M - FRONT_M


def test_held_up_where_it_no_longer_sees_the_green_it_goes_on_carefully() -> None:
    """Someone crosses right behind the line, for longer than any memory of the light lasts."""
    planner, limit = planner_with((LINE_M - 2.8, -2.7))
    assert limit is not None

    def lights(_: float) -> dict[str, TrafficLightView]:
        seen = planner.progress is None or planner.progress.s_m < limit + 0.7
        return {"7": TrafficLightView("7", LightState.GREEN)} if seen else {}

    def someone(t: float) -> tuple[TrackedObject, ...]:
        walker = TrackedObject(80, ObjectKind.PEDESTRIAN, LINE_M + 2.0, 0.0, 0.0, (0.0, 0.0), 0.5, 0.5, 1.8)
        return (walker,) if t < 30.0 else ()

    log = drive(planner, 70, 10.0, lights=lights, objects=someone)
    t, s, v = log.column(0), log.column(1), log.column(3)
    waiting = (t > 20.0) & (t < 30.0)
    assert v[waiting].max() < 0.05
    assert s[waiting].min() > limit + 1.0, "the case has to be a stand out of the light's sight"
    assert log.has_arrived
    assert v[np.abs(s - LINE_M) < 1.0].max() < 6.5
