"""Speed of the embedded server with a crowd: loading a town, and ticks with TrafficManager vehicles and AI walkers.

The client is the real carla wheel. The town is Town04 if AV_STACK_DATA has it, else city_grid.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import carla

from av_stack.world.carla.actors import SpawnOnAutopilot
from benchmarks.server import processor_s, start_server

VEHICLES, WALKERS = 86, 50
WARM_TICKS, TICKS = 200, 1000
DELTA_S = 0.05
TRAFFIC_MANAGER_PORT = 28100


def load_s(client: carla.Client, town: str) -> float:
    """Wall time of one load_world, s."""
    start = time.perf_counter()
    client.load_world(town)
    return time.perf_counter() - start


def synchronous(client: carla.Client) -> tuple[carla.World, carla.TrafficManager]:
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, DELTA_S
    world.apply_settings(settings)
    manager = client.get_trafficmanager(TRAFFIC_MANAGER_PORT)
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(0)
    return world, manager


def spawn_vehicles(client: carla.Client, world: carla.World) -> list[int]:
    blueprints = [b for b in world.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") == "car"]
    points = world.get_map().get_spawn_points()
    random.Random(0).shuffle(points)
    batch = SpawnOnAutopilot(TRAFFIC_MANAGER_PORT)
    for i, point in enumerate(points[:VEHICLES]):
        batch.add(blueprints[i % len(blueprints)], point)
    return batch.spawn(client, True)


def spawn_walkers(world: carla.World) -> tuple[list[carla.Actor], list[carla.WalkerAIController]]:
    """Spawn walkers with AI controllers and send each to a random destination."""
    world.set_pedestrians_seed(0)
    blueprints = world.get_blueprint_library().filter("walker.pedestrian.*")
    walkers: list[carla.Actor] = []
    for i in range(4 * WALKERS):
        if len(walkers) < WALKERS:
            place = world.get_random_location_from_navigation()
            place.z += 1.0
            walkers += filter(None, [world.try_spawn_actor(blueprints[i % len(blueprints)], carla.Transform(place))])
    world.tick()
    blueprint = world.get_blueprint_library().find("controller.ai.walker")
    controllers = [
        cast("carla.WalkerAIController", world.spawn_actor(blueprint, carla.Transform(), walker)) for walker in walkers
    ]
    world.tick()
    for controller in controllers:
        controller.start()
        controller.go_to_location(world.get_random_location_from_navigation())
        controller.set_max_speed(1.4)
    return walkers, controllers


def ticks_per_s(client: carla.Client, server_pid: int) -> dict[str, float]:
    """Rate of synchronous ticks with the whole crowd, the client's own work included."""
    world, manager = synchronous(client)
    vehicles = spawn_vehicles(client, world)
    walkers, controllers = spawn_walkers(world)
    for _ in range(WARM_TICKS):
        world.tick()
    before = {walker.id: walker.get_location() for walker in walkers}
    moved = dict.fromkeys(before, 0.0)
    taken = []
    worked_s, own_s, driven = processor_s(server_pid), time.process_time(), 0.0
    for _ in range(TICKS):
        start = time.perf_counter()
        world.tick()
        taken.append(time.perf_counter() - start)
        snapshot = world.get_snapshot()
        for walker in walkers:
            place = snapshot.find(walker.id).get_transform().location
            moved[walker.id] += place.distance(before[walker.id])
            before[walker.id] = place
        driven += DELTA_S * sum(snapshot.find(i).get_velocity().length() for i in vehicles)
    server_ms = 1e3 * (processor_s(server_pid) - worked_s) / TICKS
    client_ms = 1e3 * (time.process_time() - own_s) / TICKS
    manager.set_synchronous_mode(False)
    for controller in controllers:
        controller.stop()
    client.apply_batch_sync([carla.command.DestroyActor(i) for i in (*vehicles, *moved)], True)
    return {
        "vehicles": len(vehicles),
        "walkers": len(walkers),
        "ticks_per_s": TICKS / sum(taken),
        "ticks_per_s_by_median": 1.0 / statistics.median(taken),
        "server_processor_ms_per_tick": server_ms,
        "client_processor_ms_per_tick": client_ms,
        "vehicle_mean_mps": driven / (TICKS * DELTA_S * len(vehicles)),
        "walker_mean_mps": sum(moved.values()) / (TICKS * DELTA_S * len(walkers)),
    }


def main() -> int:
    argparse.ArgumentParser(prog="python -m benchmarks.crowd", description=__doc__).parse_args()
    data = Path(os.environ.get("AV_STACK_DATA", "")) / "maps"
    town = "Town04" if (data / "Town04.xodr").is_file() else "city_grid"
    figures: dict[str, float | str] = {"map": town}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["EMBEDDED_CARLA_CACHE"] = cache
        os.environ["EMBEDDED_CARLA_MAPS"] = os.pathsep.join(
            filter(None, [os.environ.get("EMBEDDED_CARLA_MAPS"), str(data) if town == "Town04" else None])
        )
        for name in ("load_s", "load_from_cache_s"):
            server, port = start_server("country_road")
            try:
                client = carla.Client("127.0.0.1", port)
                client.set_timeout(60.0)
                client.get_world()
                worked_s = processor_s(server.pid)
                figures[name] = load_s(client, town)
                figures[f"{name.removesuffix('_s')}_processor_s"] = processor_s(server.pid) - worked_s
                if name == "load_from_cache_s":
                    figures |= ticks_per_s(client, server.pid)
            finally:
                server.terminate()
                server.wait(10)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
