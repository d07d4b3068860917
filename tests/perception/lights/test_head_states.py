"""The state of a signal head in a known box: drawn heads of other looks than those of the renderers."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_core.types import Image, LightState
from av_stack.evaluation.lights import read_head
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import OFF, HeadModel, head_probabilities, load_model, save_model
from tests.perception.lights.drawn_heads import drawn_head, head_box

LIT_STATES = (LightState.RED, LightState.YELLOW, LightState.GREEN)


@pytest.mark.parametrize("state", LIT_STATES)
@pytest.mark.parametrize(("hour", "veil"), [("day", 0.0), ("night", 0.0), ("day", 0.6), ("day", 0.8)])
@pytest.mark.parametrize("px_per_m", [9.0, 18.0, 45.0])
def test_lit_lamps_by_day_by_night_and_in_haze(hour: str, veil: float, state: LightState, px_per_m: float) -> None:
    assert read_head(drawn_head(hour, state, px_per_m, veil), head_box(px_per_m)) is state


@pytest.mark.parametrize("state", LIT_STATES)
@pytest.mark.parametrize("housing", [(40, 190, 230), (20, 140, 190), (35, 60, 30), (120, 120, 120)])
def test_lit_lamps_in_yellow_green_and_grey_housings(housing: tuple[int, int, int], state: LightState) -> None:
    assert read_head(drawn_head("day", state, 36.0, housing=housing), head_box(36.0)) is state


def test_an_orange_core_at_the_top_is_red_and_in_the_middle_yellow() -> None:
    """Near red lamps of CARLA's saturate to orange; the place tells what the colour does not."""
    orange = (60, 160, 255)
    assert read_head(drawn_head("day", LightState.RED, 36.0, core=orange), head_box(36.0)) is LightState.RED
    assert read_head(drawn_head("day", LightState.YELLOW, 36.0, core=orange), head_box(36.0)) is LightState.YELLOW


@pytest.mark.parametrize("state", LIT_STATES)
def test_the_red_end_of_a_horizontal_head_is_its_left_one(state: LightState) -> None:
    bgr = np.ascontiguousarray(drawn_head("day", state).transpose(1, 0, 2))
    u0, v0, u1, v1 = head_box()
    assert read_head(bgr, (v0, u0, v1, u1)) is state


@pytest.mark.parametrize("hour", ["day", "night"])
def test_a_head_without_a_lit_lamp_shows_none(hour: str) -> None:
    probabilities = head_probabilities(drawn_head(hour, LightState.OFF), head_box())
    assert probabilities is not None
    assert probabilities[OFF] > 0.6


@pytest.mark.parametrize("colour", [(45, 45, 45), (40, 190, 230), (35, 60, 30), (200, 190, 180)])
def test_the_plain_back_of_a_head_shows_no_state(colour: tuple[int, int, int]) -> None:
    bgr = np.full((120, 80, 3), 150, dtype=np.uint8)
    cv2.rectangle(bgr, (31, 39), (49, 81), colour, -1)
    assert read_head(bgr, (31.0, 39.0, 49.0, 81.0)) not in LIT_STATES


@pytest.mark.parametrize("state", LIT_STATES)
@pytest.mark.parametrize("shift", [(-0.1, -0.1), (0.1, 0.1), (-0.1, 0.1), (0.1, -0.1)])
def test_boxes_a_tenth_too_high_or_too_low(shift: tuple[float, float], state: LightState) -> None:
    """Each end of the box moves by a tenth of the head's height."""
    u0, v0, u1, v1 = head_box(36.0)
    box = (u0, v0 + shift[0] * (v1 - v0), u1, v1 + shift[1] * (v1 - v0))
    assert read_head(drawn_head("day", state, 36.0), box) is state


def test_a_head_that_the_upper_edge_cuts_is_not_off_but_unknown() -> None:
    """Half of its red lamp is above the picture; the other two lamps keep their places."""
    u0, v0, u1, v1 = head_box(36.0)
    cut = math.floor(v0 + 0.32 * (v1 - v0))
    box = (u0, 0.0, u1, v1 - cut)

    def read(state: LightState) -> LightState:
        return read_head(np.ascontiguousarray(drawn_head("day", state, 36.0)[cut:]), box)

    assert read(LightState.OFF) is LightState.UNKNOWN
    assert read(LightState.YELLOW) is LightState.YELLOW
    assert read(LightState.GREEN) is LightState.GREEN


def test_a_box_outside_the_picture_is_not_read() -> None:
    bgr = drawn_head("day", LightState.RED)
    assert head_probabilities(bgr, (90.0, 10.0, 100.0, 40.0)) is None
    assert read_head(bgr, (90.0, 10.0, 100.0, 40.0)) is LightState.UNKNOWN


@pytest.mark.parametrize("grey", [0, 90, 255])
def test_a_box_without_any_colour_is_not_read(grey: int) -> None:
    """Dense fog, darkness or glare hides the head."""
    assert head_probabilities(np.full((120, 80, 3), grey, dtype=np.uint8), head_box()) is None


def test_the_temperature_keeps_the_order_and_lowers_the_confidence() -> None:
    rng = np.random.default_rng(0)
    scale = np.stack([np.zeros(5), np.ones(5)])
    plain = HeadModel(scale, rng.normal(size=(3, 6)), rng.normal(size=(4, 4)))
    warm = HeadModel(plain.scale, plain.hidden, plain.out, 3.0)
    x = rng.normal(size=(50, 5))
    cold_p, warm_p = plain.probabilities(x), warm.probabilities(x)
    assert (cold_p.argmax(axis=1) == warm_p.argmax(axis=1)).all()
    assert (warm_p.max(axis=1) < cold_p.max(axis=1)).all()


def test_coefficients_survive_their_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    model = HeadModel(rng.random((2, 5)), rng.normal(size=(3, 6)), rng.normal(size=(4, 4)), 1.5)
    save_model(model, tmp_path / "model.json", {"heads": 3})
    read = load_model(tmp_path / "model.json")
    x = rng.normal(size=(20, 5))
    assert np.allclose(read.probabilities(x), model.probabilities(x), atol=2e-3)


anything = st.floats() | st.sampled_from([math.nan, math.inf, -1e9, 1e9])


@settings(max_examples=120, deadline=None)
@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))),
    st.tuples(anything, anything, anything, anything)
    | st.tuples(st.floats(-60, 60), st.floats(-60, 60), st.floats(-60, 200), st.floats(-60, 200)),
)
def test_any_picture_and_box(bgr: Image, box: tuple[float, float, float, float]) -> None:
    probabilities = head_probabilities(bgr, box)
    if probabilities is not None:
        assert probabilities.shape == (len(LIGHT_STATES),)
        assert np.isfinite(probabilities).all()
        assert math.isclose(probabilities.sum(), 1.0, abs_tol=1e-9)
