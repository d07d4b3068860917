"""Load one map and let TrafficManager drive on it: `python -m benchmarks.real_maps.traffic PORT MAP`; prints JSON."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import time
from typing import Any, cast

import carla

from embedded_carla.maps.prover import die_with_parent

CARS, SECONDS, DELTA_S = 10, 60.0, 0.05
APART_S = 1.0
"""A contact of the same two actors within this time after their last one is no new collision."""

_LOAD_TIMEOUT_S = 300.0


class Collisions:
    """Counts collisions, separately with vehicles and with other actors."""

    def __init__(self) -> None:
        self.vehicles = self.others = 0
        self._last_s: dict[frozenset[int], float] = {}

    def hear(self, event: Any) -> None:
        pair = frozenset((event.actor.id, event.other_actor.id))
        last_s, self._last_s[pair] = self._last_s.get(pair, -APART_S), event.timestamp
        if event.timestamp - last_s >= APART_S:
            is_vehicle = event.other_actor.type_id.startswith("vehicle.")
            self.vehicles, self.others = self.vehicles + is_vehicle, self.others + (not is_vehicle)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def drive(client: carla.Client) -> dict[str, Any]:
    """Drive 60 s of TrafficManager traffic in the loaded world; returns its figures."""
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, DELTA_S
    world.apply_settings(settings)
    try:
        manager = client.get_trafficmanager(free_port())
    except RuntimeError as error:  # the server refuses where TrafficManager would crash this process
        return {"error": str(error)}
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(0)
    blueprints = [b for b in world.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") == "car"]
    places = world.get_map().get_spawn_points()
    random.Random(0).shuffle(places)
    collisions = Collisions()
    cars: list[Any] = []
    sensors: list[Any] = []  # keeps the sensors alive: a freed one stops listening
    for i, place in enumerate(places):
        model = blueprints[i % len(blueprints)]
        car = cast("carla.Vehicle | None", world.try_spawn_actor(model, place) if len(cars) < CARS else None)
        if car is not None:
            kind = world.get_blueprint_library().find("sensor.other.collision")
            sensor = cast("carla.Sensor", world.spawn_actor(kind, carla.Transform(), attach_to=car))
            sensor.listen(collisions.hear)
            sensors.append(sensor)
            car.set_autopilot(True, manager.get_port())
            cars.append(car)
    driven_m, there = 0.0, []
    for _ in range(int(SECONDS / DELTA_S)):
        world.tick()
        snapshot = world.get_snapshot()
        there = list(filter(None, (snapshot.find(car.id) for car in cars)))
        driven_m += sum(DELTA_S * car.get_velocity().length() for car in there)
    manager.set_synchronous_mode(False)
    return {
        "cars": len(cars), "removed_by_traffic_manager": len(cars) - len(there), "driven_m": round(driven_m),
        "collisions_with_vehicles": collisions.vehicles, "collisions_with_others": collisions.others,
        "lowest_car_m": round(min((car.get_transform().location.z for car in there), default=0.0), 1),
    }  # fmt: skip


def main() -> None:
    die_with_parent()
    client = carla.Client("127.0.0.1", int(sys.argv[1]))
    client.set_timeout(_LOAD_TIMEOUT_S)
    began_s = time.perf_counter()
    try:
        world = client.load_world(sys.argv[2])
    except RuntimeError as error:
        figures: dict[str, Any] = {"error": str(error)}
    else:
        figures = {"seconds": round(time.perf_counter() - began_s, 2)}
        places = world.get_map().get_spawn_points()
        figures["spawn_points"] = len(places)
        if places:
            figures["traffic"] = drive(client)
    print(json.dumps(figures), flush=True)
    os._exit(0)  # otherwise the wheel's threads would access freed objects


if __name__ == "__main__":
    main()
