"""Who passes right ahead moves a part of the picture; a tear moves all rows between its seam and an edge."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from av_core.types import Image
from perception.health.monitor import Fault, HealthMonitor
from perception.health.moved_blocks import is_moved_to_edge, moved_blocks
from tests.perception.lane_pictures import camera_image

PICTURES = Path(__file__).parents[1] / "pictures" / "passing"

PAIRS = ("near", "both_ways", "whole")
"""Cars that cross at 16 m/s ahead of a car at a junction: one near, two near in opposite directions, one further off
while the car itself drives. Each time there are two pictures, a twentieth of a second apart."""


def pair(name: str) -> tuple[Image, Image]:
    before, now = (cv2.imread(str(PICTURES / f"{name}{which}.jpg")) for which in ("_before", ""))
    assert before is not None
    assert now is not None
    return np.asarray(before, dtype=np.uint8), np.asarray(now, dtype=np.uint8)


def is_torn(before: Image, now: Image) -> bool:
    monitor = HealthMonitor()
    monitor.update(camera_image(before, 0), 0.0, 0.0)
    return Fault.TORN in monitor.update(camera_image(now, 1), 0.05, 0.0).faults


@pytest.mark.parametrize("name", PAIRS)
def test_cars_that_pass_are_no_tear(name: str) -> None:
    assert not is_torn(*pair(name))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("row", [100, 150, 200])
@pytest.mark.parametrize("part", ["upper", "lower"])
def test_a_tear_beside_a_car_that_passes_is_told(name: str, row: int, part: str) -> None:
    before, now = pair(name)
    rows = slice(row) if part == "upper" else slice(row, None)
    now[rows] = np.roll(now[rows], 120, axis=1)
    assert is_torn(before, now)


def texture(seed: int = 0) -> Image:
    coarse = np.random.default_rng(seed).integers(0, 220, (45, 80)).astype(np.uint8)
    return np.asarray(cv2.resize(coarse, (320, 180), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def test_each_block_is_told_as_moved_or_kept() -> None:
    before = texture()
    now = before.copy()
    now[90:] = np.roll(before[90:], -64, axis=1)
    now[:30, :160] = 128
    signs = moved_blocks(now.astype(np.float32), before.astype(np.float32), -64 / 320)
    assert signs.shape == (18, 10)
    assert not signs[:3, :5].any()  # plain
    assert np.mean(signs[4:9] == -1) > 0.95
    assert np.mean(signs[9:] == 1) > 0.95


@pytest.mark.parametrize("shift_px", [40, 150, -100])
def test_rows_moved_up_to_an_edge_are_told_from_a_part_of_them(shift_px: int) -> None:
    before = texture(1)
    moved = np.roll(before, shift_px, axis=1)
    lower, upper, car = before.copy(), before.copy(), before.copy()
    lower[120:], upper[:60] = moved[120:], moved[:60]
    car[60:150, 40:240] = moved[60:150, 40:240]
    assert is_moved_to_edge(lower, before, shift_px / 320)
    assert is_moved_to_edge(upper, before, shift_px / 320)
    assert not is_moved_to_edge(car, before, shift_px / 320)
    assert not is_moved_to_edge(before, before, shift_px / 320)


def test_a_picture_smaller_than_a_block_has_an_answer() -> None:
    before = texture()[:8, :12]
    assert not is_moved_to_edge(before, before, 0.5)
