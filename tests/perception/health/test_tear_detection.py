"""A tear is a new seam between rows; what a scene has of edges and patterns is none."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_core.types import Image
from perception.health.tear_detection import find_new_seam, has_tear, row_correlations

PICTURES = Path(__file__).parents[1] / "pictures" / "edges"


def scene(seed: int = 0) -> Image:
    """Smooth texture above a plain road with two lines, grey (H, W)."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 220, (12, 40, 3)).astype(np.uint8)
    bgr = np.asarray(cv2.resize(coarse, (640, 360), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)
    bgr[200:] = 70
    for foot, head in ((80, 300), (560, 340)):
        cv2.line(bgr, (foot, 359), (head, 200), (230, 230, 230), 8)
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)


@pytest.mark.parametrize("row", [60, 150, 230, 300])
@pytest.mark.parametrize("shift_px", [60, 200, -120])
def test_rows_that_are_moved_aside_make_a_tear(row: int, shift_px: int) -> None:
    whole = scene()
    torn = whole.copy()
    torn[row:] = np.roll(whole[row:], shift_px, axis=1)
    assert has_tear(row_correlations(torn), row_correlations(whole))


def test_a_seam_that_was_there_before_is_the_scenes() -> None:
    torn = scene()
    torn[150:] = np.roll(torn[150:], 90, axis=1)
    assert not has_tear(row_correlations(torn), row_correlations(torn))


PAIRS = ("corner_by_night", "kerb", "patch")


def pair(name: str) -> tuple[Image, Image]:
    """Two pictures of a drive, a twentieth of a second apart, grey: the one before, and the one in which the far kerb
    of a crossroads, the end of a zebra's bars or the edge of a patch of asphalt has come into view."""
    before, now = (cv2.imread(str(PICTURES / f"{name}{which}.jpg"), cv2.IMREAD_GRAYSCALE) for which in ("_before", ""))
    assert before is not None
    assert now is not None
    return np.asarray(before, dtype=np.uint8), np.asarray(now, dtype=np.uint8)


@pytest.mark.parametrize("name", PAIRS)
def test_an_edge_that_comes_into_view_is_no_tear(name: str) -> None:
    """It looks like a seam, but both of its sides are where they were."""
    before, now = (row_correlations(picture) for picture in pair(name))
    assert find_new_seam(now, before) is not None
    assert not has_tear(now, before)


@pytest.mark.parametrize("name", PAIRS)
def test_tears_in_the_same_pictures_are_told(name: str) -> None:
    before, now = pair(name)
    whole = row_correlations(before)
    for row in range(60, 240, 20):
        for shift_px in (100, 250):
            torn = now.copy()
            torn[row:] = np.roll(now[row:], shift_px, axis=1)
            found = row_correlations(torn)
            assert has_tear(found, whole) == (find_new_seam(found, whole) is not None), f"row {row}, {shift_px} px"


def test_a_tear_is_told_wherever_it_wanders() -> None:
    whole = row_correlations(scene())
    for row in range(160, 60, -2):
        torn = scene()
        torn[row:] = np.roll(torn[row:], 90, axis=1)
        assert has_tear(row_correlations(torn), whole), f"row {row}"


def test_the_same_scene_a_little_on_has_none() -> None:
    for seed in range(10):
        before, now = scene(seed), np.roll(scene(seed), 4, axis=1)
        assert not has_tear(row_correlations(now), row_correlations(before))


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 200))), st.integers(0, 255))
def test_any_picture_has_finite_correlations(grey: Image, level: int) -> None:
    found = row_correlations(grey)
    assert np.isfinite(found.alike).all()
    assert np.isfinite(found.gain).all()
    assert not has_tear(found, found)
    assert not has_tear(row_correlations(np.full_like(grey, level)), found)
