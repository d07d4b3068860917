"""Schedules the sensors: which one measures when, and what it sends.

A sensor without a listener is not measured; GNSS and IMU then only draw their noise. `embedded_carla.sensors` makes the
message bodies.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from embedded_carla.log import log_exception, log_failure
from embedded_carla.sensing import light_sensors
from embedded_carla.sensing.drawing import Drawing
from embedded_carla.sensing.drawn_sensors import DRAWN, DrawnState, drawn_bodies
from embedded_carla.sensing.radars import Radars
from embedded_carla.sensing.radio import CAM_TYPE, CUSTOM_TYPE, Radio
from embedded_carla.sensors import cameras, lidar, radar
from embedded_carla.types import Float, Part
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode
from embedded_carla.world.snapshot import sensor_header

SENSOR_TYPES = {
    light_sensors.COLLISION: 0,
    cameras.DEPTH: 1,
    cameras.NORMALS: 2,
    cameras.DVS: 3,
    light_sensors.GNSS: 4,
    light_sensors.IMU: 5,
    light_sensors.OBSTACLE: 7,
    cameras.FLOW: 8,
    radar.RADAR: 9,
    lidar.RAY_CAST_SEMANTIC: 10,
    lidar.RAY_CAST: 11,
    cameras.RGB: 13,
    cameras.SEMANTIC: 14,
    cameras.INSTANCE: 15,
    cameras.COSMOS: 16,
    CAM_TYPE: 20,
    CUSTOM_TYPE: 21,
}
"""Type numbers of CARLA 0.9.16's sensors on the wire; a sensor that is missing here cannot be measured."""

_EPSILON_S = 1e-6
_NOISY = (light_sensors.GNSS, light_sensors.IMU)
_RADIO = (CAM_TYPE, CUSTOM_TYPE)
_KEPT_STATES = 64


def why_unsupported(type_id: str) -> str:
    """Why nobody can listen to a sensor of this type; empty if it is supported."""
    if type_id in SENSOR_TYPES:
        return ""
    return f"embedded_carla does not support {type_id}; there are {', '.join(SENSOR_TYPES)}"


@dataclass(slots=True)
class _State:
    """State that one sensor keeps between measurements."""

    rng: np.random.Generator
    last_s: float  # when it measured last
    interval_s: float
    drawn: DrawnState
    due_s: float = 0.0
    turn_degps: Float = field(default_factory=lambda: np.zeros(3))


