"""Reads CARLA's ground truth of a tick into the stack's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import carla
import numpy as np

from av_core.errors import WorldError
from av_core.frames import carla_to_map_yaw
from av_core.types import (
    ActorTruth,
    CollisionEvent,
    LightState,
    ObjectKind,
    Pose2D,
    Stamp,
    TrackedObject,
    Truth,
    VehicleParameters,
)
from av_stack.world.carla.actors import actors_in, read_unless_gone, traffic_lights

_KINDS = {
    "car": ObjectKind.CAR,
    "van": ObjectKind.CAR,
    "truck": ObjectKind.TRUCK,
    "bus": ObjectKind.BUS,
    "motorcycle": ObjectKind.MOTORCYCLE,
    "bicycle": ObjectKind.BICYCLE,
}


BACKGROUND_ROLE = "background"
"""`role_name` of the Leaderboard's background traffic, which stays around the ego."""


@dataclass(frozen=True, slots=True)
class _Body:
    """Constant properties of an actor, cached because every access to a bounding box calls the server."""

    kind: ObjectKind
    centre_x_m: float
    centre_y_m: float
    length_m: float
    width_m: float
    height_m: float
    is_background: bool


class TruthReader:
    """Reads road users, traffic lights and the ego's pose from the client's copy of the tick."""

    def __init__(self, world: carla.World, ego: carla.Vehicle, rear_axle_x_m: float) -> None:
        self._world = world
        self._ego = ego
        self._rear_axle_x_m = rear_axle_x_m
        self._bodies: dict[int, _Body | None] = {}
        self._lights = [(light.get_opendrive_id(), light) for light in traffic_lights(world)]

    def read(self, stamp: Stamp, collisions: Sequence[CollisionEvent], actors: Mapping[str, ActorTruth]) -> Truth:
        """The truth of the last tick that the client received; `actors` are those of the scenario's script."""
        transform = self._ego.get_transform()
        yaw_rad = float(carla_to_map_yaw(transform.rotation.yaw))
        forward = transform.get_forward_vector()
        at = transform.location
        objects = self._objects()
        return Truth(
            stamp=stamp,
            ego=Pose2D(at.x + forward.x * self._rear_axle_x_m, -(at.y + forward.y * self._rear_axle_x_m), yaw_rad),
            ego_z_m=at.z + forward.z * self._rear_axle_x_m,
            ego_speed_mps=forward_speed_mps(self._ego),
            objects=tuple(objects),
            lights={signal_id: LightState(str(light.get_state()).lower()) for signal_id, light in self._lights},
            collisions=tuple(collisions),
            background_ids=frozenset(each.track_id for each in objects if self._is_background(each.track_id)),
            actors=actors,
        )

    def _is_background(self, actor_id: int) -> bool:
        body = self._bodies[actor_id]
        return body is not None and body.is_background

    def _objects(self) -> list[TrackedObject]:
        there, found = self._world.get_snapshot().has_actor, []
        for actor in actors_in(self._world):
            if actor.id not in self._bodies:
                self._bodies[actor.id] = None if actor.id == self._ego.id else _body(actor)
            body = self._bodies[actor.id]
            if body is not None and there(actor.id):
                found.append(read_unless_gone(partial(_tracked, actor, body)))
        return [tracked for tracked in found if tracked is not None]


def forward_speed_mps(actor: carla.Actor) -> float:
    """Speed along the actor's own x axis, as CARLA Leaderboard's speedometer measures it."""
    velocity, forward = actor.get_velocity(), actor.get_transform().get_forward_vector()
    return float(velocity.x * forward.x + velocity.y * forward.y + velocity.z * forward.z)


def object_kind(actor: carla.Actor) -> ObjectKind | None:
    """The kind of road user that an actor is; None if it is no road user."""
    if actor.type_id.startswith("walker."):
        return ObjectKind.PEDESTRIAN
    if actor.type_id.startswith("vehicle."):
        return _KINDS.get(actor.attributes.get("base_type", "car").lower(), ObjectKind.CAR)
    return None


def _body(actor: carla.Actor) -> _Body | None:
    kind = object_kind(actor)
    if kind is None:
        return None
    box = actor.bounding_box
    is_background = kind is not ObjectKind.PEDESTRIAN and actor.attributes.get("role_name") == BACKGROUND_ROLE
    size = (2 * box.extent.x, 2 * box.extent.y, 2 * box.extent.z)
    return _Body(kind, box.location.x, box.location.y, *size, is_background)


def _tracked(actor: carla.Actor, body: _Body) -> TrackedObject:
    transform, velocity = actor.get_transform(), actor.get_velocity()
    yaw = np.radians(transform.rotation.yaw)
    x = transform.location.x + np.cos(yaw) * body.centre_x_m - np.sin(yaw) * body.centre_y_m
    y = transform.location.y + np.sin(yaw) * body.centre_x_m + np.cos(yaw) * body.centre_y_m
    return TrackedObject(
        track_id=actor.id,
        kind=body.kind,
        x_m=float(x),
        y_m=-float(y),
        yaw_rad=float(carla_to_map_yaw(transform.rotation.yaw)),
        velocity_mps=(velocity.x, -velocity.y),
        length_m=body.length_m,
        width_m=body.width_m,
        height_m=body.height_m,
    )


def rear_axle_x_m(ego: carla.Vehicle) -> tuple[float, float]:
    """(x of the rear axle in the actor's own frame, wheelbase), from CARLA's wheel positions.

    CARLA gives wheel positions in centimetres in the world frame, so this needs a tick after the spawn. Raises
    WorldError for positions that fit no vehicle.
    """
    inverse = np.array(ego.get_transform().get_inverse_matrix())
    wheels = ego.get_physics_control().wheels
    world = np.array([(w.position.x / 100.0, w.position.y / 100.0, w.position.z / 100.0, 1.0) for w in wheels])
    along = np.sort((world @ inverse.T)[:, 0])
    half = len(along) // 2
    rear, front = float(along[:half].mean()), float(along[half:].mean())
    if not 0.4 < front - rear < 15.0 or abs(rear) > 10.0:
        raise WorldError(
            f"{ego.type_id}: the server reports wheel positions that fit no vehicle: {along.round(2).tolist()} m"
        )
    return rear, front - rear


STEER_SHARE = 0.67
"""Wheel angle of a single-track model as a fraction of CARLA's `max_steer_angle`: CARLA's cars turn less than it says.

Derived from carla_garage's model of a Lincoln MKZ 2020: a curvature of 0.278 per metre at full steer and small angles.
"""


def vehicle_parameters(ego: carla.Vehicle) -> VehicleParameters:
    """Geometry and limits of the ego, from its bounding box and physics."""
    rear_m, wheelbase_m = rear_axle_x_m(ego)
    physics, box = ego.get_physics_control(), ego.bounding_box
    steer_max_deg = max(wheel.max_steer_angle for wheel in physics.wheels)
    curve = tuple((point.x / 3.6, point.y) for point in physics.steering_curve)  # CARLA's x is in km/h
    return VehicleParameters(
        length_m=2 * box.extent.x,
        width_m=2 * box.extent.y,
        height_m=2 * box.extent.z,
        wheelbase_m=wheelbase_m,
        rear_axle_to_centre_m=box.location.x - rear_m,
        steer_max_rad=STEER_SHARE * float(np.radians(steer_max_deg)),
        mass_kg=physics.mass,
        steer_curve=curve or ((0.0, 1.0),),
    )
