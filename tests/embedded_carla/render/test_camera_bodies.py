"""Camera messages as CARLA's client decodes them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.render import Picture, Renderer, Shot
from embedded_carla.scene import CameraView
from embedded_carla.sensors.cameras import (
    DEPTH,
    INSTANCE,
    RGB,
    SEMANTIC,
    CameraRequest,
    camera_bodies,
    encode_depth,
)
from embedded_carla.types import SemanticTag, Transform, WeatherParameters
from tests.embedded_carla.render.street import traffic

KINDS = (RGB, DEPTH, SEMANTIC, INSTANCE)
VIEW = CameraView(200, 120, 70.0, Transform(0.0, 1.8, 1.5))
NOON = WeatherParameters(sun_altitude_angle=60.0)


def bodies(renderer: Renderer, *requests: CameraRequest) -> dict[int, bytes]:
    made = camera_bodies(renderer, requests, traffic(), {}, NOON, 1.0)
    return {sensor_id: b"".join(parts) for sensor_id, parts in made.items()}


def pixels(body: bytes) -> np.ndarray:
    width, height, fov = struct.unpack_from("<IIf", body)
    assert (width, height, fov) == (200, 120, 70.0)
    assert len(body) == 12 + width * height * 4
    return np.frombuffer(body, np.uint8, offset=12).reshape(height, width, 4)


def test_every_kind_agrees_with_the_picture(renderer: Renderer) -> None:
    made = bodies(renderer, *(CameraRequest(i, kind, VIEW) for i, kind in enumerate(KINDS)))
    picture = renderer.render(VIEW, traffic(), {}, NOON, 1.0, rgb=True, depth=True, labels=True)
    assert picture.bgra is not None
    assert picture.depth_m is not None
    assert picture.tag is not None
    assert picture.instance is not None
    by_kind = {kind: pixels(made[i]).astype(np.int64) for i, kind in enumerate(KINDS)}
    assert np.array_equal(by_kind[RGB], picture.bgra)
    b, g, r = (by_kind[DEPTH][..., c] for c in range(3))
    depth = 1000.0 * (r + 256 * g + 65536 * b) / (2**24 - 1)
    assert np.allclose(depth, picture.depth_m, atol=1e-3)
    assert np.array_equal(by_kind[SEMANTIC][..., 2], picture.tag)
    assert np.array_equal(by_kind[INSTANCE][..., 2], picture.tag)
    instance = by_kind[INSTANCE][..., 1] + 256 * by_kind[INSTANCE][..., 0]
    assert np.array_equal(instance, picture.instance)
    cars = instance[picture.tag == SemanticTag.CAR]
    assert set(np.unique(cars)) <= {a.actor_id for a in traffic()}
    assert len(np.unique(cars)) > 3


def test_cameras_of_one_pose_share_a_pass(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[dict[str, bool]] = []
    real = renderer.render_all

    def counted(shots: Sequence[Shot], *args: Any) -> Iterator[Picture]:
        passes.extend({"rgb": shot.rgb, "depth": shot.depth, "labels": shot.labels} for shot in shots)
        return real(shots, *args)

    monkeypatch.setattr(renderer, "render_all", counted)
    other = CameraView(200, 120, 70.0, Transform(0.0, 1.8, 1.5, 0.0, 90.0))
    made = bodies(renderer, CameraRequest(4, RGB, VIEW), CameraRequest(5, SEMANTIC, VIEW), CameraRequest(6, RGB, other))
    assert passes == [
        {"rgb": True, "depth": False, "labels": True},
        {"rgb": True, "depth": False, "labels": False},
    ]
    assert set(made) == {4, 5, 6}
    assert made[4] != made[6]


def test_depth_is_clipped_at_a_kilometre() -> None:
    image = encode_depth(np.array([[0.0, 1000.0, 5000.0]], dtype=np.float32))
    assert image[0, 0, :3].tolist() == [0, 0, 0]
    assert image[0, 1, :3].tolist() == image[0, 2, :3].tolist() == [255, 255, 255]


def test_unknown_camera_is_named(renderer: Renderer) -> None:
    with pytest.raises(EmbeddedCarlaError, match=r"sensor\.camera\.xray"):
        bodies(renderer, CameraRequest(1, "sensor.camera.xray", VIEW))
