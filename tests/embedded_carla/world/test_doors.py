"""Open doors in one process: how they swing, what stops them, what they hit, and which vehicles have them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from embedded_carla.blueprints import LIBRARY
from embedded_carla.errors import CommandError
from embedded_carla.handlers.actors import set_actor_simulate_physics
from embedded_carla.handlers.bodywork import close_vehicle_door, open_vehicle_door
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.render.shapes.actors import make_shape
from embedded_carla.render.shapes.vehicles.door_frames import door_frames
from embedded_carla.simulation import Simulation
from embedded_carla.types import Transform
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world import spawning
from embedded_carla.world.actors import Actor
from embedded_carla.world.collision.door_boxes import HALF_THICKNESS_M
from embedded_carla.world.vehicles.doors import OPEN_RAD

CAR = "vehicle.lincoln.mkz_2020"
FL, FR, RL, RR = range(4)
ALL = 6
STEP_S = 0.05
WITH_DOORS = sorted(
    b.type_id for b in LIBRARY.values() for a in b.attributes if (a.name, a.default) == ("has_dynamic_doors", "true")
)


@pytest.fixture(scope="module")
def loader() -> MapLoader:
    return MapLoader(MapLibrary(), 0)


@pytest.fixture
def simulation(loader: MapLoader) -> Iterator[Simulation]:
    made = Simulation(loader, StreamHub(lambda _: None), 2001, "city_grid", 0)
    yield made
    made.recorder.stop()


def park(simulation: Simulation, ahead_m: float = 0.0, right_m: float = 0.0, type_id: str = CAR) -> Actor:
    """A vehicle in the lane of one spawn point, or beside it."""
    place = simulation.map.scenery.spawn_points[40] @ Transform(ahead_m, right_m, 0.05)
    if type_id.startswith("walker"):
        place = place @ Transform(z=1.0)
    return spawning.spawn(simulation.episode, ActorDescription(1, type_id, ()), place)


def ticks(simulation: Simulation, count: int) -> list[tuple[int, int]]:
    """(actor, other) of the collisions during `count` ticks."""
    found = []
    for _ in range(count):
        simulation.advance(STEP_S)
        found += [(h.actor.actor_id, h.other.actor_id if h.other else 0) for h in simulation.episode.hits]
    return found


def angle_deg(simulation: Simulation, car: Actor, door: int) -> float:
    angles = simulation.episode.doors.angles_rad(car)
    return math.degrees(angles[door]) if angles else 0.0


def test_a_door_swings_open_and_is_shut_at_once(simulation: Simulation) -> None:
    car = park(simulation)
    open_vehicle_door(simulation, car.actor_id, FL)
    seen = [angle_deg(simulation, car, FL)]
    for _ in range(20):
        simulation.advance(0.01)
        seen.append(angle_deg(simulation, car, FL))
    # Undamped, a joint of strength k takes pi / (2 sqrt(k)) = 0.157 s.
    assert 0.14 <= 0.01 * seen.index(math.degrees(OPEN_RAD)) <= 0.18
    assert seen == sorted(seen)
    assert simulation.episode.doors.angles_rad(car)[1:] == (0.0, 0.0, 0.0)
    close_vehicle_door(simulation, car.actor_id, FL)
    assert simulation.episode.doors.angles_rad(car) == ()
    assert not simulation.episode.doors


@pytest.mark.parametrize("type_id", WITH_DOORS)
def test_what_is_drawn_is_what_collides(type_id: str) -> None:
    """A closed door's drawn panel lies within its box's length and height, on its own side of the vehicle."""
    spec = LIBRARY[type_id].vehicle
    assert spec is not None
    frames = door_frames(spec.shape, type_id)
    assert set(frames) in ({FL, FR}, {FL, FR, RL, RR})
    size = 2.0 * np.array(spec.extent)
    for number, frame in frames.items():
        x, y = frame.hinge
        assert 0.6 < frame.length_m < 1.2 or number in (RL, RR), number
        assert frame.side == (1.0 if number in (FR, RR) else -1.0)
        assert 0.0 < frame.side * y < size[1] / 2.0
        panel = make_shape((f"door {number} {spec.shape}", type_id, 0)).vertices[:, :3] * size
        assert panel[:, 0].min() == pytest.approx(-frame.length_m, abs=1e-4)
        assert panel[:, 0].max() == pytest.approx(0.0, abs=1e-4)
        assert panel[:, 2].min() == pytest.approx(frame.z_m[0], abs=1e-4)
        assert panel[:, 2].max() == pytest.approx(frame.z_m[1], abs=1e-4)
        outer = (panel[:, 1] * frame.side).max()
        assert 0.0 < outer < 2.0 * HALF_THICKNESS_M
        hole = make_shape((f"opening {number} {spec.shape}", type_id, 0)).vertices[:, :3] * size
        assert hole[:, 0].min() >= x - frame.length_m - 1e-4
        assert np.sign(hole[:, 1]).tolist() == [frame.side] * len(hole)


def test_which_doors_there_are(simulation: Simulation) -> None:
    car, van = park(simulation), park(simulation, 12.0, type_id="vehicle.mercedes.sprinter")
    old = park(simulation, -12.0, type_id="vehicle.tesla.model3")
    open_vehicle_door(simulation, car.actor_id, ALL)
    assert car.doors == 0b1111
    open_vehicle_door(simulation, van.actor_id, ALL)
    assert van.doors == 0b11
    for actor, door, says in ((van, RL, "has no door 2"), (old, FL, "no doors that open"), (car, 7, "allowed are")):
        with pytest.raises(CommandError, match=says):
            open_vehicle_door(simulation, actor.actor_id, door)
    close_vehicle_door(simulation, car.actor_id, RR)
    ticks(simulation, 10)
    angles = simulation.episode.doors.angles_rad(car)
    assert angles == (OPEN_RAD, OPEN_RAD, OPEN_RAD, 0.0)
    set_actor_simulate_physics(simulation, car.actor_id, True)  # no change
    assert car.doors == 0b0111
    set_actor_simulate_physics(simulation, car.actor_id, False)
    assert simulation.episode.doors.angles_rad(car) == ()


def test_a_neighbour_stops_a_door_until_it_leaves(simulation: Simulation) -> None:
    car, other = park(simulation), park(simulation, 0.0, -2.4)
    ticks(simulation, 30)
    before = simulation.episode.fleet.location[other.slot].copy()
    open_vehicle_door(simulation, car.actor_id, FL)
    hits = ticks(simulation, 20)
    assert set(hits) == {(car.actor_id, other.actor_id), (other.actor_id, car.actor_id)}
    assert len(hits) <= 8  # it bounces
    assert ticks(simulation, 20) == []
    assert 5.0 < angle_deg(simulation, car, FL) < 60.0
    assert np.linalg.norm(simulation.episode.fleet.location[other.slot] - before) < 0.05
    spawning.destroy(simulation.episode, other.actor_id)
    assert ticks(simulation, 10) == []
    assert angle_deg(simulation, car, FL) == pytest.approx(70.0)


def test_doors_of_one_car_do_not_hit_one_another(simulation: Simulation) -> None:
    car = park(simulation)
    ticks(simulation, 30)
    open_vehicle_door(simulation, car.actor_id, ALL)
    before = simulation.episode.fleet.location[car.slot].copy()
    assert ticks(simulation, 20) == []
    assert np.abs(simulation.episode.fleet.location[car.slot] - before).max() < 1e-3


def drive_past(simulation: Simulation, is_open: bool) -> tuple[list[tuple[int, int]], float]:
    """The collisions of a car (1) that passes 0.6 m beside a parked one (0), and how far it got."""
    car, ego = park(simulation, 15.0), park(simulation, 0.0, -2.45)
    if is_open:
        open_vehicle_door(simulation, car.actor_id, FL)
    fleet = simulation.episode.fleet
    hits: list[tuple[int, int]] = []
    start = simulation.map.scenery.spawn_points[40]
    forward = start.matrix()[:3, 0]
    for _ in range(80):
        if not hits:
            fleet.set_velocity(ego.slot, tuple((8.0 * forward).tolist()))
        hits += ticks(simulation, 1)
    travelled = float((fleet.location[ego.slot] - np.array(start.location)) @ forward)
    names = {car.actor_id: 0, ego.actor_id: 1}
    return [(names.get(a, -1), names.get(b, -1)) for a, b in hits], travelled


def test_a_car_hits_an_open_door_and_passes_a_closed_one(loader: MapLoader) -> None:
    runs = []
    for is_open in (True, True, False):
        simulation = Simulation(loader, StreamHub(lambda _: None), 2001, "city_grid", 0)
        runs.append(drive_past(simulation, is_open))
    assert set(runs[0][0]) == {(0, 1), (1, 0)}
    assert runs[0] == runs[1]  # equal bits
    assert runs[2][0] == []
    assert runs[2][1] > 30.0 > runs[0][1]


def test_a_walker_runs_into_a_door(simulation: Simulation) -> None:
    car, walker = park(simulation), park(simulation, -4.0, -1.6, "walker.pedestrian.0001")
    open_vehicle_door(simulation, car.actor_id, FL)
    crowd, forward = simulation.episode.crowd, simulation.map.scenery.spawn_points[40].matrix()[:3, 0]
    hits = []
    for _ in range(60):
        crowd.set_velocity(walker.slot, tuple((2.0 * forward).tolist()))
        hits += ticks(simulation, 1)
    assert {(car.actor_id, walker.actor_id), (walker.actor_id, car.actor_id)} <= set(hits)


def test_a_door_goes_with_its_car(simulation: Simulation) -> None:
    """A destroyed car leaves no door behind; while the door is open, nothing is spawned in it."""
    car = park(simulation)
    open_vehicle_door(simulation, car.actor_id, FL)
    ticks(simulation, 10)
    with pytest.raises(CommandError, match="collision"):
        park(simulation, 0.6, -1.5, "walker.pedestrian.0001")
    spawning.destroy(simulation.episode, car.actor_id)
    assert not simulation.episode.doors
    park(simulation, 0.6, -1.5, "walker.pedestrian.0001")
