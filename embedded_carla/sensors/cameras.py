"""Bodies of camera messages: 12 bytes of width, height, fov and width * height BGRA pixels, rows top-down."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.render import Picture, Renderer
from embedded_carla.scene import ActorView, CameraView
from embedded_carla.types import SignalColour, WeatherParameters

RGB = "sensor.camera.rgb"
DEPTH = "sensor.camera.depth"
SEMANTIC = "sensor.camera.semantic_segmentation"
INSTANCE = "sensor.camera.instance_segmentation"
KINDS = (RGB, DEPTH, SEMANTIC, INSTANCE)
DEPTH_RANGE_M = 1000.0
_DEPTH_STEPS = float(2**24 - 1)


@dataclass(frozen=True, slots=True)
class CameraRequest:
    """A camera that is due this tick; `kind` is its blueprint's id, `view` its world pose, size and angle."""

    sensor_id: int
    kind: str
    view: CameraView


def camera_bodies(
    renderer: Renderer,
    requests: Sequence[CameraRequest],
    actors: Sequence[ActorView],
    lights: Mapping[str, SignalColour],
    weather: WeatherParameters,
    time_s: float,
) -> dict[int, bytes]:
    """The message body of each request by sensor id; cameras with one pose, size and angle share one pass.

    Raises EmbeddedCarlaError for a kind that is not a camera.
    """
    by_view: dict[CameraView, list[CameraRequest]] = {}
    for request in requests:
        if request.kind not in KINDS:
            raise EmbeddedCarlaError(f"'{request.kind}' is not a camera; there are {', '.join(KINDS)}")
        by_view.setdefault(request.view, []).append(request)
    bodies: dict[int, bytes] = {}
    for view, sharing in by_view.items():
        kinds = {request.kind for request in sharing}
        picture = renderer.render(
            view, actors, lights, weather, time_s,
            rgb=RGB in kinds, depth=DEPTH in kinds, labels=bool(kinds & {SEMANTIC, INSTANCE}),
        )  # fmt: skip
        head = struct.pack("<IIf", view.width_px, view.height_px, view.fov_deg)
        encoded = {kind: head + encode(picture, kind).tobytes() for kind in kinds}
        bodies.update({request.sensor_id: encoded[request.kind] for request in sharing})
    return bodies


def encode(picture: Picture, kind: str) -> NDArray[np.uint8]:
    """(H, W, 4) uint8 BGRA of one kind, as CARLA's raw images. The picture must hold what `kind` needs."""
    if kind == RGB:
        assert picture.bgra is not None
        return picture.bgra
    if kind == DEPTH:
        assert picture.depth_m is not None
        return encode_depth(picture.depth_m)
    assert picture.tag is not None
    assert picture.instance is not None
    out = np.zeros((*picture.tag.shape, 4), dtype=np.uint8)
    out[..., 2] = picture.tag
    out[..., 3] = 255
    if kind == INSTANCE:
        out[..., 1] = picture.instance & 0xFF
        out[..., 0] = picture.instance >> 8
    return out


def encode_depth(depth_m: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Planar depth (H, W) m -> (H, W, 4): R + 256 G + 65536 B = depth / 1000 m * (2^24 - 1), beyond 1000 m clipped."""
    steps = np.minimum(depth_m, np.float32(DEPTH_RANGE_M)) * np.float32(_DEPTH_STEPS / DEPTH_RANGE_M)
    steps = np.minimum(steps, np.float32(_DEPTH_STEPS)).astype("<u4")  # float32 holds 24-bit whole numbers exactly
    raw = steps.view(np.uint8).reshape(*depth_m.shape, 4)  # R, G, B, 0
    out = np.empty_like(raw)
    out[..., 0], out[..., 1], out[..., 2], out[..., 3] = raw[..., 2], raw[..., 1], raw[..., 0], 255
    return out
