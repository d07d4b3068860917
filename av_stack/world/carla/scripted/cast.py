"""The actors of a scenario's script on a CARLA server: spawns them, moves them, and tells where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import carla
from carla.command import ApplyTargetAngularVelocity, ApplyTargetVelocity, ApplyVehicleControl, ApplyWalkerControl

from av_core.errors import ConfigError
from av_core.frames import carla_to_map_yaw, map_to_carla_yaw
from av_core.orders import (
    ActorOrder,
    Destroy,
    DriveInTraffic,
    DriveItself,
    Hold,
    Move,
    OpenDoor,
    SetSignal,
    SetWeather,
    ShowLights,
    Spawn,
)
from av_core.suggest import similar
from av_core.types import ActorTruth, Pose2D
from av_stack.world.carla.actors import destroy, read_unless_gone
from av_stack.world.carla.scripted.signals import HeldSignals
from av_stack.world.carla.vehicle_lights import light_state_of
from av_stack.world.carla.weather import weather_of

ABOVE_GROUND_M = 0.3
"""Height above the road at which actors are spawned; CARLA refuses to spawn into the ground."""

DOORS = {
    "front_left": carla.VehicleDoor.FL,
    "front_right": carla.VehicleDoor.FR,
    "rear_left": carla.VehicleDoor.RL,
    "rear_right": carla.VehicleDoor.RR,
}


CastOrder = Spawn | ActorOrder | SetSignal | SetWeather


class Cast:
    """The scripted actors of one episode.

    `drive_itself` hands a vehicle to the simulator's own traffic; `drive_in_traffic` does so for background vehicles.
    Raises ConfigError where the place of a needed actor is taken, and for a blueprint or signal that the server does
    not have.
    """

    def __init__(
        self,
        client: carla.Client,
        world: carla.World,
        town: carla.Map,
        drive_itself: Callable[[carla.Vehicle], None],
        drive_in_traffic: Callable[[carla.Vehicle, DriveInTraffic], None],
    ) -> None:
        self._client, self._world, self._map = client, world, town
        self._drive_itself, self._drive_in_traffic = drive_itself, drive_in_traffic
        self._blueprints = {str(blueprint.id): blueprint for blueprint in world.get_blueprint_library()}
        self._actors: dict[str, carla.Actor] = {}
        self._held: set[str] = set()
        self._gone: set[str] = set()
        """Actors that somebody else destroyed."""
        self._signals = HeldSignals(world)

    @property
    def actor_ids(self) -> list[int]:
        """The ids of the spawned actors."""
        return [actor.id for actor in self._actors.values()]

    def truth(self) -> dict[str, ActorTruth]:
        """The actors that exist in the client's copy of the last tick, by name.

        The TrafficManager destroys its vehicles when they have stood for 90 s; the tick may still contain them.
        """
        there, found = self._world.get_snapshot().has_actor, {}
        for name, actor in self._actors.items():
            if name not in self._gone and there(actor.id):
                truth = read_unless_gone(partial(_truth_of, actor))
                if truth is None:
                    self._gone.add(name)
                else:
                    found[name] = truth
        return found

    def direct(self, orders: Sequence[CastOrder]) -> None:
        """Carry out the orders; orders to an actor that does not exist are ignored."""
        commands: list[Any] = []
        for order in orders:
            if isinstance(order, Spawn):
                self._spawn(order)
            elif isinstance(order, SetSignal):
                self._signals.show(order.signal_id, order.state)
            elif isinstance(order, SetWeather):
                self._world.set_weather(weather_of(order.values))
            elif order.actor in self._actors and (isinstance(order, Destroy) or order.actor not in self._gone):
                commands += self._carry_out(order, self._actors[order.actor])
        if commands:
            self._client.apply_batch(commands)

    def destroy_all(self) -> None:
        """Destroy all actors that exist."""
        destroy(self._client, self.actor_ids)
        self._actors.clear()

    def _carry_out(self, order: ActorOrder, actor: carla.Actor) -> list[Any]:
        """Carry out an order, except for the returned commands, which can be sent together with those of others."""
        if isinstance(order, Move):
            return self._move(order, actor)
        if isinstance(order, Hold):
            return self._hold(order.actor, actor)
        if isinstance(order, Destroy):
            del self._actors[order.actor]
            self._gone.discard(order.actor)
            self._held.discard(order.actor)
            destroy(self._client, [actor.id])
        elif isinstance(order, DriveItself):
            self._held.discard(order.actor)
            self._drive_itself(cast("carla.Vehicle", actor))
        elif isinstance(order, DriveInTraffic):
            self._drive_in_traffic(cast("carla.Vehicle", actor), order)
        elif isinstance(order, OpenDoor):
            cast("carla.Vehicle", actor).open_door(DOORS[order.door])
        elif isinstance(order, ShowLights):
            flags = int(light_state_of(order.lights))
            flags |= int(carla.VehicleLightState.Special1) if order.is_emergency else 0
            cast("carla.Vehicle", actor).set_light_state(carla.VehicleLightState(flags))
        return []

    def _spawn(self, order: Spawn) -> None:
        blueprint = self._blueprints.get(order.blueprint)
        if blueprint is None:
            near = similar(order.blueprint, list(self._blueprints), limit=3)
            hint = f"; similar are {', '.join(near)}" if near else ""
            raise ConfigError(f"actor {order.actor}: the server has no blueprint {order.blueprint}{hint}")
        _set_attributes(blueprint, order)
        place = place_on_ground(self._map, order.pose)
        actor = self._world.try_spawn_actor(blueprint, place)
        if actor is not None:
            self._actors[order.actor] = actor
            self._gone.discard(order.actor)
        elif order.is_needed:
            at = place.location
            raise ConfigError(f"actor {order.actor} cannot be spawned at ({at.x:.1f}, {at.y:.1f}): the place is taken")

    def _move(self, order: Move, actor: carla.Actor) -> list[Any]:
        velocity = carla.Vector3D(order.velocity_mps[0], -order.velocity_mps[1], 0.0)
        if isinstance(actor, carla.Walker):
            speed = velocity.length()
            direction = velocity / speed if speed > 0.0 else velocity
            return [_walk(actor, carla.WalkerControl(direction, speed, False))]
        turn = carla.Vector3D(0.0, 0.0, -math.degrees(order.yaw_rate_radps))
        commands = [ApplyTargetVelocity(actor.id, velocity), ApplyTargetAngularVelocity(actor.id, turn)]
        if order.actor in self._held:
            self._held.discard(order.actor)
            commands.append(ApplyVehicleControl(actor.id, carla.VehicleControl()))
        return commands

    def _hold(self, name: str, actor: carla.Actor) -> list[Any]:
        if name in self._held:
            return []
        self._held.add(name)
        if isinstance(actor, carla.Walker):
            return [_walk(actor, carla.WalkerControl(speed=0.0))]
        brakes = carla.VehicleControl(brake=1.0, hand_brake=True)
        still = carla.Vector3D()
        return [
            ApplyTargetVelocity(actor.id, still),
            ApplyTargetAngularVelocity(actor.id, still),
            ApplyVehicleControl(actor.id, brakes),
        ]


def place_on_ground(town: carla.Map, pose: Pose2D) -> carla.Transform:
    """The transform at which to spawn an actor at a pose: a little above the nearest road, onto which it drops."""
    at = carla.Location(x=pose.x_m, y=-pose.y_m)
    road = town.get_waypoint(at)
    at.z = (road.transform.location.z if road is not None else 0.0) + ABOVE_GROUND_M
    return carla.Transform(at, carla.Rotation(yaw=float(map_to_carla_yaw(pose.yaw_rad))))


def _walk(actor: carla.Walker, control: carla.WalkerControl) -> ApplyWalkerControl:
    return ApplyWalkerControl(actor.id, control)  # type: ignore[arg-type]  # the stub names another class


def _set_attributes(blueprint: carla.ActorBlueprint, order: Spawn) -> None:
    wanted: Mapping[str, str] = {"role_name": "scenario", "is_invincible": "false", **order.attributes}
    for name, value in wanted.items():
        if blueprint.has_attribute(name):
            blueprint.set_attribute(name, value)


def _truth_of(actor: carla.Actor) -> ActorTruth:
    transform, velocity = actor.get_transform(), actor.get_velocity()
    at = transform.location
    pose = Pose2D(at.x, -at.y, float(carla_to_map_yaw(transform.rotation.yaw)))
    return ActorTruth(pose, (velocity.x, -velocity.y), actor.id)
