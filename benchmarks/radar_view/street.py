"""A drive past parked cars through a town where nothing else moves: false tracks, and what the radars cost."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace

import carla
import numpy as np

from av_core.types import Rig
from av_stack.world.carla.actors import SpawnOnAutopilot
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import DEFAULT_STEP_S, Address, WorldSpec
from benchmarks.radar_view.perceiver import Perceiver
from benchmarks.server import processor_s, start_server
from perception.device import PerceptionBackend
from perception.map_index import MapIndex

TOWN, START = "city_grid", (111.75, -147.5)
PARKED, TO_THE_RIGHT_M = 80, 3.3
"""Number of parked cars, and how far beside the middle of the lane they stand."""

MOVING_MIN_MPS = 2.0
WARM_TICKS, COST_TICKS = 100, 600
COST_VEHICLES, TRAFFIC_MANAGER_PORT = 30, 28300


def false_tracks(rig: Rig, backend: PerceptionBackend | None, minutes: float) -> dict[str, dict[str, float]]:
    """By sensors, how many tracks per minute move, of `minutes` of a drive in which nothing but the ego does."""
    server, port = start_server(TOWN)
    world = CarlaWorld(Address("127.0.0.1", port), WorldSpec(TOWN, START, (START,), rig), silence_max_s=60.0)
    try:
        _park(world)
        world.require_traffic().drive_in_background(world.episode.ego, ignores_signals=True)
        perceiver = Perceiver(rig, world.lane_graph, MapIndex(world.lane_graph), backend)
        moving: dict[str, set[int]] = defaultdict(set)
        driven_m, radar_ms, ticks = 0.0, 0.0, round(60.0 * minutes / DEFAULT_STEP_S)
        for _ in range(ticks):
            frame = world.tick()
            perceived = perceiver.update(frame)
            driven_m += frame.wheel_speed_mps * DEFAULT_STEP_S
            radar_ms += perceived.radar_ms
            for sensors, tracks in perceived.tracks.items():
                moving[sensors] |= {track.track_id for track in tracks if track.speed_mps >= MOVING_MIN_MPS}
        figures = {name: {"moving_tracks_per_minute": len(moving[name]) / minutes} for name in perceived.tracks}
        return figures | {"drive": {"minutes": minutes, "metres": driven_m, "radar_tracking_ms": radar_ms / ticks}}
    finally:
        world.close()
        server.terminate()
        server.wait(10)


def _park(world: CarlaWorld) -> None:
    """Spawn parked cars beside the outermost lanes, which the server's end removes."""
    server, rng = world.episode.world, np.random.default_rng(1)
    cars = [b for b in server.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") == "car"]
    places = [place for place in world.episode.map.get_spawn_points() if _is_outermost(world.episode.map, place)]
    rng.shuffle(places)
    for number, place in enumerate(places[:PARKED]):
        place.location += carla.Location(place.get_right_vector() * TO_THE_RIGHT_M)
        car = server.try_spawn_actor(cars[number % len(cars)], place)
        if isinstance(car, carla.Vehicle):
            car.apply_control(carla.VehicleControl(hand_brake=True))


def _is_outermost(roads: carla.Map, place: carla.Transform) -> bool:
    beside = roads.get_waypoint(place.location).get_right_lane()
    return beside is None or beside.lane_type != carla.LaneType.Driving


def cost(rig: Rig) -> dict[str, dict[str, float]]:
    """Processor time of server and client per tick: without cameras and radars, with the radars alone, with both."""
    server, port = start_server(TOWN)
    try:
        rigs = {"neither": Rig((), rig.noise), "radars": replace(rig, cameras=()), "cameras and radars": rig}
        return {name: _cost(each, port, server.pid) for name, each in rigs.items()}
    finally:
        server.terminate()
        server.wait(10)


def _cost(rig: Rig, port: int, server_pid: int) -> dict[str, float]:
    world = CarlaWorld(Address("127.0.0.1", port), WorldSpec(TOWN, START, (START,), rig), silence_max_s=60.0)
    try:
        client, places = world.episode.session.client, world.episode.map.get_spawn_points()
        cars = [
            b
            for b in world.episode.world.get_blueprint_library().filter("vehicle.*")
            if b.get_attribute("base_type") == "car"
        ]
        batch = SpawnOnAutopilot(TRAFFIC_MANAGER_PORT)
        step = max(len(places) // COST_VEHICLES, 1)
        for i in range(COST_VEHICLES):
            batch.add(cars[i % len(cars)], places[i * step % len(places)])
        spawned = batch.spawn(client, True)
        for _ in range(WARM_TICKS):
            world.tick()
        server_s, client_s = processor_s(server_pid), time.process_time()
        for _ in range(COST_TICKS):
            world.tick()
        figures = {
            "server_ms_per_tick": 1e3 * (processor_s(server_pid) - server_s) / COST_TICKS,
            "client_ms_per_tick": 1e3 * (time.process_time() - client_s) / COST_TICKS,
        }
        client.apply_batch_sync([carla.command.DestroyActor(i) for i in spawned], True)
        return figures
    finally:
        world.close()
