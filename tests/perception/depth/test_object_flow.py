"""How objects move, from the texture in their boxes: made pictures and made corners with known answers."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from av_core.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix, vehicle_to_image
from av_core.types import CameraModel, Float, Image
from perception.depth.face_flow import BoxFlow, box_flows
from perception.depth.object_flow import ObjectFlow, _owners, relative_velocity

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 0.0, 0.0, 1.6, math.radians(2.0))
DT_S, FOCAL_PX = 0.05, 554.0
HALF_WIDTH_M, HEIGHT_M = 0.95, 1.5
_TEXTURE = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (512, 512)).astype(np.float32), (0, 0), 2.0)
_TEXTURE = cv2.normalize(_TEXTURE, np.empty_like(_TEXTURE), 20, 235, cv2.NORM_MINMAX).astype(np.float32)

Box = tuple[float, float, float, float]


def render(x_m: float, y_m: float, yaw_rad: float = 0.0) -> tuple[Image, Box]:
    """The upright back of a car at (x, y) of the frame in which the camera is turned by `yaw_rad`, and its box."""
    k, turn = intrinsics(CAMERA), rotation_matrix(yaw_rad, 0.0, 0.0) @ optical_to_vehicle_rotation(CAMERA)
    u, v = np.meshgrid(np.arange(CAMERA.width_px), np.arange(CAMERA.height_px))
    ray = np.stack([(u - k[0, 2]) / k[0, 0], (v - k[1, 2]) / k[1, 1], np.ones(u.shape)], axis=-1) @ turn.T
    slope = ray / np.maximum(ray[..., :1], 0.1)
    across, up = slope[..., 1] * x_m - y_m, slope[..., 2] * x_m + CAMERA.z_m
    inside = (np.abs(across) < HALF_WIDTH_M) & (up > 0.0) & (up < HEIGHT_M)
    column = np.where(inside, across * 60.0 + 100.0, slope[..., 1] * 300.0 + 300.0) % 511
    row = np.where(inside, up * 60.0 + 100.0, slope[..., 2] * 300.0 + 300.0) % 511
    grey = cv2.remap(_TEXTURE, column.astype(np.float32), row.astype(np.float32), cv2.INTER_LINEAR)
    corners = [[x_m, y_m + s * HALF_WIDTH_M, h] for s in (-1, 1) for h in (0.0, HEIGHT_M)]
    pixels, _ = vehicle_to_image(np.array(corners) @ rotation_matrix(yaw_rad, 0.0, 0.0), CAMERA)
    (u0, v0), (u1, v1) = pixels.min(axis=0), pixels.max(axis=0)
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2), (float(u0), float(v0), float(u1), float(v1))


@pytest.mark.parametrize(
    ("x", "y", "vx", "vy", "turn_radps", "most"),
    [
        (14.0, 0.5, -4.0, 0.0, 0.0, 0.4),
        (14.0, -1.0, 2.0, 1.5, 0.2, 0.4),
        (28.0, 1.0, -10.0, 0.0, 0.0, 1.2),
        (28.0, 1.0, 0.0, 0.0, -0.3, 0.8),
    ],
)
def test_velocities_of_made_cars(x: float, y: float, vx: float, vy: float, turn_radps: float, most: float) -> None:
    flow, rng, errors = ObjectFlow(), np.random.default_rng(1), []
    for number in range(14):
        t = number * DT_S
        yaw = turn_radps * t
        picture, box = render(x + vx * t, y + vy * t, yaw)
        shaken = np.array(box) + rng.normal(0.0, 1.0, 4)  # the box's own jitter must not matter
        found = flow.update(
            picture, CAMERA, DT_S if number else 0.0, (0.0, 0.0, turn_radps * DT_S), [tuple(shaken.tolist())]
        )
        if number > 7:
            assert found[0] is not None
            ahead = (x + vx * t) * math.cos(yaw) + (y + vy * t) * math.sin(yaw)
            velocity, covariance = relative_velocity(found[0], ahead, CAMERA)
            assert np.linalg.eigvalsh(covariance)[0] > 0.0
            turned = rotation_matrix(yaw, 0.0, 0.0)[:2, :2] @ velocity
            errors.append(turned - [vx, vy])
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < most


def test_corners_are_sought_on_the_side_that_comes_free() -> None:
    """Where the corners lie (left, right) of a car ahead most of which a plain wall hides at first."""
    flow, counts = ObjectFlow(), {}
    for number in range(20):
        picture, (u0, v0, u1, v1) = render(12.0 - 0.1 * number, 0.0)
        middle, boxes = (u0 + u1) / 2.0, [(u0, v0, u1, v1)]
        if number < 10:
            picture[:, : round(u0 + 0.75 * (u1 - u0))] = 128
        flow.update(picture, CAMERA, DT_S if number else 0.0, (0.0, 0.0, 0.0), boxes)
        column = flow._pixels[_owners(flow._pixels, np.array(boxes)) == 0, 0]
        counts[number] = (column <= middle).sum(), (column > middle).sum()
    assert counts[9][1] > 8
    assert counts[19][0] >= 5
    assert sum(counts[19]) <= 20


def test_a_side_that_comes_into_view_is_no_approach() -> None:
    """Corners of a front and a side, 4.6 m deep, of a car that comes nearer on the other lane: mean and spread."""
    rng, found, sigmas = np.random.default_rng(0), [], []
    x, y, speed, span = 20.0, 3.5, -13.0, 0.3
    for _ in range(150):
        on_side = rng.random(12) < 0.5
        ahead = np.where(on_side, x + rng.uniform(0.0, 4.6, 12), x)
        left = np.where(on_side, y - 0.9, y + rng.uniform(-0.9, 0.9, 12))
        up = rng.uniform(-1.3, -0.1, 12)
        flow = _flow_of(ahead, left, up, np.array([speed, 0.0]) * span, span, rng)
        if flow is not None:
            velocity, covariance = relative_velocity(flow, x, LEVEL)
            found.append(velocity[0] - speed)
            sigmas.append(math.sqrt(covariance[0, 0] / flow.pictures))
    assert len(found) > 130
    assert abs(np.mean(found)) < 0.6
    assert np.std(found) < 1.5
    assert 0.5 < np.std(found) / np.mean(sigmas) < 2.0


LEVEL = CameraModel("front", 640, 360, math.radians(60.0), 0.0, 0.0, 1.6)


def _flow_of(
    ahead: Float, left: Float, up: Float, moved_m: Float, span_s: float, rng: np.random.Generator
) -> BoxFlow | None:
    """The fit of corners that moved by (forward, left) in one step, with a tenth of a pixel of noise in both looks."""
    now = np.column_stack([-left / ahead, -up / ahead])
    then = np.column_stack([-(left - moved_m[1]), -up]) / (ahead - moved_m[0])[:, None]
    trail = np.full((len(now), 11, 2), np.nan)
    trail[:, 0] = now + rng.normal(0.0, 0.1 / FOCAL_PX, now.shape)
    trail[:, 1] = then + rng.normal(0.0, 0.1 / FOCAL_PX, now.shape)
    return box_flows(trail, np.zeros(len(now), dtype=np.int64), np.array([10]), np.array([0.0, span_s]), LEVEL)[0]


def test_a_cut_in_time_forgets_and_nothing_to_follow_tells_nothing() -> None:
    flow = ObjectFlow()
    for number in range(5):
        picture, box = render(14.0 - 0.2 * number, 0.0)
        assert flow.update(picture, CAMERA, DT_S if number else 0.0, (0.0, 0.0, 0.0), []) == ()
    picture, box = render(13.0, 0.0)
    assert flow.update(picture, CAMERA, DT_S, (0.0, 0.0, 0.0), [box]) == (None,)
    assert flow.update(picture, CAMERA, DT_S, (0.0, 0.0, 0.0), [box])[0] is not None
    assert flow.update(picture, CAMERA, 0.0, (0.0, 0.0, 0.0), [box]) == (None,)
    plain = np.full((360, 640, 3), 90, dtype=np.uint8)
    assert [flow.update(plain, CAMERA, DT_S, (0.0, 0.0, 0.0), [box]) for _ in range(3)] == [(None,)] * 3


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
    camera, rng, flow = CameraModel("any", width, height, 1.0, 0.0, 0.0, 1.0), np.random.default_rng(seed), ObjectFlow()
    still = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    boxes = [*boxes, (0.0, 0.0, float(width), float(height))]
    for number in range(4):
        picture = still if number % 2 else rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
        found = flow.update(picture, camera, 0.05, (0.0, 0.0, turn), boxes)
        assert len(found) == len(boxes)
        for one in found:
            if one is not None:
                velocity, covariance = relative_velocity(one, 12.0, camera)
                assert np.isfinite(velocity).all()
                assert np.linalg.eigvalsh(covariance)[0] > 0.0
