"""Precision and recall on boxes whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from av_core.types import Detection
from perception.detection.labels import Label
from perception.detection.measure import Sample, average_precision, ious, match_labels

Box = tuple[float, float, float, float]


def label(box: Box, name: str = "car", visible: float = 1.0) -> Label:
    return Label(name, box, visible, 20.0)


def found(box: Box, confidence: float = 0.9, name: str = "car") -> Detection:
    """In the image frame, whose pixel centres are whole numbers."""
    u0, v0, u1, v1 = (edge - 0.5 for edge in box)
    return Detection(name, (u0, v0, u1, v1), confidence)


NEAR: Box = (100.0, 100.0, 200.0, 200.0)
FAR: Box = (300.0, 100.0, 330.0, 120.0)
EMPTY: Box = (500.0, 100.0, 600.0, 200.0)


def test_overlap_of_known_boxes() -> None:
    other = [[100.0, 100.0, 200.0, 200.0], [150.0, 100.0, 250.0, 200.0], [200.0, 0.0, 300.0, 50.0]]
    assert ious(np.array([NEAR]), np.array(other))[0] == pytest.approx([1.0, 1.0 / 3.0, 0.0])


def test_perfect_detections_have_precision_one_and_none_have_zero() -> None:
    labels = (label(NEAR), label(FAR))
    assert average_precision([Sample(labels, (found(NEAR), found(FAR, 0.4)), "")], "car") == pytest.approx(1.0)
    assert average_precision([Sample(labels, (), "")], "car") == pytest.approx(0.0)
    assert average_precision([Sample(labels, (), "")], "bus") is None


def test_half_of_the_objects_found_is_half_the_area() -> None:
    precision = average_precision([Sample((label(NEAR), label(FAR)), (found(NEAR),), "")], "car")
    assert precision == pytest.approx(51.0 / 101.0)


def test_a_strong_wrong_box_before_a_right_one_halves_precision() -> None:
    seen = (found(EMPTY, 0.95), found(NEAR, 0.5))
    assert average_precision([Sample((label(NEAR),), seen, "")], "car") == pytest.approx(0.5)


def test_a_second_box_on_the_same_object_is_wrong() -> None:
    seen = (found(NEAR, 0.9), found(NEAR, 0.8), found(FAR, 0.7))
    precision = average_precision([Sample((label(NEAR), label(FAR)), seen, "")], "car")
    assert precision == pytest.approx((51.0 + 50.0 * 2.0 / 3.0) / 101.0)


def test_a_box_that_is_a_little_off_counts_for_the_loose_overlaps_only() -> None:
    shifted: Box = (100.0, 100.0, 200.0, 170.0)  # overlap 0.7
    precision = average_precision([Sample((label(NEAR),), (found(shifted),), "")], "car")
    assert precision == pytest.approx([1.0] * 5 + [0.0] * 5)


def test_what_does_not_count_is_neither_missed_nor_wrong() -> None:
    hidden = label(FAR, visible=0.2)
    assert average_precision([Sample((label(NEAR), hidden), (found(FAR, 0.99), found(NEAR)), "")], "car") == (
        pytest.approx(1.0)
    )
    assert average_precision([Sample((hidden,), (), "")], "car") is None


def test_a_van_called_a_truck_is_seen_all_the_same() -> None:
    sample = Sample((label(NEAR),), (found(NEAR, name="truck"),), "")
    assert match_labels(sample, ("car", "truck"), 0.25)[1] == [True]
    assert match_labels(sample, ("car", "truck"), 0.25, any_of=False)[1] == [False]
    assert match_labels(sample, ("car", "truck"), 0.95)[1] == [False]


def test_one_box_finds_one_object() -> None:
    twin: Box = (102.0, 100.0, 202.0, 200.0)
    sample = Sample((label(NEAR), label(twin)), (found(NEAR),), "")
    assert sorted(match_labels(sample, ("car",), 0.25)[1]) == [False, True]


# In sixteenths of a pixel: sums are exact, so that a box of 8 px, the least that counts, does not come out as 7.999.
BOXES = st.builds(
    lambda u, v, w, h: (u / 16, v / 16, (u + w) / 16, (v + h) / 16),
    *[st.integers(0, 9600)] * 2, st.integers(32, 3200), st.integers(128, 3200),
)  # fmt: skip


@given(st.lists(BOXES, min_size=1, max_size=5), st.lists(BOXES, max_size=6), st.integers(0, 99))
def test_precision_lies_between_none_and_all_and_falls_with_the_overlap_asked(
    objects: list[Box], boxes: list[Box], seed: int
) -> None:
    scores = np.random.default_rng(seed).uniform(size=len(boxes))
    seen = tuple(found(box, float(score)) for box, score in zip(boxes, scores, strict=True))
    precision = average_precision([Sample(tuple(label(box) for box in objects), seen, "")], "car")
    assert precision is not None
    assert ((precision >= 0.0) & (precision <= 1.0)).all()
    assert len(match_labels(Sample(tuple(label(b) for b in objects), seen, ""), ("car",), 0.0)[1]) == len(objects)
