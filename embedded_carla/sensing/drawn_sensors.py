"""Sensors that the renderer serves: cameras and LiDAR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from embedded_carla.render import Renderer
from embedded_carla.scene import CameraView
from embedded_carla.sensing.drawing import actor_views, signal_colours
from embedded_carla.sensors import cameras, lidar
from embedded_carla.sensors.dvs import DvsSpec, EventCamera
from embedded_carla.sensors.settings import LIDARS, CameraSettings, is_on, lidar_spec
from embedded_carla.types import Part
from embedded_carla.world.actors import Actor
from embedded_carla.world.episode import Episode

DRAWN = frozenset((*cameras.KINDS, *LIDARS))


@dataclass(slots=True)
class DrawnState:
    """State that a rendered sensor keeps between measurements."""

    rng: np.random.Generator
    settings: CameraSettings | None = None
    memory: cameras.CameraMemory = field(default_factory=cameras.CameraMemory)
    scanner: lidar.LidarScanner | None = None


def drawn_bodies(
    renderer: Renderer, episode: Episode, due: Sequence[tuple[Actor, DrawnState, float]], shown_s: float
) -> dict[int, tuple[Part, ...]]:
    """Message bodies, in parts, by sensor id, of the sensors in `due`.

    `due` lists (sensor, its state, seconds since its last measurement). `shown_s` is the time that moves clouds and
    rain. A camera with nothing to report has no message.
    """
    actors, lights = actor_views(episode), signal_colours(episode)
    requests = [_request(s, state, episode.time_s) for s, state, _ in due if s.type_id in cameras.KINDS]
    bodies = cameras.camera_bodies(renderer, requests, actors, lights, episode.drawn_weather, shown_s)
    for sensor, state, since_s in due:
        if sensor.type_id in LIDARS:
            if state.scanner is None:
                seed = int(state.rng.integers(2**31))
                state.scanner = lidar.LidarScanner(lidar_spec(sensor), sensor.type_id, seed)
            seen = [a for a in actors if a.actor_id not in sensor.ignored_vehicles]
            bodies[sensor.actor_id] = (state.scanner.body(renderer, sensor.pose, seen, lights, shown_s, since_s),)
    return bodies


def _request(sensor: Actor, state: DrawnState, time_s: float) -> cameras.CameraRequest:
    settings = state.settings
    if settings is None:
        settings = state.settings = CameraSettings.of(sensor)
        if sensor.type_id == cameras.DVS:
            spec = DvsSpec.of(sensor.number, is_on(sensor, "use_log", "true"))
            state.memory.events = EventCamera(spec, state.rng)
    view = CameraView(settings.width_px, settings.height_px, settings.fov_deg, sensor.pose)
    return cameras.CameraRequest(
        sensor.actor_id, sensor.type_id, view, settings.lens, settings.development, settings.blur,
        sensor.ignored_vehicles, state.memory, time_s,
    )  # fmt: skip