class SensorSuite:
    """All sensors of one episode. `seed` and a sensor's own `noise_seed` determine its noise."""

    def __init__(self, episode: Episode, hub: StreamHub, stream_port: int, seed: int, drawing: Drawing) -> None:
        self._episode = episode
        self._hub = hub
        self._port = stream_port
        self._seed = seed
        self._drawing = drawing
        self._states: dict[int, _State] = {}
        self._faulty: set[int] = set()
        self._shown_s = 0.0  # time that moves clouds and rain: the ticks since the first sensor, not the server's clock
        self.radio = Radio(episode)
        self._radars = Radars(episode)

    def publish(self, *, may_drop: bool, rendering: bool) -> None:
        """Measure and send every sensor that has a listener and is due.

        The sensors without rendering come first, so that nobody waits long for them.
        """
        sensors = self._episode.actors.of_kind(ActorKind.SENSOR)
        if sensors:
            self._shown_s += self._episode.delta_s
        self._forget(sensors)
        drawn, heard, radars = [], [], []
        for sensor in sensors:
            if sensor.actor_id in self._faulty:
                continue
            if not (sensor.stream_id and self._hub.has_listener(sensor.stream_id)):
                if sensor.type_id in _NOISY:  # noise must not depend on the tick in which a listener connects
                    self._measure([sensor], self._draw_noise)
                continue
            if not self._is_due(sensor):
                continue
            if sensor.type_id in DRAWN:
                drawn.append(sensor)
            elif sensor.type_id in _RADIO:
                heard.append(sensor)
            elif sensor.type_id == radar.RADAR:
                radars.append(sensor)
            else:
                self._measure([sensor], lambda one: self._tell(one[0], may_drop))
        if heard:
            radios = [s for s in sensors if s.type_id in _RADIO]
            self._measure(heard, lambda some: self._hear(radios, some, may_drop))
        if radars:
            self._measure(radars, lambda some: self._cast(some, may_drop))
        if drawn and rendering:
            self._measure(drawn, lambda some: self._draw(some, may_drop))

    def prepare(self, sensor: Actor, *, rendering: bool) -> None:
        """Create in advance what a new sensor's first message needs: some clients wait only one second for it."""
        if sensor.type_id in DRAWN and rendering:
            self._drawing.renderer(self._episode.map)
        elif sensor.type_id == radar.RADAR:
            self._radars.prepare()

    def _measure(self, sensors: Sequence[Actor], measure: Callable[[Sequence[Actor]], None]) -> None:
        """Let these sensors measure. One that fails through a fault of the server is logged and measures no more."""
        try:
            measure(sensors)
        except Exception as error:  # noqa: BLE001 - one sensor must not end everybody's world
            if len(sensors) > 1:
                for sensor in sensors:
                    self._measure([sensor], measure)
                return
            self._faulty.add(sensors[0].actor_id)
            log_failure(f"sensor {sensors[0].actor_id} ({sensors[0].type_id}) stops: {type(error).__name__}: {error}")
            log_exception()

    def _draw_noise(self, sensors: Sequence[Actor]) -> None:
        for sensor in sensors:
            self._light_bodies(sensor)

    def _tell(self, sensor: Actor, may_drop: bool) -> None:
        for body in self._light_bodies(sensor):
            self._send(sensor, body, may_drop=may_drop)

    def _forget(self, sensors: Sequence[Actor]) -> None:
        """Drop the states of destroyed sensors when there are many."""
        if len(self._states) > len(sensors) + _KEPT_STATES:
            alive = {s.actor_id for s in sensors}
            self._states = {i: state for i, state in self._states.items() if i in alive}

    def _send(self, sensor: Actor, *body: Part, may_drop: bool) -> None:
        episode = self._episode
        self._state(sensor).last_s = episode.time_s
        header = sensor_header(SENSOR_TYPES[sensor.type_id], episode.frame, episode.time_s, sensor.pose)
        self._hub.send(sensor.stream_id, header, *body, may_drop=may_drop)

    def _state(self, sensor: Actor) -> _State:
        state = self._states.get(sensor.actor_id)
        if state is None:
            seeds = [self._seed, int(sensor.number("noise_seed", 0)) & 0xFFFFFFFF, zlib.crc32(sensor.type_id.encode())]
            rng = np.random.default_rng(seeds)
            before_s = self._episode.time_s - self._episode.delta_s
            state = _State(rng, before_s, sensor.number("sensor_tick", 0.0), DrawnState(rng))
            self._states[sensor.actor_id] = state
        return state

    def _is_due(self, sensor: Actor) -> bool:
        """Whether to measure now: `sensor_tick` is the interval, kept to its multiples while somebody listens."""
        state, now = self._state(sensor), self._episode.time_s
        if state.interval_s <= 0.0:
            return True
        if now < state.due_s - _EPSILON_S:
            return False
        lag_s = now - state.due_s
        begins_anew = state.due_s == 0.0 or lag_s > self._episode.delta_s - _EPSILON_S  # nobody listened when due
        state.due_s = (now if begins_anew else state.due_s) + state.interval_s
        return True

    def _light_bodies(self, sensor: Actor) -> list[bytes]:
        """Messages of a sensor that needs no rendering; event sensors have none most of the time."""
        episode, state = self._episode, self._state(sensor)
        if sensor.type_id == light_sensors.GNSS:
            return [light_sensors.gnss(episode, sensor, state.rng)]
        if sensor.type_id == light_sensors.IMU:
            turn, since_s = light_sensors.turn_of(episode, sensor), episode.time_s - state.last_s
            change = (turn - state.turn_degps) / since_s if since_s > 0.0 else np.zeros(3)
            state.turn_degps, state.last_s = turn, episode.time_s
            return [light_sensors.imu(episode, sensor, change, state.rng)]
        if sensor.type_id == light_sensors.COLLISION:
            return light_sensors.collisions(episode, sensor, self._port)
        return light_sensors.obstacles(episode, sensor, self._port)

    def _hear(self, all_radios: Sequence[Actor], listening: Sequence[Actor], may_drop: bool) -> None:
        bodies = self.radio.heard(all_radios, {s.actor_id: self._state(s).rng for s in all_radios})
        for sensor in listening:
            if sensor.actor_id in bodies:
                self._send(sensor, bodies[sensor.actor_id], may_drop=may_drop)

    def _cast(self, sensors: Sequence[Actor], may_drop: bool) -> None:
        states = [self._state(s) for s in sensors]
        bodies = self._radars.bodies(
            [(s, state.rng, self._since_s(state)) for s, state in zip(sensors, states, strict=True)]
        )
        for sensor in sensors:
            self._send(sensor, bodies[sensor.actor_id], may_drop=may_drop)

    def _since_s(self, state: _State) -> float:
        """Time since the last measurement, s. Times are sums of steps: rounding gives the step that the client set."""
        return round(self._episode.time_s - state.last_s, 9)

    def _draw(self, sensors: Sequence[Actor], may_drop: bool) -> None:
        episode = self._episode
        renderer = self._drawing.renderer_for(episode)
        if renderer is None:
            return
        renderer.show_debug(episode.debug.alive(episode.time_s))
        states = [self._state(s) for s in sensors]
        due = [(s, state.drawn, self._since_s(state)) for s, state in zip(sensors, states, strict=True)]
        bodies = drawn_bodies(renderer, episode, due, self._shown_s)
        for sensor in sensors:
            self._state(sensor).last_s = episode.time_s
            if sensor.actor_id in bodies:
                self._send(sensor, *bodies[sensor.actor_id], may_drop=may_drop)
