"""Other road users of a run: cars under CARLA's TrafficManager, and walkers that follow scripts.

Does not import carla: the caller passes the module as `api`.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from av_core.errors import WorldError
from av_core.types import Float
from av_stack.world.spec import WalkerScript, WorldSpec

CLEAR_OF_EGO_M = 12.0
"""No car is spawned within this distance of the ego's start."""

FOLLOWING_GAP_M = 3.0
"""Distance that the cars keep to the vehicle ahead."""

SLOWER_PERCENT = 3.0  # below the speed limit, like the ego
ARRIVED_M = 0.4
"""A walker this near to its target has arrived."""

DROP_M = 1.0  # walkers are dropped from this height


class Traffic:
    """Cars under one TrafficManager; call `close` to release it, even when `spawn` fails."""

    def __init__(self, client: Any, seed: int) -> None:
        self.actor_ids: list[int] = []
        self._manager = client.get_trafficmanager(free_port())
        self._manager.set_synchronous_mode(True)
        self._manager.set_hybrid_physics_mode(False)
        self._manager.set_random_device_seed(seed)
        self._manager.set_global_distance_to_leading_vehicle(FOLLOWING_GAP_M)
        self._manager.global_percentage_speed_difference(SLOWER_PERCENT)

    def spawn(self, api: Any, client: Any, world: Any, spec: WorldSpec, rng: np.random.Generator) -> None:
        """Spawn `spec.traffic_vehicles` near the route. Raises WorldError where the map has no room for them."""
        blueprints = _blueprints(world, spec.traffic_kinds)
        points = _spawn_points_by_route(world, spec)
        port = self._manager.get_port()
        while points and len(self.actor_ids) < spec.traffic_vehicles:
            count = spec.traffic_vehicles - len(self.actor_ids)
            batch = []
            for point in points[:count]:
                blueprint = blueprints[int(rng.integers(len(blueprints)))]
                if blueprint.has_attribute("color"):
                    colours = blueprint.get_attribute("color").recommended_values
                    blueprint.set_attribute("color", colours[int(rng.integers(len(colours)))])
                blueprint.set_attribute("role_name", "autopilot")
                spawn = api.command.SpawnActor(blueprint, point)
                batch.append(spawn.then(api.command.SetAutopilot(api.command.FutureActor, True, port)))
            points = points[count:]
            answers = client.apply_batch_sync(batch, False)
            self.actor_ids += [answer.actor_id for answer in answers if not answer.error]
        # A car that changes lanes on its own watches the target lane only, and would hit the car ahead in its own lane.
        for actor_id in self.actor_ids:
            self._manager.auto_lane_change(world.get_actor(actor_id), False)
        if len(self.actor_ids) < spec.traffic_vehicles:
            found = f"{len(self.actor_ids)} of {spec.traffic_vehicles}"
            raise WorldError(f"map {spec.map_name} has room for only {found} traffic vehicles")

    def drive(self, vehicle: Any) -> None:
        """Let the TrafficManager drive an existing vehicle."""
        vehicle.set_autopilot(True, self._manager.get_port())

    def close(self) -> None:
        """Leave synchronous mode, since the manager's thread would otherwise wait for a tick forever."""
        self._manager.set_synchronous_mode(False)
        self._manager.shut_down()


