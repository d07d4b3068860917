"""Pixels of boxes on the road, on walls and on vehicles, in painted pictures."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from av_core.types import Image, ObjectKind
from perception.depth.view import Box
from perception.plausibility.check import BLEND_MAX, PLAIN_MIN, Doubt, StartCheck
from perception.plausibility.surface import (
    PICTURE_CONTRAST_MIN,
    cut_patches,
    one_tone_share,
    picture_contrast,
    side_contrast,
)

CAR: Box = (260.0, 190.0, 380.0, 280.0)
ROAD: Box = (80.0, 200.0, 520.0, 358.5)
WALL: Box = (420.0, 130.0, 520.0, 175.0)


def street(seed: int = 0) -> Image:
    """A bright sky, a wall of bricks on the right, and a grey road with texture and a lane marking."""
    rng = np.random.default_rng(seed)
    bgr = np.empty((360, 640, 3))
    bgr[:180], bgr[180:] = (235, 215, 200), (112, 112, 110)
    bgr[100:180, 380:] = (40, 55, 120)
    bgr[100:180:6, 380:] = (90, 95, 110)
    bgr[250:, 60:66] = (220, 220, 220)
    return np.asarray(np.clip(bgr + rng.normal(0.0, 3.0, bgr.shape), 0, 255), dtype=np.uint8)


def with_car(bgr: Image, box: Box, body: tuple[int, int, int] = (60, 60, 170)) -> Image:
    """The picture with a car in `box`: body, windows, wheels, and the shadow below."""
    out, (u0, v0, u1, v1) = bgr.copy(), (round(edge) for edge in box)
    wide, high = u1 - u0, v1 - v0
    cv2.rectangle(out, (u0, v0 + high // 3), (u1, v1 - high // 6), body, -1)
    cv2.rectangle(out, (u0 + wide // 6, v0), (u1 - wide // 6, v0 + high // 3), body, -1)
    cv2.rectangle(out, (u0 + wide // 5, v0 + high // 10), (u1 - wide // 5, v0 + high // 3), (45, 40, 35), -1)
    cv2.rectangle(out, (u0, v1 - high // 6), (u1, v1), (25, 25, 25), -1)
    return out


def check(bgr: Image) -> StartCheck:
    return StartCheck(bgr, None)


def test_a_car_is_neither_road_nor_wall() -> None:
    patches = cut_patches(with_car(street(), CAR), CAR)
    assert patches is not None
    assert one_tone_share(patches) < PLAIN_MIN / 2.0
    assert side_contrast(patches) > BLEND_MAX + 0.2


@pytest.mark.parametrize("body", [(140, 140, 138), (85, 85, 84), (30, 30, 30), (230, 230, 230), (160, 90, 40)])
def test_cars_of_any_colour_may_start_a_track(body: tuple[int, int, int]) -> None:
    """Also one that is a little lighter or darker than the grey road."""
    said = check(with_car(street(), CAR, body))(ObjectKind.CAR, CAR, 0.6)
    assert said.probability == 0.6
    assert said.doubt is None


@pytest.mark.parametrize("seed", range(3))
def test_an_empty_road_is_no_car(seed: int) -> None:
    said = check(street(seed))(ObjectKind.CAR, ROAD, 0.96)
    assert said.doubt is Doubt.PLAIN
    assert said.probability < 0.2


def test_a_near_car_that_the_picture_cuts_is_kept() -> None:
    box = (-0.5, 150.0, 300.0, 359.5)
    said = check(with_car(street(), (-60.0, 150.0, 300.0, 420.0)))(ObjectKind.CAR, box, 0.6)
    assert said.probability == 0.6


def test_part_of_a_wall_is_no_truck() -> None:
    said = check(street())(ObjectKind.TRUCK, WALL, 0.6)
    assert said.doubt in (Doubt.BLENDS, Doubt.PLAIN)
    assert said.probability < 0.5


def test_a_car_before_the_wall_is_kept() -> None:
    box = (430.0, 125.0, 510.0, 180.0)
    assert check(with_car(street(), box, (200, 160, 60)))(ObjectKind.CAR, box, 0.6).probability == 0.6


def test_in_fog_and_in_the_dark_nothing_is_compared() -> None:
    fog = np.asarray(170 + (street().astype(np.float64) - 128) * 0.1, dtype=np.uint8)
    assert picture_contrast(fog) < PICTURE_CONTRAST_MIN < picture_contrast(street())
    dark = np.asarray(street() * 0.1, dtype=np.uint8)
    dark[:40, :80] = 255  # a lamp, so that the picture has contrast
    for bgr in (fog, dark, np.full((360, 640, 3), 90, dtype=np.uint8)):
        assert check(bgr)(ObjectKind.CAR, ROAD, 0.9).doubt is not Doubt.PLAIN


def test_people_and_cycles_are_not_compared() -> None:
    """Their surroundings show inside their boxes."""
    for kind in (ObjectKind.PEDESTRIAN, ObjectKind.BICYCLE, ObjectKind.MOTORCYCLE):
        assert check(street())(kind, ROAD, 0.7).probability == 0.7
