"""Median times of the server's physics with 50 vehicles, 50 walkers and a town's static boxes; prints JSON in ms."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from embedded_carla import opendrive, scenery
from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.maps import MapLibrary
from embedded_carla.scene import Boxes, Scenery
from embedded_carla.types import Float, Transform, VehicleControl, WalkerControl
from embedded_carla.world.collision.boxes import DynamicBoxes, StaticBoxes
from embedded_carla.world.collision.impacts import find_contacts
from embedded_carla.world.signals.traffic_lights import TrafficLights
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.walkers.crowd import WalkerCrowd

VEHICLES = WALKERS = 50
STATIC_BOXES = 5000
STEP_S = 0.05
ROUNDS = 100


def median_ms(action: Callable[[], object]) -> float:
    """Median time of ROUNDS calls, ms, after ten warm-up calls."""
    for _ in range(10):
        action()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1000.0 * statistics.median(times)


def fleet_on(town: Scenery) -> VehicleFleet:
    fleet = VehicleFleet(town.ground)
    specs = [b.vehicle for b in vehicle_blueprints() if b.vehicle is not None]
    for i in range(VEHICLES):
        slot = fleet.add(specs[i % len(specs)], town.spawn_points[i % len(town.spawn_points)])
        fleet.set_control(slot, VehicleControl(throttle=0.2, steer=0.02))
    return fleet


def crowd_on(town: Scenery) -> WalkerCrowd:
    crowd = WalkerCrowd(town.ground)
    paths = town.walkways or (np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),)
    for i in range(WALKERS):
        x, y, z = paths[i % len(paths)][0]
        slot = crowd.add(Transform(float(x), float(y), float(z)))
        crowd.set_control(slot, WalkerControl((1.0, 0.0, 0.0), 0.5))
    return crowd


def boxes_of(fleet: VehicleFleet, crowd: WalkerCrowd) -> DynamicBoxes:
    def joined(vehicles: Float, walkers: Float) -> Float:
        return np.concatenate([vehicles[:VEHICLES], walkers[:WALKERS]])

    half = joined(np.array([fleet.spec(i).extent for i in range(VEHICLES)]), np.tile([0.25, 0.25, 0.9], (WALKERS, 1)))
    return DynamicBoxes.of(
        range(1, VEHICLES + WALKERS + 1),
        joined(fleet.location, crowd.location),
        joined(fleet.rotation_deg, crowd.rotation_deg),
        half,
        joined(fleet.velocity, crowd.velocity),
    )


def many(colliders: Boxes) -> Boxes:
    """The town's boxes, and copies of them far away, STATIC_BOXES in all at least."""
    copies = max(-(-STATIC_BOXES // max(len(colliders.centre), 1)), 1)
    aside = np.arange(copies)[:, None, None] * np.array([0.0, 5000.0, 0.0])
    return Boxes(
        (colliders.centre + aside).reshape(-1, 3),
        np.tile(colliders.half, (copies, 1)),
        np.tile(colliders.yaw_rad, copies),
        np.tile(colliders.tag, copies),
    )


def main() -> None:
    name, text = MapLibrary(()).load_text("city_grid")
    town = scenery.build(opendrive.parse(text, name))
    fleet, crowd = fleet_on(town), crowd_on(town)
    static = StaticBoxes(many(town.colliders))
    lights = TrafficLights(town.signals, town.controller_sequences)
    points = np.concatenate([fleet.location[:VEHICLES]] * 2)
    wheels = np.concatenate([fleet.location[:VEHICLES]] * 5)
    # The collision search is timed first: since contacts are not resolved, vehicles soon overlap each other and houses.
    for _ in range(20):
        fleet.step(STEP_S, 0.0)
        crowd.step(STEP_S)
    figures = {
        "collision_search_ms": median_ms(lambda: find_contacts(boxes_of(fleet, crowd), static)),
        "vehicles_step_ms": median_ms(lambda: fleet.step(STEP_S, 0.0)),
        "of_which_ground_ms": median_ms(lambda: town.ground.below(wheels)),
        "walkers_step_ms": median_ms(lambda: crowd.step(STEP_S)),
        "signals_step_ms": median_ms(lambda: lights.step(STEP_S)),
        "governing_lights_ms": median_ms(lambda: lights.governing(points)),
    }
    counts = {"vehicles": VEHICLES, "walkers": WALKERS, "static_boxes": len(static), "lights": len(lights.ids)}
    print(json.dumps({**figures, **counts}))


if __name__ == "__main__":
    main()
