"""Labels from made pictures with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perception.detection.classes import CLASSES, FILL, speed_limit_class
from perception.detection.labels import UNOWNED_MIN_PX, Label, Pinhole, Thing, label_things, label_unowned

WIDTH, HEIGHT = 64, 48
CAMERA = Pinhole(WIDTH, HEIGHT, float(np.radians(90.0)), np.eye(4))
"""Focal length 32 px, looking along x from the origin."""


def at(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


def picture(*rectangles: tuple[int, int, int, int, int]) -> np.ndarray:
    """Instance image with (number, u0, v0, u1, v1) painted in turn."""
    image = np.zeros((HEIGHT, WIDTH), dtype=np.int32)
    for number, u0, v0, u1, v1 in rectangles:
        image[v0:v1, u0:u1] = number
    return image


def test_a_wholly_seen_box_is_labelled_with_its_pixels() -> None:
    # A cube of 2 m, its near face 8 m away: 8 px wide, its far face 6.4 px.
    thing = Thing("car", at(9.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0, instance=5)
    image = picture((5, 28, 20, 36, 28))
    (label,) = label_things([thing], CAMERA, image, image)
    assert label.box_px == (28.0, 20.0, 36.0, 28.0)
    assert label.visible == pytest.approx(1.0, abs=0.02)
    assert label.distance_m == pytest.approx(9.0)
    assert label.counts


def test_half_hidden_is_half_seen_and_the_box_is_of_what_is_seen() -> None:
    thing = Thing("car", at(9.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0, instance=5)
    image = picture((5, 28, 20, 36, 28), (6, 32, 20, 36, 28))
    (label,) = label_things([thing], CAMERA, image, image)
    assert label.box_px == (28.0, 20.0, 32.0, 28.0)
    assert label.visible == pytest.approx(0.5 / FILL["car"], rel=0.15)


def test_outside_the_picture_counts_as_not_seen() -> None:
    # The box reaches from straight ahead to far beyond the left edge.
    thing = Thing("bus", at(10.0, 10.0, 0.0), (0.1, 10.0, 1.5), 0, instance=7)
    image = picture((7, 0, 19, 32, 29))
    (label,) = label_things([thing], CAMERA, image, image)
    assert label.visible == pytest.approx(0.5, abs=0.12)


def test_what_no_pixel_shows_has_no_label() -> None:
    thing = Thing("car", at(9.0, 0.0, 0.0), (1.0, 1.0, 1.0), 0, instance=5)
    assert label_things([thing], CAMERA, picture((6, 0, 0, 9, 9)), picture()) == []


def test_a_thing_without_a_number_takes_the_pixels_of_its_tag_inside_its_box() -> None:
    thing = Thing("light red", at(8.0, 0.0, 0.0), (0.2, 0.5, 1.0), 7)
    tags = picture((7, 30, 20, 34, 28), (7, 0, 0, 10, 10))
    (label,) = label_things([thing], CAMERA, picture(), tags)
    assert label.box_px == (30.0, 20.0, 34.0, 28.0)
    assert label_things([Thing("light red", at(-8.0, 0.0, 0.0), (0.2, 0.5, 1.0), 7)], CAMERA, picture(), tags) == []


def test_left_and_right_by_handedness() -> None:
    left = CAMERA.project(np.array([[10.0, 3.0, 0.0]]))[0][0, 0]
    right = Pinhole(WIDTH, HEIGHT, CAMERA.fov_x_rad, np.eye(4), handed=-1).project(np.array([[10.0, 3.0, 0.0]]))[0][
        0, 0
    ]
    assert left < (WIDTH - 1) / 2 < right


def test_small_or_hidden_does_not_count() -> None:
    assert not Label("car", (0.0, 0.0, 9.0, 7.0), 1.0, 10.0).counts
    assert not Label("car", (0.0, 0.0, 9.0, 8.0), 0.39, 10.0).counts
    assert Label("car", (0.0, 0.0, 9.0, 8.0), 0.4, 10.0).counts


def test_an_unknown_class_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown class tram"):
        Thing("tram", np.eye(4), (1.0, 1.0, 1.0), 0)
    assert speed_limit_class(35.0) is None
    assert speed_limit_class(90.0) in CLASSES


@given(
    st.lists(st.tuples(st.floats(-40, 40), st.floats(-40, 40), st.floats(-5, 5), st.integers(1, 9)), max_size=6),
    st.integers(1, 40),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_any_scene_gives_boxes_inside_the_picture(places, width, height, random) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(random.randrange(2**32))
    image = rng.integers(0, 10, (height, width)).astype(np.int32)
    camera = Pinhole(width, height, 1.0, np.eye(4))
    things = [Thing("pedestrian", at(x, y, z), (0.4, 0.4, 0.9), 3, instance=n) for x, y, z, n in places]
    things += [Thing("stop sign", at(x, y, z), (0.4, 0.4, 0.9), 3, face_m=0.6) for x, y, z, _ in places]
    for label in label_things(things, camera, image, image):
        u0, v0, u1, v1 = label.box_px
        assert 0 <= u0 < u1 <= width
        assert 0 <= v0 < v1 <= height
        assert 0.0 <= label.visible <= 1.0


def test_a_parked_car_that_is_no_actor_is_labelled_and_does_not_count() -> None:
    """Instance 5 is an actor, 7 a parked car, 8 a wall, and 9 a car of too few pixels."""
    instances = picture((5, 4, 4, 20, 20), (7, 30, 10, 50, 22), (8, 0, 40, 64, 48), (9, 60, 0, 63, UNOWNED_MIN_PX // 4))
    tags = np.select([np.isin(instances, (5, 7, 9)), instances == 8], [14, 1])
    (label,) = label_unowned(instances, tags, {5})
    assert (label.name, label.box_px) == ("car", (30.0, 10.0, 50.0, 22.0))
    assert not label.counts
