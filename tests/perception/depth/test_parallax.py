"""Depth from motion in a made world: textured walls beside and ahead of a car that drives past them."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from av_core.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix, vehicle_to_image
from av_core.types import CameraModel, Float, Image
from perception.depth.parallax import Parallax

CAMERA = CameraModel("front", 320, 180, math.radians(60.0), 2.0, 0.0, 1.6)
DT_S, SPEED_MPS = 0.05, 8.0
WALL_Y_M, END_X_M = 5.0, 34.0
_TEXTURE = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (512, 512)).astype(np.float32), (0, 0), 1.5)


def render(pose: tuple[float, float, float]) -> tuple[Image, Float]:
    """What the camera shows from (x, y, yaw): walls at y = +-5 m, a wall across at x = 34 m; with the true depth."""
    k, turn = intrinsics(CAMERA), rotation_matrix(pose[2], 0.0, 0.0) @ optical_to_vehicle_rotation(CAMERA)
    u, v = np.meshgrid(np.arange(CAMERA.width_px), np.arange(CAMERA.height_px))
    optical = np.stack([(u - k[0, 2]) / k[0, 0], (v - k[1, 2]) / k[1, 1], np.ones(u.shape)], axis=-1)
    ray = optical @ turn.T
    eye = rotation_matrix(pose[2], 0, 0) @ [CAMERA.x_m, CAMERA.y_m, CAMERA.z_m] + [pose[0], pose[1], 0.0]
    with np.errstate(divide="ignore"):
        side = np.where(ray[..., 1] > 0, (WALL_Y_M - eye[1]) / ray[..., 1], (-WALL_Y_M - eye[1]) / ray[..., 1])
        ahead = np.where(ray[..., 0] > 0, (END_X_M - eye[0]) / ray[..., 0], np.inf)
    depth = np.minimum(side, ahead)
    at = eye + depth[..., None] * ray
    across = np.where(side < ahead, at[..., 0], at[..., 1] + 77.0)
    x, y = (across * 3.0) % 511, (at[..., 2] * 3.0 + 200.0) % 511
    grey = cv2.remap(_TEXTURE, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR)
    grey = cv2.normalize(grey, np.empty_like(grey), 20, 235, cv2.NORM_MINMAX)
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2), depth


@pytest.mark.parametrize("turn_rate", [0.0, 0.15])
def test_triangulated_depths_are_right(turn_rate: float) -> None:
    parallax, errors, depths, counts = Parallax(), [], [], []
    x = y = yaw = 0.0
    for frame in range(24):
        picture, truth = render((x, y, yaw))
        moved = SPEED_MPS * DT_S if frame else 0.0
        found = parallax.update(picture, CAMERA, moved, (0.0, 0.0, turn_rate * DT_S if frame else 0.0), ())
        if frame > 12:
            counts.append(len(found.pixels))
            at = np.rint(found.pixels).astype(int)
            depths.append(truth[at[:, 1], at[:, 0]])
            errors.append(np.abs(found.depth_m / depths[-1] - 1.0))
        middle = yaw + turn_rate * DT_S / 2.0
        x, y = x + SPEED_MPS * DT_S * math.cos(middle), y + SPEED_MPS * DT_S * math.sin(middle)
        yaw += turn_rate * DT_S
    off = np.concatenate(errors)
    assert min(counts) > 30
    assert np.median(off[np.concatenate(depths) < 16.0]) < 0.05  # a third of the pixels that the rig's camera has
    assert np.mean(off) < 0.10


def test_a_standing_car_learns_nothing() -> None:
    parallax = Parallax()
    picture, _ = render((0.0, 0.0, 0.0))
    for _ in range(12):
        found = parallax.update(picture, CAMERA, 0.0, (0.0, 0.0, 0.0), ())
    assert len(found.pixels) == 0


def test_what_moves_by_itself_is_left_out() -> None:
    parallax = Parallax()
    box = (0.0, 0.0, 160.0, 180.0)
    for frame in range(20):
        picture, _ = render((frame * SPEED_MPS * DT_S, 0.0, 0.0))
        found = parallax.update(picture, CAMERA, SPEED_MPS * DT_S, (0.0, 0.0, 0.0), (box,))
    assert len(found.pixels) > 5
    assert (found.pixels[:, 0] > 160.0).all()


def test_projection_and_triangulation_agree_for_a_tilted_camera() -> None:
    """Points are moved by hand: the sums alone, without pictures."""
    camera = CameraModel("front", 640, 360, math.radians(60.0), 2.1, 0.3, 1.6, math.radians(4.0), 0.1, 0.02)
    point = np.array([[18.0, 3.0, 2.5]])
    parallax = Parallax()
    blank = np.zeros((360, 640, 3), dtype=np.uint8)
    parallax.update(blank, camera, 0.0, (0.0, 0.0, 0.0), ())
    turn = rotation_matrix(0.01, 0.002, 0.001)
    half = rotation_matrix(0.005, 0.001, 0.0005)
    parallax._pixels = vehicle_to_image(point, camera)[0]
    parallax._information, parallax._vector = np.zeros((1, 3, 3)), np.zeros((1, 3))
    parallax._views, parallax._residual = np.zeros(1, dtype=np.int64), np.zeros(1)
    for _ in range(10):
        parallax._observe(camera, True)
        parallax._move(0.5, (0.001, 0.002, 0.01))
        point = (point - half @ [0.5, 0.0, 0.0]) @ turn
        parallax._pixels = vehicle_to_image(point, camera)[0]
    parallax._observe(camera, True)
    found = parallax._points(camera)
    np.testing.assert_allclose(found.depth_m, vehicle_to_image(point, camera)[1], rtol=1e-4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(2, 90), st.integers(2, 90))
def test_any_pictures_give_finite_depths(data: st.DataObject, width: int, height: int) -> None:
    camera = CameraModel("any", width, height, 1.0, 0.0, 0.0, 1.0)
    parallax = Parallax()
    for _ in range(4):
        kind = data.draw(st.integers(0, 2))
        if kind == 0:
            picture = np.full((height, width, 3), data.draw(st.integers(0, 255)), dtype=np.uint8)
        elif kind == 1:
            seed = data.draw(st.integers(0, 100))
            picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
        else:
            picture = data.draw(hnp.arrays(np.uint8, (height, width, 3), elements=st.integers(0, 255)))
        moved = data.draw(st.floats(-5.0, 5.0) | st.just(math.nan))
        found = parallax.update(picture, camera, moved, (0.0, 0.0, data.draw(st.floats(-1.0, 1.0))), ())
        assert np.isfinite(found.depth_m).all()
        assert np.isfinite(found.sigma_m).all()
        assert (found.depth_m > 0.0).all()