def free_port() -> int:
    """A port of this machine that is free right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _blueprints(world: Any, kinds: Sequence[str]) -> list[Any]:
    """The blueprints of each kind in turn, in a fixed order."""
    found = sorted(world.get_blueprint_library().filter("vehicle.*"), key=lambda blueprint: str(blueprint.id))
    return [blueprint for kind in kinds for blueprint in found if _kind(blueprint) == kind]


def _kind(blueprint: Any) -> str | None:
    if not blueprint.has_attribute("base_type"):
        return None
    return str(blueprint.get_attribute("base_type").as_str()).lower()


def _spawn_points_by_route(world: Any, spec: WorldSpec) -> list[Any]:
    """The map's spawn points, nearest to the route first, without those close to the ego's start."""
    points = world.get_map().get_spawn_points()
    if not points:
        return []
    xy = np.array([(p.location.x, p.location.y) for p in points])
    distance = distance_to_polyline(xy, np.array(spec.route))
    clear = np.hypot(*(xy - spec.start).T) > CLEAR_OF_EGO_M
    return [points[i] for i in np.argsort(distance, kind="stable") if clear[i]]


def distance_to_polyline(xy: Float, line: Float) -> Float:
    """(N,) m from points (N, 2) to the nearest point on the polyline (M, 2)."""
    if len(line) == 1:
        return np.asarray(np.hypot(*(xy - line[0]).T))
    start, along = line[:-1], np.diff(line, axis=0)
    length2 = np.maximum((along**2).sum(axis=1), 1e-9)
    offset = xy[:, None, :] - start
    t = np.clip((offset * along).sum(axis=2) / length2, 0.0, 1.0)
    gap = offset - t[..., None] * along
    return np.asarray(np.hypot(gap[..., 0], gap[..., 1]).min(axis=1))


@dataclass(slots=True)
class _Walker:
    actor: Any
    script: WalkerScript
    target: tuple[float, float]
    heading: tuple[float, float] | None = None  # as last commanded; None while standing
    is_done: bool = False


class ScriptedWalkers:
    """Walkers that follow their scripts; call `step` once before each tick."""

    def __init__(self, api: Any, world: Any, scripts: Sequence[WalkerScript], rng: np.random.Generator) -> None:
        self._api = api
        self.actors: list[Any] = []
        self._walkers: list[_Walker] = []
        blueprints = sorted(world.get_blueprint_library().filter("walker.pedestrian.*"), key=lambda b: str(b.id))
        for script in scripts:
            blueprint = blueprints[int(rng.integers(len(blueprints)))]
            if blueprint.has_attribute("is_invincible"):
                blueprint.set_attribute("is_invincible", "false")
            actor = world.try_spawn_actor(blueprint, self._place(world, script))
            if actor is None:
                raise WorldError(f"a walker cannot be spawned at {script.start}: the place is taken")
            self.actors.append(actor)
            self._walkers.append(_Walker(actor, script, script.end))

    def _place(self, world: Any, script: WalkerScript) -> Any:
        x, y = script.start
        road = world.get_map().get_waypoint(self._api.Location(x=x, y=y))
        yaw = float(np.degrees(np.arctan2(script.end[1] - y, script.end[0] - x)))
        return self._api.Transform(
            self._api.Location(x=x, y=y, z=road.transform.location.z + DROP_M), self._api.Rotation(yaw=yaw)
        )

    def step(self, ego_xy: tuple[float, float]) -> None:
        """Start, steer and stop the walkers according to the positions of the ego (CARLA x, y) and their own."""
        for walker in self._walkers:
            if walker.is_done:
                continue
            at = walker.actor.get_location()
            if walker.heading is None and not _is_triggered(walker.script, (at.x, at.y), ego_xy):
                continue
            self._walk(walker, np.array([at.x, at.y]))

    def _walk(self, walker: _Walker, at: Float) -> None:
        gap = np.array(walker.target) - at
        if np.hypot(*gap) < ARRIVED_M:
            if not walker.script.is_patrol:
                walker.is_done = True
                walker.actor.apply_control(self._api.WalkerControl(speed=0.0))
                return
            walker.target = walker.script.start if walker.target == walker.script.end else walker.script.end
            gap = np.array(walker.target) - at
        heading = gap / np.hypot(*gap)
        if walker.heading is not None and float(heading @ walker.heading) > 0.9998:
            return
        walker.heading = (float(heading[0]), float(heading[1]))
        direction = self._api.Vector3D(walker.heading[0], walker.heading[1], 0.0)
        walker.actor.apply_control(self._api.WalkerControl(direction, walker.script.speed_mps, False))


def _is_triggered(script: WalkerScript, at: tuple[float, float], ego_xy: tuple[float, float]) -> bool:
    if script.trigger_m is None:
        return True
    return float(np.hypot(at[0] - ego_xy[0], at[1] - ego_xy[1])) <= script.trigger_m
