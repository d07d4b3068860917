"""Paint is told from what merely is bright: even stripes score high, ragged and one-sided ones low."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from perception.lanes.fit import LineFit, fit_lines
from perception.lanes.lines import along_the_road, find_segments, stripe_points
from perception.lanes.paint_classifier import Appearance, paint_probability
from perception.lanes.road_view import road_view
from perception.lanes.segmentation import columns_of, segment_paint
from perception.lanes.side_kernel import at_both_sides
from tests.perception.lane_pictures import FRONT, Float, Paint, draw_road


def fits_in(picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> list[LineFit]:
    view = road_view(FRONT)
    assert view is not None
    paint = segment_paint(view.crop(picture), columns_of(view))
    return fit_lines(stripe_points(paint, along_the_road(find_segments(paint.contrast), view), view), 0.0)


def best(picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> float:
    return max((fit.paint_probability or 0.0 for fit in fits_in(picture)), default=0.0)


def test_a_painted_line_looks_like_paint() -> None:
    assert best(draw_road([Paint(lambda x: 0 * x - 1.7)])) > 0.9
    assert best(draw_road([Paint(lambda x: 0 * x - 1.7)], asphalt=30, noise=2.0)) > 0.8


def test_a_line_right_beside_a_bright_pavement_still_does() -> None:
    """The pavement begins a foot beyond the line, and is as bright as paint."""

    def pavement(x: Float, y: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return np.asarray((y < -2.05) & (x > 0.0))

    assert best(draw_road([Paint(lambda x: 0 * x - 1.7)], extra=pavement)) > 0.4


def test_a_ragged_streak_does_not() -> None:
    def streak(x: Float, y: Float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        half = 0.03 + 0.15 * np.abs(np.sin(3.1 * x))
        return np.asarray((np.abs(y + 1.7) < half) & (x > 0.0) & (x < 40.0))

    assert best(draw_road([], extra=streak)) < 0.5


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.floats(0.0, 3.0)] * 6), st.integers(0, 5))
def test_every_oddity_counts_against_it(values: tuple[float, ...], which: int) -> None:
    odd = list(values)
    odd[which] += 0.5
    plain, worse = paint_probability(Appearance(*values)), paint_probability(Appearance(*odd))
    assert 0.0 <= worse <= plain <= 1.0


def test_pixels_beside_are_those_of_the_flat_indices() -> None:
    """Which the paint of a GPU is found by."""
    view = road_view(FRONT)
    assert view is not None
    columns = columns_of(view)
    channel = np.random.default_rng(5).integers(0, 256, columns.left.shape, dtype=np.uint8)
    for step_px, left, right in (
        (columns.step_px, columns.left, columns.right),
        (columns.near_px, columns.near_left, columns.near_right),
    ):
        for found, index in zip(at_both_sides(channel, step_px), (left, right), strict=True):
            np.testing.assert_array_equal(found, channel.take(index))
