"""A tear is a new seam between rows; what a scene has of edges and patterns is none."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_stack.types import Image
from perception.seams import SeamTrail, has_new_seam, look_for_seams, new_seam


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
def test_rows_that_are_moved_aside_make_a_seam(row: int, shift_px: int) -> None:
    whole = scene()
    torn = whole.copy()
    torn[row:] = np.roll(whole[row:], shift_px, axis=1)
    assert has_new_seam(look_for_seams(torn), look_for_seams(whole))


def test_a_seam_that_was_there_before_is_the_scenes() -> None:
    torn = scene()
    torn[150:] = np.roll(torn[150:], 90, axis=1)
    assert not has_new_seam(look_for_seams(torn), look_for_seams(torn))


def told(rows: list[int]) -> list[bool]:
    """Of pictures that are moved aside below `rows`, whether a seam is told that has not wandered there."""
    trail, whole, out = SeamTrail(), look_for_seams(scene()), []
    for row in rows:
        torn = scene()
        torn[row:] = np.roll(torn[row:], 90, axis=1)
        found = new_seam(look_for_seams(torn), whole)
        assert found is not None
        out.append(not trail.is_scene(found))
    return out


def test_a_seam_that_wanders_is_the_scenes_and_one_that_stays_or_jumps_is_a_tear() -> None:
    """A roof before the sky wanders up the picture as the car turns or comes nearer."""
    up = told(list(range(160, 60, -2)))
    assert all(up[:3])
    assert not any(up[6:])
    assert all(told([150] * 30))
    assert all(told(np.random.default_rng(0).permutation(np.arange(30, 190, 20)).tolist()))


def test_the_same_scene_a_little_on_has_none() -> None:
    for seed in range(10):
        before, now = scene(seed), np.roll(scene(seed), 4, axis=1)
        assert not has_new_seam(look_for_seams(now), look_for_seams(before))


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 200))), st.integers(0, 255))
def test_any_picture_has_finite_seams(grey: Image, level: int) -> None:
    found = look_for_seams(grey)
    assert np.isfinite(found.alike).all()
    assert np.isfinite(found.gain).all()
    assert not has_new_seam(found, found)
    assert not has_new_seam(look_for_seams(np.full_like(grey, level)), found)
