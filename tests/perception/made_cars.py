"""Pictures of a car that moves in a known way, before a background that is far away."""

from __future__ import annotations

import math

import cv2
import numpy as np

from av_stack.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix, vehicle_to_image
from av_stack.types import CameraModel, Image
from perception.boxes import Box

CAMERA = CameraModel("front", 640, 360, math.radians(60.0), 0.0, 0.0, 1.6, math.radians(2.0))
DT_S = 0.05
HALF_WIDTH_M, HEIGHT_M = 0.95, 1.5
_TEXTURE = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (512, 512)).astype(np.float32), (0, 0), 2.0)
_TEXTURE = cv2.normalize(_TEXTURE, None, 20, 235, cv2.NORM_MINMAX).astype(np.float32)


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
