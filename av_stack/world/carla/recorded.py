"""Plays a recording of CARLA's recorder on a server, with our sensors on the vehicle that it is about."""

from __future__ import annotations

import re
from functools import partial
from typing import cast

import carla

from av_core.errors import WorldError
from av_core.types import LaneGraph, Rig, SensorFrame, Stamp
from av_stack.world.carla.actors import actors_in
from av_stack.world.carla.client import LOAD_TIMEOUT_S, Session
from av_stack.world.carla.map import lane_graph
from av_stack.world.carla.sensors import SensorRig
from av_stack.world.carla.truth import forward_speed_mps, rear_axle_x_m
from av_stack.world.spec import DEFAULT_STEP_S, Address

ROLE = "hero"
END_S = 1e-3
"""Time before the end of a recording at which it counts as over.

In the last frame itself, vehicles stand and have their physics back."""

TOTAL = re.compile(r"Total time recorded: ([\d.]+)")
"""Line of CARLA's answer to `replay_file`."""


class RecordedEgo:
    """The ego of the recording `name`, with the sensors of `rig` on it.

    The ego is the vehicle with the role `hero`, or the only vehicle of the recording. No other program may use the
    server at `address`. Raises WorldError where the server cannot play the recording, and where it has neither a
    vehicle with that role nor a single one.
    """

    def __init__(self, address: Address, name: str, rig: Rig) -> None:
        self._session = Session(address)
        client = self._session.client
        client.set_timeout(LOAD_TIMEOUT_S)
        with self._session.answering(f"playing {name}"):
            _take_over_time(client.get_world())  # before, or the recording runs on meanwhile
            answer = client.replay_file(name, 0.0, 0.0, 0)
            self._world = client.get_world()  # of the recording's map
            _take_over_time(self._world)
            self._world.tick(LOAD_TIMEOUT_S)
            self.lane_graph: LaneGraph = lane_graph(self._world.get_map())
            self._ego = _the_vehicle(self._world, name)
            self._sensors = self._mount(rig)
        total = TOTAL.search(answer)
        self._end_s = float(total[1]) if total else 0.0
        self._count = 0

    def tick(self) -> SensorFrame | None:
        """The measurements of the next step; None at the end of the recording, and once the vehicle does not exist."""
        stamp = Stamp(self._count, self._count * DEFAULT_STEP_S)
        shown_s = stamp.time_s + DEFAULT_STEP_S  # the tick before the first one has shown the beginning
        if shown_s > self._end_s - END_S:
            return None
        with self._session.answering("the next step"):
            frame = self._world.tick(LOAD_TIMEOUT_S)
            if not self._is_there:
                return None
            read = self._sensors.read(
                frame, stamp, forward_speed_mps(self._ego), LOAD_TIMEOUT_S, lambda: not self._is_there
            )
        self._sensors.collisions(0, frame, lambda _: stamp)  # nobody asks for them; the queue must not grow
        self._count += 1
        return read

    def close(self) -> None:
        """End the streams. Safe to call twice."""
        self._sensors.stop()

    @property
    def _is_there(self) -> bool:
        return bool(self._world.get_snapshot().has_actor(self._ego.id))

    def _mount(self, rig: Rig) -> SensorRig:
        listen = partial(self._session.listen, timeout_s=LOAD_TIMEOUT_S)
        rear_m, _ = rear_axle_x_m(self._ego)
        return SensorRig(self._world, self._ego, rig, listen, rear_axle_x_m=rear_m, seed=0)


def _take_over_time(world: carla.World) -> None:
    """Make the server wait for our ticks, unless it does so already: each change of the setting is a tick itself."""
    settings = world.get_settings()
    if settings.synchronous_mode and settings.fixed_delta_seconds == DEFAULT_STEP_S:
        return
    settings.synchronous_mode, settings.fixed_delta_seconds = True, DEFAULT_STEP_S
    world.apply_settings(settings)


def _the_vehicle(world: carla.World, name: str) -> carla.Vehicle:
    vehicles = list(actors_in(world, "vehicle.*"))
    heroes = [one for one in vehicles if one.attributes.get("role_name") == ROLE]
    chosen = heroes or vehicles
    if len(chosen) != 1:
        raise WorldError(f"{name}: {len(chosen)} vehicles {'are heroes' if heroes else f'and no {ROLE}'} at its start")
    return cast("carla.Vehicle", chosen[0])
