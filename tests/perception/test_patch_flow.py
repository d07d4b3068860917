"""How objects move, from how their pictures grew: made pictures with known answers."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_cars import CAMERA, DT_S, render

from av_stack.frames import rotation_matrix
from av_stack.types import CameraModel, Image
from perception.boxes import Box
from perception.depth.object_flow import relative_velocity
from perception.depth.patch_flow import PatchFlow
from perception.depth.patch_match import Region, match, pyramid

_NOISE = cv2.GaussianBlur(np.random.default_rng(3).uniform(0, 255, (200, 200)).astype(np.float32), (0, 0), 2.5)
TEXTURE: Image = np.interp(_NOISE, (_NOISE.min(), _NOISE.max()), (20.0, 235.0)).astype(np.uint8)


@pytest.mark.parametrize("side", [16.0, 40.0, 110.0])
@pytest.mark.parametrize(("growth", "shift", "gain"), [(0.0, 0.0, 1.0), (0.06, 1.3, 0.8), (-0.05, -1.1, 1.08)])
def test_growth_and_shift_of_a_patch_are_found(side: float, growth: float, shift: float, gain: float) -> None:
    scale = math.exp(growth)
    at = 100.0 + shift
    warp = np.array([[scale, 0.0, at - scale * 100.0], [0.0, scale, at - scale * 100.0]])
    now = np.clip(gain * cv2.warpAffine(TEXTURE, warp, (200, 200), borderMode=cv2.BORDER_REFLECT), 0, 255)
    region = Region(100.0, 100.0, side, side)
    found = match(pyramid(TEXTURE, 3), region, pyramid(now.astype(np.uint8), 3), region)
    assert found is not None
    assert found.likeness > 0.97
    assert (found.region.u, found.region.v) == pytest.approx((at, at), abs=0.08)
    assert found.growth == pytest.approx(growth, abs=0.2 / side)
    assert found.growth == pytest.approx(growth, abs=3.0 * math.sqrt(found.covariance[2, 2]))


def test_what_is_unlike_or_plain_or_leaves_the_picture_is_told() -> None:
    region = Region(100.0, 100.0, 30.0, 30.0)
    other = np.random.default_rng(5).integers(0, 256, (200, 200)).astype(np.uint8)
    found = match(pyramid(TEXTURE, 3), region, pyramid(other, 3), region)
    assert found is None or found.likeness < 0.6
    plain = pyramid(np.full((200, 200), 90, dtype=np.uint8), 3)
    assert match(plain, region, pyramid(TEXTURE, 3), region) is None
    assert match(pyramid(TEXTURE, 3), region, pyramid(TEXTURE, 3), Region(8.0, 100.0, 30.0, 30.0)) is None


@pytest.mark.parametrize(
    ("x", "y", "vx", "vy", "turn_radps", "most"),
    [
        (14.0, 0.5, -4.0, 0.0, 0.0, 0.2),
        (28.0, 1.0, -10.0, 0.0, 0.0, 0.5),
        (28.0, 1.0, 0.0, 0.0, -0.3, 0.5),
        (38.0, 1.0, 3.0, 1.0, 0.0, 0.6),
    ],
)
def test_velocities_of_made_cars(x: float, y: float, vx: float, vy: float, turn_radps: float, most: float) -> None:
    flow, rng, errors = PatchFlow(), np.random.default_rng(1), []
    for number in range(14):
        t = number * DT_S
        yaw = turn_radps * t
        picture, box = render(x + vx * t, y + vy * t, yaw)
        shaken = np.array(box) + rng.normal(0.0, 1.0, 4)  # the box's own jitter must not matter
        turned = (0.0, 0.0, turn_radps * DT_S)
        found = flow.update(picture, CAMERA, DT_S if number else 0.0, turned, [tuple(shaken.tolist())])[0]
        if number > 7:
            assert found is not None
            ahead = (x + vx * t) * math.cos(yaw) + (y + vy * t) * math.sin(yaw)
            velocity, covariance = relative_velocity(found, ahead, CAMERA)
            assert np.linalg.eigvalsh(covariance)[0] > 0.0
            errors.append(rotation_matrix(yaw, 0.0, 0.0)[:2, :2] @ velocity - [vx, vy])
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < most


def test_a_nearer_object_before_it_and_a_cut_in_time_end_it() -> None:
    flow = PatchFlow()
    picture, box = render(14.0, 0.0)
    still = (0.0, 0.0, 0.0)
    assert flow.update(picture, CAMERA, 0.0, still, [box]) == (None,)
    assert flow.update(picture, CAMERA, DT_S, still, [box])[0] is not None
    nearer = (box[0] - 40.0, box[1], (box[0] + box[2]) / 2.0, box[3] + 20.0)
    assert flow.update(picture, CAMERA, DT_S, still, [box, nearer])[0] is None
    assert flow.update(picture, CAMERA, DT_S, still, [box])[0] is not None
    assert flow.update(picture, CAMERA, 0.0, still, [box]) == (None,)


numbers = st.floats(-700.0, 700.0) | st.sampled_from([math.nan, math.inf, -math.inf])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(2, 120),
    st.integers(2, 120),
    st.integers(0, 2**31),
    st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=4),
    st.floats(-1.0, 1.0) | st.just(math.nan),
)
def test_any_pictures_and_boxes_give_finite_answers(
    width: int, height: int, seed: int, boxes: list[Box], turn: float
) -> None:
    camera, rng, flow = CameraModel("any", width, height, 1.0, 0.0, 0.0, 1.0), np.random.default_rng(seed), PatchFlow()
    still = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    boxes = [*boxes, (3.0, 3.0, width - 4.0, height - 4.0)]
    for number in range(4):
        picture = still if number % 2 else rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
        found = flow.update(picture, camera, 0.05, (0.0, 0.0, turn), boxes)
        assert len(found) == len(boxes)
        for one in found:
            if one is not None:
                velocity, covariance = relative_velocity(one, 12.0, camera)
                assert np.isfinite(velocity).all()
                assert np.linalg.eigvalsh(covariance)[0] > 0.0
