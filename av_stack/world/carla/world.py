"""`World` over any CARLA 0.9.16 server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import carla
import numpy as np

from av_core.errors import WorldError
from av_core.orders import CapTraffic, ClearTraffic, Disturb, LeaveSpace, Order, PlaceEgo, StartTraffic, StopTraffic
from av_core.types import (
    CollisionEvent,
    ControlCommand,
    LaneGraph,
    SensorFrame,
    Stamp,
    Truth,
    VehicleLights,
    VehicleParameters,
)
from av_stack.world.base import PictureWatch
from av_stack.world.carla.client import Session
from av_stack.world.carla.controls import vehicle_control
from av_stack.world.carla.episode import FIRST_TICK_TIMEOUT_S, Episode
from av_stack.world.carla.road_users.traffic import Traffic
from av_stack.world.carla.road_users.walkers import ScriptedWalkers
from av_stack.world.carla.scripted.background_orders import BackgroundOrders
from av_stack.world.carla.scripted.cast import Cast, CastOrder, place_on_ground
from av_stack.world.carla.sensors import SensorRig
from av_stack.world.carla.truth import TruthReader, forward_speed_mps, rear_axle_x_m, vehicle_parameters
from av_stack.world.carla.vehicle_lights import light_state_of
from av_stack.world.carla.weather import weather_of
from av_stack.world.spec import Address, WorldSpec

LOOP_TIMEOUT_S = 4.0
"""Time-out of calls while driving. The wheel's TrafficManager ends the process when a call of its own times out; until
then `ServerWatchdog` notices a frozen server (2.6 s at most) and the results are saved."""

FIRST_PICTURES = 2
"""Ticks in the first weather before traffic is spawned."""

SETTLE_TICKS = 20  # the ego drops onto its wheels
RAIN_EVERY_TICKS = 20
"""Ticks between two readings of the rain sensor."""

RAIN_MIN_PERCENT = 5.0  # CARLA's precipitation from which the rain sensor responds; drizzle presets have 15 or more


class CarlaWorld:
    """A synchronous CARLA episode with one ego; see `World` for the order of use.

    A server that does not answer for `silence_max_s` counts as lost. `episode` and `traffic` are for the modules of
    this folder that measure; `traffic` is None where the spec asks for none.

    Raises WorldError when the server cannot be reached, has another version, lacks the map, or stops answering;
    ConfigError for a blueprint or weather that does not exist.
    """

    def __init__(self, address: Address, spec: WorldSpec, silence_max_s: float = LOOP_TIMEOUT_S) -> None:
        self.traffic: Traffic | None = None
        self._silence_max_s = silence_max_s
        self._collisions: tuple[CollisionEvent, ...] = ()
        self._lights = VehicleLights()
        self._disturbance = Disturb(0.0, 0.0)
        self._is_raining = False
        self._stamp = Stamp(0, 0.0)
        self._first_frame = 0
        self._session = Session(address)
        self.episode = Episode(self._session, spec)
        try:
            self._equip()
            # The first pictures take a server long, and how long depends on its caches. The TrafficManager must not
            # wait for them, and the lights start after them; otherwise a run would depend on the caches too.
            self._tick_first_pictures()
            self._populate()
            self._tick_sensors(SETTLE_TICKS)
            self._session.client.set_timeout(silence_max_s)
        except BaseException:
            self.close()
            raise

    @property
    def lane_graph(self) -> LaneGraph:
        return self.episode.lane_graph

    @property
    def map_text(self) -> str:
        return self.episode.map.to_opendrive()

    @property
    def vehicle(self) -> VehicleParameters:
        return self._vehicle

    @property
    def server_version(self) -> str:
        return self._session.server_version

    def show_pictures(self, watch: PictureWatch) -> None:
        self._sensors.show_pictures(watch)

    def tick(self) -> SensorFrame:
        episode = self.episode
        episode.check_is_ours()
        late = episode.spec.late_weather
        if late is not None and late.frame == self._stamp.frame + 1:
            self._set_weather(late.weather)
        with self._session.answering("tick"):
            at = episode.ego.get_location()
            self._walkers.step((at.x, at.y))
            frame = episode.world.tick(self._silence_max_s)
        episode.check_is_ours()
        speed_mps = forward_speed_mps(episode.ego)
        try:
            sensed = self._sensors.read(frame, self._stamp_of(frame), speed_mps, self._silence_max_s)
        except WorldError:
            episode.check_is_ours()
            self._session.give_up(is_silent=True)
            raise
        self._stamp = sensed.stamp
        self._collisions = self._sensors.collisions(self._first_frame, frame, self._stamp_of)
        if self._stamp.frame % RAIN_EVERY_TICKS == 1:
            self._is_raining = self._feel_rain()
        return replace(sensed, is_raining=self._is_raining)

    def apply(self, command: ControlCommand) -> None:
        throttle, steer = command.throttle + self._disturbance.throttle, command.steer + self._disturbance.steer
        throttle, steer = min(max(throttle, 0.0), 1.0), min(max(steer, -1.0), 1.0)
        with self._session.answering("control of the ego"):
            self.episode.ego.apply_control(vehicle_control(replace(command, throttle=throttle, steer=steer)))
            if command.lights != self._lights:  # calling this every tick would cost a round trip
                self._lights = command.lights
                self.episode.ego.set_light_state(light_state_of(command.lights))

    def direct(self, orders: Sequence[Order]) -> None:
        with self._session.answering("an order of the scenario's script"):
            for_cast: list[CastOrder] = []
            for order in orders:
                if isinstance(order, Disturb):
                    self._disturbance = order
                elif isinstance(order, PlaceEgo):
                    self._place_ego(order)
                elif isinstance(order, (StopTraffic, StartTraffic, CapTraffic, ClearTraffic, LeaveSpace)):
                    self._background.carry_out(order)
                else:
                    for_cast.append(order)
            self._background.step()
            self._cast.direct(for_cast)

    def truth(self) -> Truth:
        with self._session.answering("truth"):
            return self._truth.read(self._stamp, self._collisions, self._cast.truth())

    def require_traffic(self) -> Traffic:
        """The traffic of this world, which is started if there is none."""
        return self.traffic or self._start_traffic()

    def server_frame(self, stamp: Stamp) -> int:
        """The server's own number of the tick that `stamp` belongs to."""
        return self._first_frame + stamp.frame

    def close(self) -> None:
        self.episode.close()

    def _feel_rain(self) -> bool:
        """The rain sensor. CARLA has none, so it is derived from the weather's precipitation alone."""
        with self._session.answering("weather"):
            return bool(self.episode.world.get_weather().precipitation >= RAIN_MIN_PERCENT)

    def _stamp_of(self, frame: int) -> Stamp:
        """Frame and time since the episode was ready; the server's own count depends on how long it has run."""
        return Stamp(frame - self._first_frame, (frame - self._first_frame) * self.episode.spec.step_s)

    def _equip(self) -> None:
        """Measure the ego and spawn its sensors."""
        episode, session, spec = self.episode, self._session, self.episode.spec
        with session.answering("reading the ego"):
            rear_m, _ = rear_axle_x_m(episode.ego)
            self._vehicle = vehicle_parameters(episode.ego)
            self._truth = TruthReader(episode.world, episode.ego, rear_m)
        with session.answering("spawning the sensors"):
            listen = partial(session.listen, timeout_s=FIRST_TICK_TIMEOUT_S)
            self._sensors = SensorRig(
                episode.world, episode.ego, spec.rig, listen, rear_axle_x_m=rear_m, seed=spec.seed
            )
            episode.cleanup.callback(session.destroy, [sensor.id for sensor in self._sensors.actors])
            episode.cleanup.callback(self._sensors.stop)

    def _tick_first_pictures(self) -> None:
        """Let the server draw its first pictures, and one in each weather that is to come, while it may take long.

        A TrafficManager starts before the last of these ticks. It drops vehicles that are not in the last snapshot if
        they are handed to it before its first synchronous step.
        """
        spec = self.episode.spec
        weathers = [spec.weather] * FIRST_PICTURES
        if spec.late_weather is not None:
            weathers[0] = spec.late_weather.weather
        if spec.weathers_to_come:
            weathers += [*spec.weathers_to_come, spec.weather]
        shown = spec.weather
        for number, weather in enumerate(weathers):
            if weather is not shown:
                self._set_weather(weather)
                shown = weather
            if number == len(weathers) - 1 and (spec.traffic_vehicles > 0 or spec.traffic_comes_later):
                with self._session.answering("starting the traffic"):
                    self._start_traffic()
            if number == 0:  # the streams of the sensors connect meanwhile
                with self._session.answering("first ticks"):
                    self.episode.world.tick(FIRST_TICK_TIMEOUT_S)
            else:
                self._tick_sensors(1)

    def _set_weather(self, weather: str | Mapping[str, float]) -> None:
        with self._session.answering("weather"):
            self.episode.world.set_weather(weather_of(weather))

    def _populate(self) -> None:
        """Start the traffic lights anew and spawn the other road users."""
        episode, session, spec = self.episode, self._session, self.episode.spec
        rng = np.random.default_rng(spec.seed)
        with session.answering("spawning traffic"):
            episode.world.reset_all_traffic_lights()
            self._walkers = ScriptedWalkers(episode.world, spec.walkers, rng)
            episode.cleanup.callback(session.destroy, [walker.id for walker in self._walkers.actors])
            if spec.traffic_vehicles > 0:
                self.require_traffic().spawn(session.client, episode.world, spec, rng)
            self._background = BackgroundOrders(session.client, episode.world, episode.ego, self.require_traffic)
            self._cast = Cast(session.client, episode.world, episode.map, self._drive_itself, self._background.drive)
            episode.cleanup.callback(session.clean_up, self._cast.destroy_all)

    def _start_traffic(self) -> Traffic:
        episode, session = self.episode, self._session
        traffic = self.traffic = Traffic(session.client, episode.spec.seed)
        episode.cleanup.callback(session.destroy, traffic.actor_ids)
        episode.cleanup.callback(session.release, traffic.close)
        return traffic

    def _drive_itself(self, vehicle: carla.Vehicle) -> None:
        self.require_traffic().drive(vehicle)

    def _place_ego(self, order: PlaceEgo) -> None:
        self.episode.ego.set_transform(place_on_ground(self.episode.map, order.pose))

    def _tick_sensors(self, ticks: int) -> None:
        """Tick, then wait for the data of every sensor in the last of the ticks.

        The sensors' streams need some time to connect, and the ego drops onto its wheels.
        """
        with self._session.answering("first ticks"):
            for _ in range(ticks):
                self._first_frame = self.episode.world.tick(FIRST_TICK_TIMEOUT_S)
            speed_mps = forward_speed_mps(self.episode.ego)
            self._sensors.read(self._first_frame, self._stamp_of(self._first_frame), speed_mps, FIRST_TICK_TIMEOUT_S)
