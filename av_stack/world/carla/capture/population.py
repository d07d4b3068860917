"""Traffic, a crowd and guests for labelled pictures: many kinds of road users, dense where the cameras are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import cast

import carla
import numpy as np

from av_stack.world.carla.actors import SpawnOnAutopilot, actors_in, destroy
from av_stack.world.carla.capture.labelled_signs import is_labelled
from av_stack.world.carla.road_users.crowd import Crowd
from av_stack.world.carla.road_users.traffic import free_port

WEIGHTS = {"motorcycle": 2.5, "bicycle": 2.5, "truck": 2.0, "van": 1.5, "bus": 4.0}
"""Weight of each base type per blueprint, relative to a car, so that a detector also learns rare kinds."""

CROSSING_SHARE = 0.3
"""Share of the walkers that may cross the road."""

NEAR_LIGHTS = 0.6
"""Share of the episodes whose traffic gathers round a traffic light or sign, if the map has any."""


class Population:
    """Spawns the road users for one episode of labelled pictures; `cleanup` destroys them.

    `vehicles` and `crowd` stay for the whole episode; `move_guests` replaces the `guests`.
    """

    def __init__(
        self, client: carla.Client, world: carla.World, seed: int, rng: np.random.Generator, cleanup: ExitStack
    ) -> None:
        self.vehicles: list[carla.Vehicle] = []
        self.crowd: list[carla.Actor] = []
        self.guests: list[carla.Actor] = []
        self._client, self._world, self._seed, self._rng, self._cleanup = client, world, seed, rng, cleanup
        self._map = world.get_map()
        self._library = world.get_blueprint_library()

    def spawn_traffic(self, count: int, model: str | None, of_model: int) -> None:
        """Spawn up to `count` vehicles, as far as the map has room; the first `of_model` of them are a `model`."""
        manager = self._client.get_trafficmanager(free_port())
        manager.set_synchronous_mode(True)
        self._cleanup.callback(manager.shut_down)
        self._cleanup.callback(manager.set_synchronous_mode, False)
        manager.set_random_device_seed(self._seed)
        blueprints = sorted(self._library.filter("vehicle.*"), key=lambda b: str(b.id))
        weights = np.array([WEIGHTS.get(_attribute(b, "base_type"), 1.0) for b in blueprints])
        batch = SpawnOnAutopilot(manager.get_port())
        for number, point in enumerate(self._spawn_points()[:count]):
            blueprint = blueprints[int(self._rng.choice(len(blueprints), p=weights / weights.sum()))]
            if model is not None and number < of_model:
                blueprint = self._library.find(model)
            self._vary(blueprint)
            batch.add(blueprint, point)
        ids = batch.spawn(self._client, do_tick=True)
        self.vehicles += self._world.get_actors(ids)
        self._cleanup.callback(self._destroy, self.vehicles)
        for vehicle in self.vehicles:
            manager.update_vehicle_lights(vehicle, True)

    def spawn_crowd(self, count: int) -> None:
        """Spawn walkers under CARLA's own navigation, if the map has a mesh for it."""
        crowd = Crowd(self._client, self._world, count, self._rng)
        self._cleanup.callback(crowd.close)
        self._world.set_pedestrians_cross_factor(CROSSING_SHARE)
        self._world.tick()
        crowd.start()
        self.crowd = crowd.walkers
        self._cleanup.callback(self._destroy, self.guests)

    def draw_vehicles(self, count: int, of: int, model: str | None) -> list[carla.Vehicle]:
        """`count` cars drawn at random from the first `of` cars of the traffic.

        They are of this `model` if the traffic has any. Without a single car, other vehicles are drawn.
        """
        cars = [v for v in self.vehicles if v.attributes.get("base_type") == "car"] or self.vehicles
        if model is not None:
            cars = [v for v in self.vehicles if v.type_id == model] or cars
        order = self._rng.permutation(min(len(cars), of))
        return [cars[i] for i in order[:count]]

    def move_guests(self, count: int, hosts: list[carla.Vehicle], ahead_m: tuple[float, float]) -> None:
        """Spawn new guests on and beside the road ahead of the `hosts`, walking in random directions."""
        self._destroy(self.guests)
        self.guests.clear()
        rng = self._rng
        for number in range(count):
            here = self._map.get_waypoint(hosts[number % len(hosts)].get_location())
            ahead = here.next(float(rng.uniform(*ahead_m)))
            if not ahead:
                continue
            pose = ahead[0].transform
            right = pose.get_right_vector()
            out_m = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.0, 8.0))
            place = carla.Location(
                pose.location.x + out_m * right.x, pose.location.y + out_m * right.y, pose.location.z + 1.2
            )
            yaw_deg = float(rng.uniform(-180.0, 180.0))
            where = carla.Transform(place, carla.Rotation(yaw=yaw_deg))
            guest = cast("carla.Walker | None", self._world.try_spawn_actor(self._walker_blueprint(), where))
            if guest is None:
                continue
            way = carla.Vector3D(float(np.cos(np.radians(yaw_deg))), float(np.sin(np.radians(yaw_deg))), 0.0)
            guest.apply_control(carla.WalkerControl(way, float(rng.choice([0.0, 0.6, 1.2, 1.6])), False))
            self.guests.append(guest)

    def _spawn_points(self) -> list[carla.Transform]:
        """The map's spawn points, nearest first to a random place, so that traffic is dense there."""
        points = self._map.get_spawn_points()
        if not points:
            return []
        xy = np.array([(p.location.x, p.location.y) for p in points])
        told = [a.get_location() for a in actors_in(self._world, "traffic.*") if is_labelled(a.type_id)]
        places = xy
        if told and self._rng.uniform() < NEAR_LIGHTS:
            places = np.array([(at.x, at.y) for at in told])
        centre = places[int(self._rng.integers(len(places)))]
        return [points[i] for i in np.argsort(np.hypot(*(xy - centre).T), kind="stable")]

    def _walker_blueprint(self) -> carla.ActorBlueprint:
        blueprints = sorted(self._library.filter("walker.pedestrian.*"), key=lambda b: str(b.id))
        return blueprints[int(self._rng.integers(len(blueprints)))]

    def _vary(self, blueprint: carla.ActorBlueprint) -> None:
        if blueprint.has_attribute("color"):
            colours = blueprint.get_attribute("color").recommended_values
            blueprint.set_attribute("color", colours[int(self._rng.integers(len(colours)))])

    def _destroy(self, actors: Sequence[carla.Actor]) -> None:
        destroy(self._client, [actor.id for actor in actors])


def _attribute(blueprint: carla.ActorBlueprint, name: str) -> str:
    return str(blueprint.get_attribute(name).as_str()) if blueprint.has_attribute(name) else ""
