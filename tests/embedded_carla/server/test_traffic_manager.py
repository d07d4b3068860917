"""CARLA's TrafficManager, which lives in the wheel, against the server. In processes of their own: faults of the wheel
end or hang the whole client."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.embedded_carla.server.tm_episodes import experiment

pytest.importorskip("carla")

RED = """
import sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(20.0)
world = client.get_world()
settings = world.get_settings()
settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
world.apply_settings(settings)
manager = client.get_trafficmanager(29123)
manager.set_synchronous_mode(True)
manager.set_random_device_seed(1)
library = [b for b in world.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") == "car"]
points = world.get_map().get_spawn_points()
step = len(points) // 30
make = carla.command
autopilot = make.SetAutopilot(make.FutureActor, True, 29123)
batch = [make.SpawnActor(library[i % len(library)], points[i * step]).then(autopilot) for i in range(30)]
cars = world.get_actors([a.actor_id for a in client.apply_batch_sync(batch, True) if not a.error])
assert len(cars) == 30, len(cars)
for car in cars: manager.auto_lane_change(car, False)  # else half a lane's width is no fault
town = world.get_map()
waited, ran_red, off_lane, driven = set(), 0, 0.0, 0.0
for tick in range(1200):
    world.tick()
    if tick < 40: continue
    for car in cars:
        speed = car.get_velocity().length()
        driven += speed * 0.05
        if car.is_at_traffic_light() and car.get_traffic_light_state() == carla.TrafficLightState.Red:
            if speed < 0.1: waited.add(car.id)
        if tick % 10 == 0:
            here = car.get_location()
            lane = town.get_waypoint(here)
            if not lane.is_junction:
                right = lane.transform.get_right_vector()
                off = here - lane.transform.location
                off_lane = max(off_lane, abs(off.x * right.x + off.y * right.y))
print(len(waited), off_lane, driven, flush=True)
client.apply_batch_sync([make.DestroyActor(c) for c in cars], True)
"""


def test_thirty_cars_keep_their_lanes_and_stop_at_red(server: Any, client: Any) -> None:
    run = subprocess.run(
        [sys.executable, "-c", RED, str(server.port)], capture_output=True, text=True, timeout=110, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    waited, off_lane_m, driven_m = (float(word) for word in run.stdout.split()[-3:])
    assert waited >= 5
    assert off_lane_m < 1.2
    assert driven_m > 3000.0


def test_short_synchronous_episodes_never_hang(server: Any, client: Any) -> None:
    """The short form of `python -m tests.embedded_carla.server.tm_episodes --episodes 2000`."""
    outcome = experiment(server.port, episodes=40, vehicles=3, ticks=10, patience_s=20.0)
    assert (outcome.episodes, outcome.hangs, outcome.aborts) == (40, 0, 0)


RELOADS = """
import sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(20.0)
is_synchronous, has_synchronous_manager = (word == "True" for word in sys.argv[2:4])
for _ in range(3):
    world = client.get_world()
    manager = client.get_trafficmanager(29127)
    manager.set_synchronous_mode(has_synchronous_manager)
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = is_synchronous, 0.05
    world.apply_settings(settings)
    go_on = world.tick if is_synchronous else world.wait_for_tick
    go_on()
    place = world.get_map().get_spawn_points()[5]
    world.spawn_actor(world.get_blueprint_library().find("vehicle.audi.a2"), place).set_autopilot(True, 29127)
    for _ in range(5): go_on()
    world = client.reload_world()
    assert not world.get_actors().filter("vehicle.*")
print("done", flush=True)
"""


@pytest.mark.parametrize("modes", [("False", "False"), ("True", "False"), ("True", "True")])
def test_a_world_is_reloaded_under_a_manager_at_work(server: Any, client: Any, modes: tuple[str, str]) -> None:
    """Its thread must not look while the client is between two episodes: the process would die."""
    run = subprocess.run(
        [sys.executable, "-c", RELOADS, str(server.port), *modes], capture_output=True, text=True, timeout=110,
        check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr[-2000:]


LOADS = """
import sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1])); client.set_timeout(60.0)
is_synchronous = sys.argv[2] == "before"
world = client.load_world("country_road")
def tick_alone():
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
for _ in range(3):
    if is_synchronous: tick_alone()
    manager = client.get_trafficmanager(29128)
    manager.set_synchronous_mode(is_synchronous)
    world = client.load_world("city_grid", reset_settings=False)
    if not is_synchronous: tick_alone(); manager.set_synchronous_mode(True)
    world.tick()
    town, cars = world.get_map(), []
    for place in town.get_spawn_points()[:4]:
        cars.append(world.spawn_actor(world.get_blueprint_library().find("vehicle.audi.a2"), place))
        cars[-1].set_autopilot(True, 29128)
    for _ in range(40):
        world.tick()
        for car in cars:
            lane = town.get_waypoint(car.get_location()).transform
            assert car.get_location().distance_2d(lane.location) < 1.0, car.get_transform()
    assert max(car.get_velocity().length() for car in cars) > 3.0
    for car in cars: car.set_autopilot(False, 29128)
    world.tick()
    for car in cars: car.destroy()
    world = client.load_world("country_road", reset_settings=False)
manager.set_synchronous_mode(False)
print("done", flush=True)
"""


@pytest.mark.parametrize("synchronous", ["before", "after"])
def test_a_manager_from_before_a_load_drives_on_the_new_map(server: Any, client: Any, synchronous: str) -> None:
    """Evaluators make their manager once and load each route's town afterwards."""
    run = subprocess.run(
        [sys.executable, "-c", LOADS, str(server.port), synchronous], capture_output=True, text=True, timeout=110,
        check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr[-2000:]
