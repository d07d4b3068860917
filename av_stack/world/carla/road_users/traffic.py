"""Cars under CARLA's TrafficManager."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import carla
import numpy as np

from av_core.curve import Curve
from av_core.errors import WorldError
from av_stack.world.carla.actors import SpawnOnAutopilot
from av_stack.world.spec import WorldSpec

CLEAR_OF_EGO_M = 12.0
"""No car is spawned within this distance of the ego's start."""

FOLLOWING_GAP_M = 3.0
"""Distance that the cars keep to the vehicle ahead."""

BACKGROUND_GAP_M = 10.0
"""Distance that background traffic keeps to the vehicle ahead."""

SLOWER_PERCENT = 3.0  # below the speed limit, like the ego


class Traffic:
    """Cars under one TrafficManager; call `close` to release it, even when `spawn` fails."""

    def __init__(self, client: carla.Client, seed: int) -> None:
        self.actor_ids: list[int] = []
        self._manager = client.get_trafficmanager(free_port())
        self._manager.set_synchronous_mode(True)
        self._manager.set_hybrid_physics_mode(False)
        self._manager.set_random_device_seed(seed)
        self._manager.set_global_distance_to_leading_vehicle(FOLLOWING_GAP_M)
        self._manager.global_percentage_speed_difference(SLOWER_PERCENT)

    @property
    def port(self) -> int:
        """Port of this machine on which the TrafficManager listens."""
        return int(self._manager.get_port())

    def spawn(self, client: carla.Client, world: carla.World, spec: WorldSpec, rng: np.random.Generator) -> None:
        """Spawn `spec.traffic_vehicles` near the route. Raises WorldError where the map has no room for them."""
        blueprints = _blueprints(world, spec.traffic_kinds)
        points = _spawn_points_by_route(world, spec)
        while points and len(self.actor_ids) < spec.traffic_vehicles:
            count = spec.traffic_vehicles - len(self.actor_ids)
            batch = SpawnOnAutopilot(self.port)
            for point in points[:count]:
                blueprint = blueprints[int(rng.integers(len(blueprints)))]
                if blueprint.has_attribute("color"):
                    colours = blueprint.get_attribute("color").recommended_values
                    blueprint.set_attribute("color", colours[int(rng.integers(len(colours)))])
                blueprint.set_attribute("role_name", "autopilot")
                batch.add(blueprint, point)
            points = points[count:]
            self.actor_ids += batch.spawn(client, do_tick=False)
        # A car that changes lanes on its own watches the target lane only, and would hit the car ahead in its own lane.
        for actor_id in self.actor_ids:
            self._manager.auto_lane_change(world.get_actor(actor_id), False)
        if len(self.actor_ids) < spec.traffic_vehicles:
            found = f"{len(self.actor_ids)} of {spec.traffic_vehicles}"
            raise WorldError(f"map {spec.map_name} has room for only {found} traffic vehicles")

    def drive(self, vehicle: carla.Vehicle) -> None:
        """Let the TrafficManager drive an existing vehicle."""
        vehicle.set_autopilot(True, self.port)

    def drive_in_background(self, vehicle: carla.Vehicle, *, ignores_signals: bool) -> None:
        """Drive an existing vehicle as the Leaderboard's background traffic: it keeps its lane and a larger gap."""
        self.drive(vehicle)
        self._manager.auto_lane_change(vehicle, False)
        self._manager.update_vehicle_lights(vehicle, True)
        self._manager.distance_to_leading_vehicle(vehicle, BACKGROUND_GAP_M)
        if ignores_signals:
            self._manager.ignore_lights_percentage(vehicle, 100.0)
            self._manager.ignore_signs_percentage(vehicle, 100.0)

    def drive_at(self, vehicle: carla.Vehicle, speed_mps: float) -> None:
        """Drive a vehicle at this speed, whatever the limit is."""
        self._manager.set_desired_speed(vehicle, 3.6 * speed_mps)

    def drive_at_limit(self, vehicle: carla.Vehicle) -> None:
        """Drive a vehicle at the speed limit again, as all vehicles do at first."""
        self._manager.vehicle_percentage_speed_difference(vehicle, SLOWER_PERCENT)

    def follow(self, vehicle: carla.Vehicle, path: Sequence[carla.Location]) -> None:
        """Lead a vehicle that it drives along `path`, without lane changes of its own."""
        self._manager.auto_lane_change(vehicle, False)
        self._manager.set_path(vehicle, list(path))

    def change_lane(self, vehicle: carla.Vehicle, *, to_left: bool) -> None:
        """Make a vehicle of the TrafficManager change lanes at once, even if the other lane is occupied."""
        self._manager.force_lane_change(vehicle, not to_left)

    def close(self) -> None:
        """Leave synchronous mode, since the manager's thread would otherwise wait for a tick forever."""
        self._manager.set_synchronous_mode(False)
        self._manager.shut_down()


def free_port() -> int:
    """A port of this machine that is free right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _blueprints(world: carla.World, kinds: Sequence[str]) -> list[carla.ActorBlueprint]:
    """The blueprints of each kind in turn, in a fixed order."""
    found = sorted(world.get_blueprint_library().filter("vehicle.*"), key=lambda blueprint: str(blueprint.id))
    return [blueprint for kind in kinds for blueprint in found if _kind(blueprint) == kind]


def _kind(blueprint: carla.ActorBlueprint) -> str | None:
    if not blueprint.has_attribute("base_type"):
        return None
    return str(blueprint.get_attribute("base_type").as_str()).lower()


def _spawn_points_by_route(world: carla.World, spec: WorldSpec) -> list[carla.Transform]:
    """The map's spawn points, nearest to the route first, without those close to the ego's start."""
    points = world.get_map().get_spawn_points()
    if not points:
        return []
    xy = np.array([(p.location.x, p.location.y) for p in points])
    route = spec.route if len(spec.route) > 1 else 2 * spec.route  # CARLA's frame: distances are the same in both
    distance = Curve.through(*np.array(route).T).distance_m(*xy.T)
    clear = np.hypot(*(xy - spec.start).T) > CLEAR_OF_EGO_M
    return [points[i] for i in np.argsort(distance, kind="stable") if clear[i]]
