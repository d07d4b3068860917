"""Made pictures of roads with known lines, drawn through the camera model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from av_core.frames import image_to_ground
from av_core.types import CameraImage, CameraModel, Image, Stamp

Float = NDArray[np.float64]

FRONT = CameraModel("front", 640, 360, math.radians(60.0), 1.9, 0.0, 1.5)
OVER = 2
"""Points a pixel, across and down."""
NEAR_STRIPE = 2.0
"""Widths of a stripe beside its line, along y, within which its paint is searched: enough for slopes up to 3.8."""
WHITE, YELLOW = (225, 225, 225), (60, 190, 225)


@dataclass(frozen=True)
class Paint:
    """A stripe along y(x): `dash_m`/`gap_m` measured along x from `phase_m`; gap 0 is solid."""

    y: Callable[[Float], Float]
    colour: tuple[int, int, int] = WHITE
    width_m: float = 0.13
    dash_m: float = 3.0
    gap_m: float = 0.0
    phase_m: float = 0.0


def draw_road(
    stripes: list[Paint],
    camera: CameraModel = FRONT,
    *,
    asphalt: int = 90,
    noise: float = 3.0,
    seed: int = 0,
    shade: Callable[[Float, Float], Float] | None = None,
    extra: Callable[[Float, Float], NDArray[np.bool_]] | None = None,
) -> Image:
    """The road as `camera` sees it, antialiased 2x across and down; `shade(x, y)` scales light; `extra` is white."""
    x, y, sky = _ground(camera)
    picture = np.full((*x.shape, 3), float(asphalt))
    below = slice(int(np.argmin(sky.all(axis=1))), None)  # the rows that show ground
    road, ground_x, ground_y = picture[below], x[below], y[below]
    for stripe in stripes:
        beside_m = np.abs(ground_y - stripe.y(ground_x))
        on = np.nonzero(beside_m <= NEAR_STRIPE * stripe.width_m)
        along_m = ground_x[on]
        painted = beside_m[on] * _cosine(stripe, along_m) <= stripe.width_m / 2.0
        if stripe.gap_m > 0.0:
            painted &= (along_m - stripe.phase_m) % (stripe.dash_m + stripe.gap_m) < stripe.dash_m
        road[on[0][painted], on[1][painted]] = stripe.colour
    if extra is not None:
        picture[extra(x, y)] = WHITE
    if shade is not None:
        picture *= shade(x, y)[..., None]
    picture[sky] = (235, 200, 160)
    small = np.zeros((camera.height_px, camera.width_px, 3))
    for row, column in np.ndindex(OVER, OVER):
        small += picture[row::OVER, column::OVER]
    small /= OVER**2
    small += np.random.default_rng(seed).normal(0.0, noise, small.shape)
    return np.asarray(np.clip(small, 0, 255), dtype=np.uint8)


@cache
def _ground(camera: CameraModel) -> tuple[Float, Float, NDArray[np.bool_]]:
    """x and y of the ground (m, vehicle frame) under each of OVER x OVER points of each pixel, and which are sky."""
    u = (np.arange(camera.width_px * OVER) + 0.5) / OVER - 0.5
    v = (np.arange(camera.height_px * OVER) + 0.5) / OVER - 0.5
    ground = image_to_ground(np.stack(np.meshgrid(u, v), axis=-1), camera)
    x, y = ground[..., 0], ground[..., 1]
    sky = ~np.isfinite(x) | (x > 400.0)
    return np.where(sky, 0.0, x), np.where(sky, 1e6, y), sky


def _cosine(stripe: Paint, x: Float) -> Float:
    slope = (stripe.y(x + 0.01) - stripe.y(x - 0.01)) / 0.02
    return np.asarray(1.0 / np.sqrt(1.0 + slope**2))


def camera_image(bgr: Image, frame: int = 0, camera: CameraModel = FRONT, dt_s: float = 0.05) -> CameraImage:
    return CameraImage(Stamp(frame, frame * dt_s), camera, bgr)
