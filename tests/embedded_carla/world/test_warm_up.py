"""What is compiled before the server listens is all that a tick needs: no client waits for a compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

TICKS = """
import sys
from numba.core.dispatcher import Dispatcher
compiled = []
compile_one = Dispatcher.compile
def told(self, signature):
    compiled.append((self.py_func.__module__, self.py_func.__qualname__, str(signature)))
    return compile_one(self, signature)
Dispatcher.compile = told
from embedded_carla.warm_up import warm_up
warm_up()
assert compiled
del compiled[:]

import msgpack
from embedded_carla import handlers
from embedded_carla.blueprints import LIBRARY
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.simulation import Simulation
from embedded_carla.wire import rpc
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world.collision.impacts import find_contacts
loader = MapLoader(MapLibrary([]), 0)
if sys.argv[1] == "beside":
    from embedded_carla.maps.build_apart import Build
    build = Build(*loader._library.load_text("city_grid"), 0, seconds=100.0)
    build.wait()
    beside = build.result()
    loader.load = lambda name: beside
simulation = Simulation(loader, StreamHub(lambda _: None), 2001, "city_grid", 0)

def call(method, *args):
    answer = msgpack.unpackb(handlers.answer(simulation, rpc.Call(1, method, list(args))))
    assert answer[2] is None, answer
    return answer[3]

def spawn(name, pose):
    number = list(LIBRARY).index(name) + 1
    answer = call("spawn_actor", [number, name, []], [[pose.x, pose.y, pose.z + 0.3], [0.0, pose.yaw_deg, 0.0]])
    assert answer[0][0] == 1, answer
    return answer[0][1][0]

points = simulation.map.scenery.spawn_points
cars = [spawn(name, points[i]) for i, name in enumerate(["vehicle.tesla.model3", "vehicle.bh.crossbike"] * 3)]
walkers = [spawn("walker.pedestrian.0001", points[10 + i]) for i in range(6)]
call("set_actor_simulate_physics", cars[0], False)
call("set_actor_simulate_physics", walkers[0], False)
call("apply_control_to_walker", walkers[1], [[1.0, 0.0, 0.0], 1.5, True])
for tick in range(60):
    control = [1.0, 0.3, 0.0, False, False, False, 0]
    call("apply_batch", [[[2, [i, control]]] for i in cars], False)
    places = [[points[10 + n].x + 0.1 * tick, points[10 + n].y, points[10 + n].z] for n in range(6)]
    call("apply_batch", [[[7, [i, [place, [0.0, 0.0, 0.0]], 1.4]]] for i, place in zip(walkers[2:], places)], False)
    simulation.advance(0.05)
    simulation.publish_state(0.05)
# A collision with a vehicle, and one with scenery.
there = simulation.episode.pose_of(simulation.episode.vehicle(cars[2]))
call("set_actor_transform", cars[1], [list(there.location), [0.0, 0.0, 0.0]])
wall = simulation.map.scenery.colliders.centre[0].tolist()
call("set_actor_transform", cars[3], [wall, [0.0, 0.0, 0.0]])
contacts = simulation.episode.contacts
touching = find_contacts(contacts.boxes()[1], contacts.static)
assert {contact.b > 0 for contact in touching} == {True, False}, touching
simulation.advance(0.05)
assert not compiled, compiled
"""


@pytest.mark.parametrize("built", ["here", "beside"])
def test_no_tick_waits_for_a_compiler(built: str) -> None:
    """`built`: whether the server builds the map itself or, as beside other clients, a process of its own."""
    run = subprocess.run([sys.executable, "-c", TICKS, built], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
