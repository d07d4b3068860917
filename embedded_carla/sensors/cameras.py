"""Bodies of camera messages: 12 bytes of width, height and fov, then the pixels (rows top-down) or the events.

A pixel is BGRA; optical flow has two f32 per pixel instead (flow.py), an event camera a list of events (dvs.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.render import Picture, Renderer, Shot
from embedded_carla.scene import ActorView, CameraView
from embedded_carla.sensors import pixels
from embedded_carla.sensors.cosmos import traffic_colours
from embedded_carla.sensors.development import Development
from embedded_carla.sensors.dvs import EventCamera
from embedded_carla.sensors.flow import actor_poses, optical_flow
from embedded_carla.sensors.lens import Lens, bend, darken_rim
from embedded_carla.sensors.motion_blur import blur
from embedded_carla.types import Float, Part, SignalColour, WeatherParameters

RGB = "sensor.camera.rgb"
DEPTH = "sensor.camera.depth"
SEMANTIC = "sensor.camera.semantic_segmentation"
INSTANCE = "sensor.camera.instance_segmentation"
NORMALS = "sensor.camera.normals"
FLOW = "sensor.camera.optical_flow"
DVS = "sensor.camera.dvs"
COSMOS = "sensor.camera.cosmos_visualization"
KINDS = (RGB, DEPTH, SEMANTIC, INSTANCE, NORMALS, FLOW, DVS, COSMOS)
COLOUR = (RGB, DVS)


@dataclass(slots=True)
class CameraMemory:
    """State that a camera keeps from its last picture, for optical flow, motion blur and events."""

    view: CameraView | None = None
    poses: Mapping[int, Float] = field(default_factory=dict)
    events: EventCamera | None = None


@dataclass(frozen=True, slots=True)
class CameraRequest:
    """A camera that is due this tick; `kind` is its blueprint's id, `view` its world pose, size and field of view.

    * `blur`: motion blur as (intensity, longest path in percent of the picture's width); intensity 0 means none.
    * `hidden`: ids of actors that this camera does not show.
    * `memory`: needed for optical flow, events and blur; must be the same object in every tick.
    """

    sensor_id: int
    kind: str
    view: CameraView
    lens: Lens = field(default_factory=Lens)
    development: Development = field(default_factory=Development)
    blur: tuple[float, float] = (0.0, 0.0)
    hidden: frozenset[int] = frozenset()
    memory: CameraMemory | None = None
    sim_time_s: float = 0.0

    @property
    def exposure(self) -> tuple[float, bool]:
        return (self.development.gain, self.development.adapts)

    @property
    def follows_motion(self) -> bool:
        return self.memory is not None and (self.kind == FLOW or (self.kind == RGB and self.blur[0] > 0.0))


@dataclass(frozen=True, slots=True)
class Scene:
    """Scene shared by all cameras of a tick; `time_s` animates clouds and rain."""

    actors: Sequence[ActorView]
    lights: Mapping[str, SignalColour]
    weather: WeatherParameters
    time_s: float


def camera_bodies(
    renderer: Renderer,
    requests: Sequence[CameraRequest],
    actors: Sequence[ActorView],
    lights: Mapping[str, SignalColour],
    weather: WeatherParameters,
    time_s: float,
) -> dict[int, tuple[Part, ...]]:
    """The message bodies by sensor id, each as a sequence of parts; cameras with the same view share a render pass.

    An event camera without events has no message. Raises EmbeddedCarlaError for a kind that is not a camera.
    """
    by_view: dict[tuple[CameraView, frozenset[int]], list[CameraRequest]] = {}
    for request in requests:
        if request.kind not in KINDS:
            raise EmbeddedCarlaError(f"'{request.kind}' is not a camera; there are {', '.join(KINDS)}")
        by_view.setdefault((request.view, request.hidden), []).append(request)
    views: list[_Shots] = []
    for (view, hidden), sharing in by_view.items():
        visible = [a for a in actors if a.actor_id not in hidden] if hidden else actors
        views.append(_Shots(renderer, view, Scene(visible, lights, weather, time_s), sharing))
    pictures = renderer.render_all([shot for shots in views for shot in shots.wanted], lights, weather, time_s)
    bodies: dict[int, tuple[Part, ...]] = {}
    for shots, ((view, _), sharing) in zip(views, by_view.items(), strict=True):
        shots.take(pictures)
        for request in sharing:
            seen = shots.pixels(request)
            if seen is not None:
                head = struct.pack("<IIf", view.width_px, view.height_px, view.fov_deg)
                bodies[request.sensor_id] = (head, np.ascontiguousarray(seen).reshape(-1).view(np.uint8).data)
    return bodies


class _Shots:
    """Pictures of one view in one tick, each rendered and encoded once for all cameras that share the view.

    `wanted` lists the pictures to render; `take` consumes one picture for each of them.
    """

    def __init__(self, renderer: Renderer, view: CameraView, scene: Scene, sharing: Sequence[CameraRequest]) -> None:
        self._renderer, self._view, self._scene = renderer, view, scene
        self._pictures: dict[tuple[float, bool], Picture] = {}
        self._encoded: dict[tuple[str, Lens, Development], NDArray[np.uint8]] = {}
        self._poses: dict[int, Float] | None = None
        self._first: Picture | None = None
        kinds = {request.kind for request in sharing}
        moving = any(request.follows_motion for request in sharing)
        exposures = list(dict.fromkeys(r.exposure for r in sharing if r.kind in COLOUR)) or [(1.0, True)]
        rgb = bool(kinds & set(COLOUR))
        depth = moving or bool(kinds & {DEPTH, FLOW})
        labels = moving or bool(kinds & {SEMANTIC, INSTANCE, COSMOS, FLOW})
        self.wanted: list[Shot] = []
        for gain, adapts in exposures:
            if rgb or depth or labels:
                self.wanted.append(Shot(view, scene.actors, rgb, depth, labels, gain=gain, adapts=adapts))
            depth = labels = False

    def take(self, pictures: Iterator[Picture]) -> None:
        """Take the next pictures, which are those of the `wanted` shots in order."""
        for shot in self.wanted:
            self._pictures[(shot.gain, shot.adapts)] = next(pictures)
        self._first = next(iter(self._pictures.values()), None)

    def pixels(self, request: CameraRequest) -> NDArray[Any] | None:
        """The body after the 12-byte head; None when there is no message to send."""
        if request.kind == FLOW:
            return bend(self._flow_since(request), request.lens, smooth=False).astype("<f4", copy=False)
        if request.kind == DVS:
            assert request.memory is not None
            assert request.memory.events is not None
            events = request.memory.events.events(self._colour(request), request.sim_time_s)
            return events if len(events) else None
        if request.follows_motion:
            return self._colour(request)
        key = (request.kind, request.lens, request.development)
        if key not in self._encoded:
            self._encoded[key] = self._still(request)
        return self._encoded[key]

    def _still(self, request: CameraRequest) -> NDArray[np.uint8]:
        """The picture (H, W, 4) of a kind that depends on this tick only."""
        if request.kind == RGB:
            return self._colour(request)
        if request.kind == NORMALS:
            s = self._scene
            raw = self._renderer.normals(self._view, s.actors, s.weather, s.time_s)
        else:
            assert self._first is not None
            raw = encode(self._first, request.kind)
        return bend(raw, request.lens, smooth=False)

    def _colour(self, request: CameraRequest) -> NDArray[np.uint8]:
        raw = self._pictures[request.exposure].bgra
        assert raw is not None
        if request.follows_motion:
            raw = blur(raw, self._flow_since(request), *request.blur)
        return request.development.grade(darken_rim(bend(raw, request.lens, smooth=True), request.lens))

    def _flow_since(self, request: CameraRequest) -> NDArray[np.float32]:
        """Optical flow (H, W, 2) since this camera's last picture; zero in its first picture."""
        memory = request.memory or CameraMemory()
        first = self._first
        assert first is not None
        assert first.depth_m is not None
        assert first.tag is not None
        assert first.instance is not None
        if self._poses is None:
            self._poses = actor_poses(self._scene.actors)
        before, poses = memory.view or self._view, self._poses
        earlier = memory.poses if memory.view is not None else {}
        memory.view, memory.poses = self._view, poses
        return optical_flow(first.depth_m, first.tag, first.instance, self._view, before, poses, earlier)


def encode(picture: Picture, kind: str) -> NDArray[np.uint8]:
    """(H, W, 4) uint8 BGRA of one kind, as in CARLA's raw images. The picture must hold the data that `kind` needs."""
    if kind == RGB:
        assert picture.bgra is not None
        return picture.bgra
    if kind == DEPTH:
        assert picture.depth_m is not None
        return encode_depth(picture.depth_m)
    assert picture.tag is not None
    assert picture.instance is not None
    if kind == COSMOS:
        return traffic_colours(picture.tag)
    out = np.empty(picture.tag.shape, dtype="<u4")
    if kind == INSTANCE:
        pixels.write_instances(picture.tag.reshape(-1), picture.instance.reshape(-1), out.reshape(-1))
    else:
        pixels.write_tags(picture.tag.reshape(-1), out.reshape(-1))
    return out.view(np.uint8).reshape(*out.shape, 4)


def encode_depth(depth_m: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Planar depth (H, W) m -> (H, W, 4): R + 256 G + 65536 B = depth / 1000 m * (2^24 - 1), clipped at 1000 m."""
    out = np.empty(depth_m.shape, dtype="<u4")
    pixels.write_depth(np.ascontiguousarray(depth_m).reshape(-1), out.reshape(-1))
    return out.view(np.uint8).reshape(*out.shape, 4)
