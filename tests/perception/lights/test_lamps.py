"""Lit lamps are found and named by their colour on made pictures, by day, by night and in haze."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_core.types import Image, LightState
from perception.lights.lamps import LAMP_M, brightness, find_lamps

PX_PER_M = 18.0
REGION = (20.0, 10.0, 60.0, 110.0)
LIT = {
    "day": {LightState.RED: (40, 55, 250), LightState.YELLOW: (28, 200, 250), LightState.GREEN: (195, 248, 36)},
    "night": {LightState.RED: (8, 15, 230), LightState.YELLOW: (4, 124, 230), LightState.GREEN: (115, 223, 7)},
}
SKY, HOUSING, GLASS = {"day": 200, "night": 30}, {"day": 45, "night": 15}, {"day": (35, 35, 110), "night": (15, 15, 22)}


def head(hour: str, state: LightState, veil: float = 0.0, px_per_m: float = PX_PER_M) -> Image:
    """A head of 0.52 x 1.16 m in the middle of a picture of 80 x 120 px; `veil` in [0, 1] is haze as bright as the
    sky."""
    bgr = np.full((120, 80, 3), SKY[hour], dtype=np.uint8)
    half, high = 0.26 * px_per_m, 1.16 * px_per_m
    cv2.rectangle(
        bgr,
        (round(40 - half), round(60 - high / 2)),
        (round(40 + half), round(60 + high / 2)),
        (HOUSING[hour],) * 3,
        -1,
    )
    for number, lamp in enumerate((LightState.RED, LightState.YELLOW, LightState.GREEN)):
        colour = LIT[hour][lamp] if lamp is state else GLASS[hour] if lamp is LightState.RED else (HOUSING[hour],) * 3
        cv2.circle(bgr, (40, round(60 + (number - 1) * high / 3)), round(LAMP_M * px_per_m / 2), colour, -1)
    return np.asarray((1.0 - veil) * bgr + veil * 200.0, dtype=np.uint8)


def best(bgr: Image, px_per_m: float = PX_PER_M, is_head_known: bool = True) -> LightState | None:
    half, high = 0.26 * px_per_m, 0.58 * px_per_m
    box = (40.0 - half, 60.0 - high, 40.0 + half, 60.0 + high) if is_head_known else None
    found = find_lamps(bgr, REGION, px_per_m, brightness(bgr), box)
    return max(found, key=lambda lamp: lamp.lit_score).state if found else None


@pytest.mark.parametrize("state", list(LIT["day"]))
@pytest.mark.parametrize(("hour", "veil"), [("day", 0.0), ("night", 0.0), ("day", 0.6), ("day", 0.8)])
@pytest.mark.parametrize("px_per_m", [9.0, 18.0, 45.0])
def test_a_lit_lamp_has_its_colour_near_and_far(hour: str, veil: float, state: LightState, px_per_m: float) -> None:
    assert best(head(hour, state, veil, px_per_m), px_per_m) is state


@pytest.mark.parametrize("hour", ["day", "night"])
@pytest.mark.parametrize("px_per_m", [9.0, 18.0, 45.0])
def test_without_its_head_a_yellow_lamp_may_look_red_but_green_is_green(hour: str, px_per_m: float) -> None:
    """Colour alone does not part the yellow of one renderer from the red of another; both ask to stop."""
    assert best(head(hour, LightState.RED, 0.0, px_per_m), px_per_m, False) is LightState.RED
    assert best(head(hour, LightState.GREEN, 0.0, px_per_m), px_per_m, False) is LightState.GREEN
    yellow = best(head(hour, LightState.YELLOW, 0.0, px_per_m), px_per_m, False)
    assert yellow in (LightState.YELLOW, LightState.RED)


def test_its_place_is_the_lamps() -> None:
    bgr = head("day", LightState.GREEN)
    lamp = max(find_lamps(bgr, REGION, PX_PER_M, brightness(bgr)), key=lambda one: one.lit_score)
    assert math.hypot(lamp.u - 40.0, lamp.v - (60.0 + 1.16 * PX_PER_M / 3.0)) < 0.7


@pytest.mark.parametrize("hour", ["day", "night"])
def test_glass_that_is_not_lit_is_no_lamp(hour: str) -> None:
    assert best(head(hour, LightState.OFF)) is None


def test_large_bright_things_and_white_spots_are_none() -> None:
    bgr = np.full((120, 80, 3), 60, dtype=np.uint8)
    cv2.rectangle(bgr, (25, 20), (55, 60), (20, 40, 230), -1)  # a red awning
    cv2.circle(bgr, (40, 90), 2, (240, 240, 240), -1)  # a white lamp
    found = find_lamps(bgr, REGION, PX_PER_M, brightness(bgr))
    assert all(lamp.lit_score < 0.15 for lamp in found)


def test_lamps_outside_the_region_do_not_count() -> None:
    bgr = head("day", LightState.RED)
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
