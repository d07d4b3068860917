"""Which sensor measures when, and what it sends.

A sensor that nobody listens to costs nothing. Bodies of messages come from `embedded_carla.sensors`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

from embedded_carla.codec import Wire
from embedded_carla.scene import CameraView
from embedded_carla.sensors import cameras, lidar
from embedded_carla.sensors.collision import collision_body
from embedded_carla.sensors.gnss import GnssNoise, gnss_body
from embedded_carla.sensors.imu import ImuNoise, acceleration_at, imu_body
from embedded_carla.sensors.obstacle import find_obstacle, obstacle_body
from embedded_carla.streaming import StreamHub
from embedded_carla.types import Float, SemanticTag
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.drawing import Drawing, actor_views, signal_colours
from embedded_carla.world.episode import Episode
from embedded_carla.world.snapshot import sensor_header

SENSOR_TYPES = {
    "sensor.other.collision": 0,
    cameras.DEPTH: 1,
    "sensor.other.gnss": 4,
    "sensor.other.imu": 5,
    "sensor.other.obstacle": 7,
    lidar.RAY_CAST_SEMANTIC: 10,
    lidar.RAY_CAST: 11,
    cameras.RGB: 13,
    cameras.SEMANTIC: 14,
    cameras.INSTANCE: 15,
}
"""Numbers of CARLA 0.9.16's sensors on the wire; what is not here cannot be measured."""

_EPSILON_S = 1e-6
_STATIC_NAMES = {
    SemanticTag.ROADS: "road",
    SemanticTag.SIDEWALKS: "sidewalk",
    SemanticTag.BUILDINGS: "building",
    SemanticTag.WALLS: "wall",
    SemanticTag.FENCES: "fence",
    SemanticTag.POLES: "pole",
    SemanticTag.TRAFFIC_LIGHT: "traffic_light",
    SemanticTag.TRAFFIC_SIGNS: "traffic_sign",
    SemanticTag.VEGETATION: "vegetation",
    SemanticTag.TERRAIN: "terrain",
    SemanticTag.GUARD_RAIL: "guard_rail",
}


def why_unsupported(type_id: str) -> str:
    """Why nobody can listen to a sensor of this type; empty when one can."""
    if type_id in SENSOR_TYPES:
        return ""
    return f"embedded_carla does not support {type_id}; there are {', '.join(SENSOR_TYPES)}"


_NOISY = ("sensor.other.gnss", "sensor.other.imu")


@dataclass(slots=True)
class _State:
    """What one sensor remembers from measurement to measurement."""

    rng: np.random.Generator
    last_s: float  # when it measured last
    due_s: float = 0.0
    turn_degps: Float = field(default_factory=lambda: np.zeros(3))
    scanner: lidar.LidarScanner | None = None


