"""An ego that another program spawned: our sensors on it, our commands to it, and its clean release.

That program owns the world and its time. This module never ticks, loads a map or changes a setting.
"""

from __future__ import annotations

import time
from functools import partial
from typing import cast

import carla

from av_core.errors import WorldError
from av_core.frames import carla_to_map_yaw
from av_core.types import ControlCommand, LaneGraph, Pose2D, Rig, SensorFrame, Stamp, VehicleParameters
from av_stack.world.carla.actors import actors_in
from av_stack.world.carla.client import Session
from av_stack.world.carla.controls import vehicle_control
from av_stack.world.carla.map import lane_graph
from av_stack.world.carla.sensors import SensorRig
from av_stack.world.carla.truth import forward_speed_mps, rear_axle_x_m, vehicle_parameters
from av_stack.world.carla.vehicle_lights import light_state_of
from av_stack.world.spec import Address

LOOK_EVERY_S = 0.2
"""Pause between two looks for the ego."""

TICK_TIMEOUT_S = 2.0
"""Time without a tick after which the server is asked whether it is still there."""

SILENCE_MAX_S = 30.0
"""Longest wait for the answer to a call, and for the data of a tick. A server that loads is that slow. A dead one is
noticed earlier, by the `ServerWatchdog` of `attach`."""

FIRST_TICKS = 3
"""Ticks after which every sensor's stream is connected."""

STANDING = ControlCommand(throttle=0.0, brake=1.0, steer=0.0)


class AttachedEgo:
    """The vehicle with `role` on the server at `address`, once there is one, with the sensors of `rig`.

    `tick` waits for the world's next tick. `close` removes the sensors and leaves the vehicle on its brake. Raises
    WorldError where the server is lost or refuses something.
    """

    def __init__(self, address: Address, role: str, rig: Rig) -> None:
        self._session = Session(address)
        self._session.client.set_timeout(SILENCE_MAX_S)
        self._rig = rig
        self._sensors: SensorRig | None = None
        self._first: carla.Timestamp | None = None
        self._count = 0
        self.ego = self._wait_for(role)

    def equip(self) -> None:
        """Read the map and the vehicle, and mount the sensors. `close` is needed from here on."""
        session, world = self._session, self._session.client.get_world()
        self._world = world
        with session.answering("reading the map and the ego"):
            self.lane_graph: LaneGraph = lane_graph(world.get_map())
            rear_m, _ = rear_axle_x_m(self.ego)
            self.vehicle: VehicleParameters = vehicle_parameters(self.ego)
            self._rear_m = rear_m
        with session.answering("mounting the sensors"):
            listen = partial(session.listen, timeout_s=SILENCE_MAX_S)
            self._sensors = SensorRig(world, self.ego, self._rig, listen, rear_axle_x_m=rear_m, seed=0)
        for _ in range(FIRST_TICKS):
            self._next_tick()

    @property
    def pose(self) -> Pose2D:
        """Where the ego is, for the start of its route."""
        transform = self.ego.get_transform()
        at, ahead = transform.location, transform.get_forward_vector()
        yaw_rad = float(carla_to_map_yaw(transform.rotation.yaw))
        return Pose2D(at.x + ahead.x * self._rear_m, -(at.y + ahead.y * self._rear_m), yaw_rad)

    @property
    def is_there(self) -> bool:
        """Whether the vehicle exists in the world's last tick."""
        return bool(self._world.get_snapshot().has_actor(self.ego.id))

    def tick(self) -> SensorFrame | None:
        """What the sensors measure in the world's next tick; None when the vehicle is gone."""
        assert self._sensors is not None
        snapshot = self._next_tick()
        if not snapshot.has_actor(self.ego.id):
            return None
        if self._first is None:
            self._first = snapshot.timestamp
        self._count += 1
        stamp = Stamp(self._count, snapshot.timestamp.elapsed_seconds - self._first.elapsed_seconds)
        try:
            speed_mps = forward_speed_mps(self.ego)
            frame = self._sensors.read(snapshot.frame, stamp, speed_mps, SILENCE_MAX_S, lambda: not self.is_there)
        except WorldError:
            if self.is_there:
                raise
            return None
        self._sensors.collisions(0, snapshot.frame, lambda _: stamp)  # nobody asks for them; the queue must not grow
        return frame

    def apply(self, command: ControlCommand) -> None:
        """Let the vehicle obey `command` until the next call."""
        with self._session.answering("control of the ego"):
            self.ego.apply_control(vehicle_control(command))
            self.ego.set_light_state(light_state_of(command.lights))

    def close(self) -> None:
        """Release the vehicle. Safe to call twice, and when the vehicle or the server is gone."""
        sensors, self._sensors = self._sensors, None
        if sensors is None:
            return
        sensors.stop()
        self._session.destroy([sensor.id for sensor in sensors.actors])
        self._session.clean_up(self._leave_standing)

    def _leave_standing(self) -> None:
        if self.is_there:
            self.ego.apply_control(vehicle_control(STANDING))

    def _next_tick(self) -> carla.WorldSnapshot:
        while True:
            try:
                return self._world.wait_for_tick(TICK_TIMEOUT_S)
            except RuntimeError:
                with self._session.answering("the question whether it is there"):
                    self._session.client.get_server_version()

    def _wait_for(self, role: str) -> carla.Vehicle:
        while True:
            with self._session.answering("looking for the ego"):
                for actor in actors_in(self._session.client.get_world(), "vehicle.*"):
                    if actor.attributes.get("role_name") == role and actor.is_alive:
                        return cast("carla.Vehicle", actor)
            time.sleep(LOOK_EVERY_S)
