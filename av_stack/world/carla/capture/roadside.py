"""Objects that detectors confuse, close to the cameras: standing lorries, buses, vans, cycles, and roadside props."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import carla
import numpy as np

from av_stack.world.carla.actors import destroy

LARGE = ("truck", "bus", "van", "motorcycle", "bicycle")
"""Base types of the standing vehicles; each is drawn equally often."""

VEHICLE_AHEAD_M = (6.0, 45.0)
OWN_LANE_AHEAD_M = 25.0
"""Least distance ahead of a standing vehicle in the camera's own lane, so that its car can stop."""

LANE_CHANCES = {0.0: 0.2, -1.0: 0.4, 1.0: 0.4}
"""Probability of a standing vehicle's place: own lane, or one lane's width to a side."""

PROP_AHEAD_M = (6.0, 50.0)
PROP_ASIDE_M = (4.0, 12.0)
"""Distance of a prop from the middle of the lane."""

PROPS = (
    "advertisement", "atm", "barrel", "bench01", "bin", "box01", "busstop", "clothcontainer", "constructioncone",
    "container", "doghouse", "foodcart", "gardenlamp", "glasscontainer", "gnome", "haybale", "kiosk_01", "mailbox",
    "plantpot06", "plantpot08", "plasticbag", "plasticchair", "shoppingcart", "streetbarrier", "streetfountain",
    "streetsign", "streetsign01", "streetsign04", "swingcouch", "trafficcone01", "trafficwarning", "trashbag",
    "trashcan01", "trashcan03", "travelcase", "vendingmachine",
)  # fmt: skip
"""Props that resemble road users, lights or signs in size or form."""


class Roadside:
    """Spawns standing vehicles and props near the cameras; `cleanup` destroys them.

    The `vehicles` are labelled, the props are not.
    """

    def __init__(self, client: carla.Client, world: carla.World, seed: int, cleanup: ExitStack) -> None:
        self.vehicles: list[carla.Actor] = []
        self._props: list[carla.Actor] = []
        self._client, self._world, self._map = client, world, world.get_map()
        self._rng = np.random.default_rng([seed, 13])
        self._library = world.get_blueprint_library()
        cleanup.callback(self._clear)

    def replace(self, vehicles: int, props: int, hosts: Sequence[carla.Vehicle]) -> None:
        """Remove the present objects, and place up to this many vehicles and props near the `hosts`, in turn."""
        self._clear()
        for number in range(vehicles):
            place = self._lane_place(hosts[number % len(hosts)])
            self._spawn(self._vehicle_blueprint(), place, self.vehicles)
        for number in range(props):
            name = PROPS[int(self._rng.integers(len(PROPS)))]
            place = self._verge_place(hosts[number % len(hosts)])
            self._spawn(self._library.find(f"static.prop.{name}"), place, self._props)

    def _spawn(self, blueprint: carla.ActorBlueprint, place: carla.Transform | None, onto: list[carla.Actor]) -> None:
        actor = None if place is None else self._world.try_spawn_actor(blueprint, place)
        if actor is not None:
            onto.append(actor)

    def _vehicle_blueprint(self) -> carla.ActorBlueprint:
        kind = LARGE[int(self._rng.integers(len(LARGE)))]
        some = [
            blueprint
            for blueprint in sorted(self._library.filter("vehicle.*"), key=lambda b: str(b.id))
            if blueprint.has_attribute("base_type") and blueprint.get_attribute("base_type").as_str() == kind
        ]
        return some[int(self._rng.integers(len(some)))]

    def _lane_place(self, host: carla.Vehicle) -> carla.Transform | None:
        lanes = float(self._rng.choice(list(LANE_CHANCES), p=list(LANE_CHANCES.values())))
        low, high = VEHICLE_AHEAD_M
        ahead_m = float(self._rng.uniform(low if lanes else OWN_LANE_AHEAD_M, high))
        there = self._ahead(host, ahead_m)
        return None if there is None else _beside(there, lanes * there.lane_width, there.transform.rotation.yaw)

    def _verge_place(self, host: carla.Vehicle) -> carla.Transform | None:
        out_m = float(self._rng.choice([-1.0, 1.0]) * self._rng.uniform(*PROP_ASIDE_M))
        yaw_deg = float(self._rng.uniform(-180.0, 180.0))
        there = self._ahead(host, float(self._rng.uniform(*PROP_AHEAD_M)))
        return None if there is None else _beside(there, out_m, yaw_deg)

    def _ahead(self, host: carla.Vehicle, ahead_m: float) -> carla.Waypoint | None:
        found = self._map.get_waypoint(host.get_location()).next(ahead_m)
        return found[0] if found else None

    def _clear(self) -> None:
        destroy(self._client, [actor.id for actor in [*self.vehicles, *self._props]])
        self.vehicles.clear()
        self._props.clear()


def _beside(waypoint: carla.Waypoint, out_m: float, yaw_deg: float) -> carla.Transform:
    """The place `out_m` to the right of a lane's middle, a little above the road."""
    here, right = waypoint.transform.location, waypoint.transform.get_right_vector()
    at = carla.Location(here.x + out_m * right.x, here.y + out_m * right.y, here.z + 0.3)
    return carla.Transform(at, carla.Rotation(yaw=yaw_deg))
