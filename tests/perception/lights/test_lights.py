"""Heads in the picture are matched to the map's lights by geometry, and their states voted."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.frames import map_to_vehicle, vehicle_to_image
from av_core.types import (
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    LaneGraph,
    LaneKey,
    LightState,
    Pose2D,
    Signal,
    SignalKind,
    Stamp,
)
from perception.lights.reader import LightReader
from tests.perception.simulated_drives import DT_S, two_way_road

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6, math.radians(2.0))
FORTH, BACK = LaneKey(1, 0, -1), LaneKey(1, 0, 1)
GREY = CameraImage(Stamp(0, 0.0), CAMERA, np.full((360, 640, 3), 90, dtype=np.uint8))
"""Shows no lamps: what is read comes from the detector's heads."""


def graph() -> LaneGraph:
    """An own light at x = 100 m with its post right of the road, one behind it at 140 m, and the oncoming traffic's."""
    road = two_way_road([(300.0, 0.0)])
    length = road.lanes[FORTH].length_m
    light = SignalKind.TRAFFIC_LIGHT
    signals = (
        Signal("own", light, FORTH, 100.0, (103.0, -5.0)),
        Signal("next", light, FORTH, 140.0, (143.0, -5.0)),
        Signal("oncoming", light, BACK, length - 112.0, (109.0, 5.0)),
        Signal("stop", SignalKind.STOP, FORTH, 90.0, (90.0, -4.0)),
    )
    return LaneGraph("road", road.lanes, signals, road.geo)


def ego(frame: int, x: float) -> EgoState:
    return EgoState(Stamp(frame, frame * DT_S), x, -1.75, 0.0, 5.0, 0.0, 0.0, np.eye(4))


def head(
    at: tuple[float, float], state: LightState, x: float, height_m: float = 3.1, camera: CameraModel = CAMERA
) -> Detection:
    """The box of a signal head over the place `at` of the map, seen from the ego at x."""
    place = map_to_vehicle(at, Pose2D(x, -1.75, 0.0))
    (u0, v0), _ = vehicle_to_image([*place[:1], place[1] + 0.26, height_m + 0.58], camera)
    (u1, v1), _ = vehicle_to_image([*place[:1], place[1] - 0.26, height_m - 0.58], camera)
    return Detection(f"light {state.value}", (float(u0), float(v0), float(u1), float(v1)), 0.8)


def test_each_head_goes_to_its_own_light() -> None:
    reader = LightReader(graph())
    for frame in range(6):
        x = 70.0 + 0.25 * frame
        heads = [head((143.0, -5.0), LightState.GREEN, x), head((103.0, -5.0), LightState.RED, x)]
        views = reader.update(ego(frame, x), heads, GREY)
    assert {name: view.state for name, view in views.items()} == {"own": LightState.RED, "next": LightState.GREEN}


def test_one_head_tells_the_state_of_both_lights_at_its_place() -> None:
    """As in Town10HD, where two lights for two lanes are 3 cm apart."""
    road = graph()
    twin = Signal("twin", SignalKind.TRAFFIC_LIGHT, FORTH, 101.0, (103.03, -5.0))
    reader = LightReader(LaneGraph("road", road.lanes, (*road.signals, twin), road.geo))
    for frame in range(6):
        x = 70.0 + 0.25 * frame
        views = reader.update(ego(frame, x), [head((103.0, -5.0), LightState.RED, x)], GREY)
    assert {name: view.state for name, view in views.items()} == {"own": LightState.RED, "twin": LightState.RED}
    assert views["twin"].signal_id == "twin"


def with_lit_lamp(box: tuple[float, float, float, float], state: LightState) -> CameraImage:
    """The grey picture with a dark head in `box` and its lamp lit."""
    bgr = GREY.bgr.copy()
    u0, v0, u1, v1 = (round(edge) for edge in box)
    cv2.rectangle(bgr, (u0, v0), (u1, v1), (20, 20, 20), -1)
    colour, place = {LightState.RED: ((40, 55, 250), 0.2), LightState.GREEN: ((195, 248, 36), 0.8)}[state]
    cv2.circle(bgr, (round((u0 + u1) / 2), round(v0 + place * (v1 - v0))), round(0.12 * (v1 - v0)), colour, -1)
    return CameraImage(GREY.stamp, CAMERA, bgr)


@pytest.mark.parametrize("true", [LightState.RED, LightState.GREEN])
def test_the_lamp_in_the_picture_outvotes_a_wrong_word_of_the_detector(true: LightState) -> None:
    """A red must never become green because a detector says so."""
    false = LightState.GREEN if true is LightState.RED else LightState.RED
    reader, wrong = LightReader(graph()), head((103.0, -5.0), false, 80.0)
    for frame in range(6):
        views = reader.update(ego(frame, 80.0), [wrong], with_lit_lamp(wrong.box_px, true))
    assert views["own"].state is true