class SensorSuite:
    """All sensors of one episode. `seed` and a sensor's own `noise_seed` decide its noise."""

    def __init__(self, episode: Episode, hub: StreamHub, stream_port: int, seed: int, drawing: Drawing) -> None:
        self._episode = episode
        self._hub = hub
        self._port = stream_port
        self._seed = seed
        self._drawing = drawing
        self._states: dict[int, _State] = {}
        self._shown_s = 0.0  # clouds and rain move with it; counts ticks since the first sensor, not the server's clock

    def publish(self, *, may_drop: bool, rendering: bool) -> None:
        """Measure and send all that is listened to and due; the light sensors first, so that nobody waits long."""
        drawn = []
        sensors = list(self._episode.actors.of_kind(ActorKind.SENSOR))
        if sensors:
            self._shown_s += self._episode.delta_s
        for sensor in sensors:
            if not (sensor.stream_id and self._hub.has_listener(sensor.stream_id)):
                if sensor.type_id in _NOISY:  # the noise of a tick must not depend on when the listener's socket came
                    self._light_bodies(sensor)
                continue
            if not self._is_due(sensor):
                continue
            if sensor.type_id in cameras.KINDS or sensor.type_id in (lidar.RAY_CAST, lidar.RAY_CAST_SEMANTIC):
                drawn.append(sensor)
                continue
            for body in self._light_bodies(sensor):
                self._send(sensor, body, may_drop)
        if drawn and rendering:
            self._draw(drawn, may_drop)

    def _send(self, sensor: Actor, body: bytes, may_drop: bool) -> None:
        episode = self._episode
        self._state(sensor).last_s = episode.time_s
        header = sensor_header(SENSOR_TYPES[sensor.type_id], episode.frame, episode.time_s, sensor.pose)
        self._hub.send(sensor.stream_id, header + body, may_drop=may_drop)

    def _state(self, sensor: Actor) -> _State:
        state = self._states.get(sensor.actor_id)
        if state is None:
            seeds = [self._seed, int(sensor.number("noise_seed", 0)) & 0xFFFFFFFF, zlib.crc32(sensor.type_id.encode())]
            state = _State(np.random.default_rng(seeds), last_s=self._episode.time_s - self._episode.delta_s)
            self._states[sensor.actor_id] = state
        return state

    def _is_due(self, sensor: Actor) -> bool:
        """`sensor_tick` is the least time between measurements; they keep to its multiples."""
        interval, now = sensor.number("sensor_tick", 0.0), self._episode.time_s
        if interval <= 0.0:
            return True
        state = self._state(sensor)
        if now < state.due_s - _EPSILON_S:
            return False
        state.due_s = max(state.due_s, now - interval) + interval if state.due_s else now + interval
        return True

    # ------------------------------------------------------------ light sensors

    def _light_bodies(self, sensor: Actor) -> list[bytes]:
        """Messages of the sensors that draw nothing; event sensors have none most of the time."""
        if sensor.type_id == "sensor.other.gnss":
            noise = GnssNoise.of(sensor.number)
            geo = self._episode.map.geo
            return [gnss_body(sensor.pose.location, geo, noise, self._state(sensor).rng)]
        if sensor.type_id == "sensor.other.imu":
            return [self._imu(sensor)]
        if sensor.type_id == "sensor.other.collision":
            return self._collisions(sensor)
        return self._obstacle(sensor)

    def _imu(self, sensor: Actor) -> bytes:
        episode, state = self._episode, self._state(sensor)
        carrier = sensor.parent
        acceleration, turn, change = np.zeros(3), np.zeros(3), np.zeros(3)
        if carrier is not None and carrier.kind is ActorKind.VEHICLE:
            fleet, slot = episode.fleet, carrier.slot
            turn = fleet.angular_velocity_degps[slot].copy()
            if episode.time_s > state.last_s:
                change = (turn - state.turn_degps) / (episode.time_s - state.last_s)
            arm = np.array(sensor.pose.location) - fleet.location[slot]
            acceleration = acceleration_at(fleet.acceleration[slot], turn, change, arm)
        state.turn_degps = turn
        return imu_body(sensor.pose, acceleration, turn, ImuNoise.of(sensor.number), state.rng)

    def _collisions(self, sensor: Actor) -> list[bytes]:
        return [
            collision_body(sensor.to_wire(self._port), self._other(hit.other, hit.static_tag), hit.impulse_ns)
            for hit in self._episode.hits
            if hit.actor is sensor.parent
        ]

    def _other(self, other: Actor | None, static_tag: int) -> Wire:
        """The actor as the wire has it; scenery is an actor with id 0 called static.<label>."""
        if other is not None:
            return other.to_wire(self._port)
        name = _STATIC_NAMES.get(SemanticTag(static_tag), "static")
        return (0, 0, (0, f"static.{name}", ()), ((0.0,) * 3, (0.0,) * 3, (0.0,) * 3, 0), bytes((static_tag,)), b"")

    def _obstacle(self, sensor: Actor) -> list[bytes]:
        contacts = self._episode.contacts
        only_actors = sensor.description.value("only_dynamics") == "true"
        ignored = () if sensor.parent is None else (sensor.parent.actor_id,)
        found = find_obstacle(
            sensor.pose, sensor.number("distance", 5.0), sensor.number("hit_radius", 0.5), contacts.boxes()[1],
            None if only_actors else contacts.static, ignored,
        )  # fmt: skip
        if found is None:
            return []
        other = self._episode.actors.find(found.actor_id) if found.actor_id else None
        return [obstacle_body(sensor.to_wire(self._port), self._other(other, found.static_tag), found.distance_m)]

    # ------------------------------------------------------------ what is drawn

    def _draw(self, sensors: list[Actor], may_drop: bool) -> None:
        episode = self._episode
        renderer = self._drawing.renderer_for(episode)
        if renderer is None:
            return
        renderer.show_debug(episode.debug.alive(episode.time_s))
        actors, lights = actor_views(episode), signal_colours(episode)
        requests = [
            cameras.CameraRequest(s.actor_id, s.type_id, _camera_view(s)) for s in sensors if s.type_id in cameras.KINDS
        ]
        bodies = cameras.camera_bodies(renderer, requests, actors, lights, episode.drawn_weather, self._shown_s)
        for sensor in sensors:
            body = bodies.get(sensor.actor_id)
            if body is None:
                delta_s = episode.time_s - self._state(sensor).last_s
                body = self._scanner(sensor).body(renderer, sensor.pose, actors, lights, self._shown_s, delta_s)
            self._send(sensor, body, may_drop)

    def _scanner(self, sensor: Actor) -> lidar.LidarScanner:
        state = self._state(sensor)
        if state.scanner is None:
            attributes = {name: value for name, _, value in sensor.description.attributes}
            spec = lidar.LidarSpec.from_attributes(attributes)
            state.scanner = lidar.LidarScanner(spec, sensor.type_id, int(state.rng.integers(2**31)))
        return state.scanner


def _camera_view(sensor: Actor) -> CameraView:
    size = int(sensor.number("image_size_x", 800)), int(sensor.number("image_size_y", 600))
    return CameraView(*size, sensor.number("fov", 90.0), sensor.pose)
