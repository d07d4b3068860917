"""Lit lamps are found and named by their colour on made pictures, by day and by night, where no head is known."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_core.types import Image, LightState
from perception.lights.lamps import brightness, find_lamps
from tests.perception.lights.drawn_heads import PX_PER_M, drawn_head

REGION = (20.0, 10.0, 60.0, 110.0)


def best(bgr: Image, px_per_m: float = PX_PER_M) -> LightState | None:
    found = find_lamps(bgr, REGION, px_per_m, brightness(bgr))
    return max(found, key=lambda lamp: lamp.lit_score).state if found else None


@pytest.mark.parametrize("hour", ["day", "night"])
@pytest.mark.parametrize("px_per_m", [9.0, 18.0, 45.0])
def test_without_its_head_a_yellow_lamp_may_look_red_but_green_is_green(hour: str, px_per_m: float) -> None:
    """Colour alone does not part the yellow of one renderer from the red of another; both ask to stop."""
    assert best(drawn_head(hour, LightState.RED, px_per_m), px_per_m) is LightState.RED
    assert best(drawn_head(hour, LightState.GREEN, px_per_m), px_per_m) is LightState.GREEN
    yellow = best(drawn_head(hour, LightState.YELLOW, px_per_m), px_per_m)
    assert yellow in (LightState.YELLOW, LightState.RED)


def test_its_place_is_the_lamps() -> None:
    bgr = drawn_head("day", LightState.GREEN)
    lamp = max(find_lamps(bgr, REGION, PX_PER_M, brightness(bgr)), key=lambda one: one.lit_score)
    assert math.hypot(lamp.u - 40.0, lamp.v - (60.0 + 1.16 * PX_PER_M / 3.0)) < 0.7


@pytest.mark.parametrize("hour", ["day", "night"])
def test_glass_that_is_not_lit_is_no_lamp(hour: str) -> None:
    assert best(drawn_head(hour, LightState.OFF)) is None


def test_large_bright_things_and_white_spots_are_none() -> None:
    bgr = np.full((120, 80, 3), 60, dtype=np.uint8)
    cv2.rectangle(bgr, (25, 20), (55, 60), (20, 40, 230), -1)  # a red awning
    cv2.circle(bgr, (40, 90), 2, (240, 240, 240), -1)  # a white lamp
    found = find_lamps(bgr, REGION, PX_PER_M, brightness(bgr))
    assert all(lamp.lit_score < 0.15 for lamp in found)


def test_lamps_outside_the_region_do_not_count() -> None:
    bgr = drawn_head("day", LightState.RED)
    assert find_lamps(bgr, (20.0, 65.0, 60.0, 110.0), PX_PER_M, brightness(bgr)) == ()


anything = st.floats() | st.sampled_from([math.nan, math.inf, -1e9, 1e9])


@settings(max_examples=80, deadline=None)
@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))),
    st.tuples(anything, anything, anything, anything),
    st.floats(1.0, 300.0),
)
def test_any_picture_and_region(bgr: Image, region: tuple[float, float, float, float], px_per_m: float) -> None:
    for lamp in find_lamps(bgr, region, px_per_m, brightness(bgr)):
        assert 0.0 <= lamp.lit_score <= 1.0
        assert np.isfinite([lamp.u, lamp.v]).all()