def test_a_lamp_in_one_lights_head_is_not_another_lights() -> None:
    """From far away, the posts of both lights are within a few pixels of each other."""
    reader = LightReader(graph(), range_m=150.0)
    near = head((103.0, -5.0), LightState.RED, 20.0)
    for frame in range(6):
        views = reader.update(ego(frame, 20.0), [near], with_lit_lamp(near.box_px, LightState.RED))
    assert {name: view.state for name, view in views.items()} == {"own": LightState.RED}


def test_the_oncoming_traffics_light_is_nobodys_here() -> None:
    reader = LightReader(graph())
    for frame in range(6):
        views = reader.update(ego(frame, 75.0), [head((109.0, 5.0), LightState.GREEN, 75.0)], GREY)
    assert views == {}


@pytest.mark.parametrize("height_m", [2.6, 3.1, 5.0])
def test_heads_low_and_high_with_a_metre_of_error(height_m: float) -> None:
    reader = LightReader(graph())
    for frame in range(6):
        views = reader.update(ego(frame, 80.3), [head((103.8, -5.6), LightState.YELLOW, 80.0, height_m)], GREY)
    assert views["own"].state is LightState.YELLOW


def test_one_wrong_picture_does_not_outvote_and_a_change_is_seen_soon() -> None:
    reader, shown = LightReader(graph()), []
    for frame in range(60):
        state = LightState.RED if frame < 30 else LightState.GREEN
        if frame == 15:
            state = LightState.GREEN
        view = reader.update(ego(frame, 80.0), [head((103.0, -5.0), state, 80.0)], GREY).get("own")
        shown.append(None if view is None else view.state)
    assert set(shown[5:30]) == {LightState.RED}
    assert LightState.GREEN in shown[30:37]
    assert set(shown[38:]) == {LightState.GREEN}


def test_what_is_not_seen_any_more_is_soon_unknown() -> None:
    reader = LightReader(graph())
    for frame in range(10):
        reader.update(ego(frame, 80.0), [head((103.0, -5.0), LightState.RED, 80.0)], GREY)
    for frame in range(10, 40):
        views = reader.update(ego(frame, 80.0), [], GREY)
    assert views == {}


NARROW = CameraModel("front_narrow", 640, 360, math.radians(30.0), 2.1, 0.1, 1.6)
NARROW_GREY = CameraImage(Stamp(0, 0.0), NARROW, GREY.bgr)


@pytest.mark.parametrize(("x", "told"), [(50.0, LightState.RED), (90.0, LightState.GREEN)])
def test_the_camera_that_shows_a_light_largest_tells_as_long_as_it_shows_all_of_it(x: float, told: LightState) -> None:
    """Far off the narrow camera's red counts, not the wide one's green; near, the narrow one might see half a head."""
    reader, post = LightReader(graph()), (103.0, -5.0)
    for frame in range(6):
        wide = head(post, LightState.GREEN, x)
        narrow = head(post, LightState.RED, x, camera=NARROW)
        views = reader.update(ego(frame, x), [wide], GREY, [(NARROW_GREY, [narrow])])
    assert views["own"].state is told


def test_each_camera_reads_what_the_other_does_not_show() -> None:
    reader, post = LightReader(graph()), (103.0, -5.0)
    for frame in range(6):
        views = reader.update(ego(frame, 50.0), [head(post, LightState.RED, 50.0)], GREY, [(NARROW_GREY, []), None])
    assert views["own"].state is LightState.RED
    reader = LightReader(graph())
    for frame in range(6):  # the wide one is not to be trusted
        narrow = head(post, LightState.RED, 60.0, camera=NARROW)
        views = reader.update(ego(frame, 60.0), [], None, [(NARROW_GREY, [narrow])])
    assert views["own"].state is LightState.RED


numbers = st.floats(-1000.0, 1000.0) | st.sampled_from([math.nan, math.inf])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=5), st.floats(-50, 350), st.floats(-3.2, 3.2))
def test_any_boxes_from_anywhere_give_states_of_known_lights(
    boxes: list[tuple[float, float, float, float]], x: float, yaw: float
) -> None:
    reader = LightReader(graph())
    here = EgoState(Stamp(0, 0.0), x, -1.75, yaw, 5.0, 0.0, 0.0, np.eye(4))
    for _ in range(3):
        views = reader.update(here, [Detection("light red", box, 0.9) for box in boxes], GREY)
    assert set(views) <= {"own", "next", "oncoming"}
