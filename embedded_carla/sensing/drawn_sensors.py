"""Sensors that the renderer serves: cameras, LiDAR, radar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from embedded_carla.errors import CommandError
from embedded_carla.render import Renderer
from embedded_carla.scene import ActorView, CameraView
from embedded_carla.sensing.drawing import actor_views, signal_colours
from embedded_carla.sensing.light_sensors import motion_of
from embedded_carla.sensors import cameras, lidar, radar
from embedded_carla.sensors.development import Development
from embedded_carla.sensors.dvs import DvsSpec, EventCamera
from embedded_carla.sensors.lens import Lens
from embedded_carla.types import Float, Part, SignalColour
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode

LIDARS = (lidar.RAY_CAST, lidar.RAY_CAST_SEMANTIC)
DRAWN = frozenset((*cameras.KINDS, *LIDARS, radar.RADAR))
LARGEST_PX = 8192
MOST_PX = 7680 * 4320  # 8K: 133 MB for each picture
WIDEST_DEG = 179.0


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """A camera's settings, read from its attributes; they never change."""

    width_px: int
    height_px: int
    fov_deg: float
    lens: Lens
    development: Development
    blur: tuple[float, float]

    @staticmethod
    def of(sensor: Actor) -> CameraSettings:
        """Read a camera's attributes. Raises CommandError naming an attribute out of bounds."""
        width, height = int(sensor.number("image_size_x", 800)), int(sensor.number("image_size_y", 600))
        fov_deg = sensor.number("fov", 90.0)
        for name, value, low, high in (
            ("image_size_x", width, 1, LARGEST_PX), ("image_size_y", height, 1, LARGEST_PX),
            ("fov", fov_deg, 0.1, WIDEST_DEG),
        ):  # fmt: skip
            if not low <= value <= high:
                raise CommandError(f"{sensor.type_id}: {name} is {value:g}; it must lie in {low:g} to {high:g}")
        if width * height > MOST_PX:
            raise CommandError(f"{sensor.type_id}: {width} x {height} pixels; at most {MOST_PX} are possible")
        effects = _is_on(sensor, "enable_postprocess_effects", "true")
        manual = sensor.description.value("exposure_mode", "histogram") == "manual"
        intensity = min(max(sensor.number("motion_blur_intensity", 0.0), 0.0), 1.0) if effects else 0.0
        return CameraSettings(
            width, height, fov_deg, Lens.of(sensor.number), Development.of(sensor.number, manual, effects),
            (intensity, sensor.number("motion_blur_max_distortion", 0.35)),
        )  # fmt: skip


@dataclass(slots=True)
class DrawnState:
    """State that a rendered sensor keeps between measurements."""

    rng: np.random.Generator
    settings: CameraSettings | None = None
    memory: cameras.CameraMemory = field(default_factory=cameras.CameraMemory)
    scanner: lidar.LidarScanner | None = None
    radar: radar.RadarSpec | None = None


def check_attributes(sensor: Actor) -> None:
    """Raise EmbeddedCarlaError naming an attribute with which `sensor` cannot measure."""
    if sensor.type_id in cameras.KINDS:
        CameraSettings.of(sensor)
    elif sensor.type_id in LIDARS:
        _lidar_spec(sensor)
    elif sensor.type_id == radar.RADAR:
        radar.RadarSpec.of(sensor.number)


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
                state.scanner = lidar.LidarScanner(_lidar_spec(sensor), sensor.type_id, seed)
            seen = [a for a in actors if a.actor_id not in sensor.ignored_vehicles]
            bodies[sensor.actor_id] = (state.scanner.body(renderer, sensor.pose, seen, lights, shown_s, since_s),)
        elif sensor.type_id == radar.RADAR:
            bodies[sensor.actor_id] = (_radar(renderer, episode, sensor, state, actors, lights, shown_s, since_s),)
    return bodies


def _request(sensor: Actor, state: DrawnState, time_s: float) -> cameras.CameraRequest:
    settings = state.settings
    if settings is None:
        settings = state.settings = CameraSettings.of(sensor)
        if sensor.type_id == cameras.DVS:
            spec = DvsSpec.of(sensor.number, _is_on(sensor, "use_log", "true"))
            state.memory.events = EventCamera(spec, state.rng)
    view = CameraView(settings.width_px, settings.height_px, settings.fov_deg, sensor.pose)
    return cameras.CameraRequest(
        sensor.actor_id, sensor.type_id, view, settings.lens, settings.development, settings.blur,
        sensor.ignored_vehicles, state.memory, time_s,
    )  # fmt: skip


def _radar(
    renderer: Renderer, episode: Episode, sensor: Actor, state: DrawnState, actors: Sequence[ActorView],
    lights: Mapping[str, SignalColour], shown_s: float, since_s: float,
) -> bytes:  # fmt: skip
    if state.radar is None:
        state.radar = radar.RadarSpec.of(sensor.number)
    rays = radar.radar_rays(state.radar, since_s, state.rng)
    velocities: dict[int, Float] = {
        actor.instance: np.array(episode.velocity_of(actor))
        for kind in (ActorKind.VEHICLE, ActorKind.WALKER)
        for actor in episode.actors.of_kind(kind)
    }
    own = motion_of(episode, sensor, np.zeros(3)).velocity
    seen = [a for a in actors if a.actor_id not in sensor.ignored_vehicles]
    return radar.radar_body(renderer, state.radar, sensor.pose, own, velocities, seen, lights, shown_s, rays)


def _lidar_spec(sensor: Actor) -> lidar.LidarSpec:
    return lidar.LidarSpec.from_attributes({name: value for name, _, value in sensor.description.attributes})


def _is_on(sensor: Actor, name: str, default: str) -> bool:
    return sensor.description.value(name, default).lower() == "true"
