"""The boxes of open doors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from embedded_carla.types import Float
from embedded_carla.world.actors import Actor
from embedded_carla.world.collision.boxes import DynamicBoxes, rotations
from embedded_carla.world.vehicles.doors import Swing
from embedded_carla.world.vehicles.fleet import VehicleFleet

HALF_THICKNESS_M = 0.05


def door_boxes(fleet: VehicleFleet, doors: Sequence[tuple[Actor, Swing, float]]) -> DynamicBoxes:
    """The boxes of doors, each given by its vehicle, itself, and the angle in rad to which it is open.

    They bear their vehicles' ids and have their velocities.
    """
    slots = [actor.slot for actor, _, _ in doors]
    car = rotations(fleet.rotation_deg[slots])
    own, centre, half = np.zeros((len(doors), 3)), np.empty((len(doors), 3)), np.empty((len(doors), 3))
    for i, (_, swing, angle_rad) in enumerate(doors):
        frame, turn_rad = swing.frame, swing.frame.turn_rad(angle_rad)
        (x, y), (low, high), reach = frame.hinge, frame.z_m, frame.length_m / 2.0
        own[i, 1] = math.degrees(turn_rad)
        centre[i] = (x - reach * math.cos(turn_rad), y - reach * math.sin(turn_rad), (low + high) / 2.0)
        half[i] = (reach, HALF_THICKNESS_M, (high - low) / 2.0)
    place = fleet.location[slots] + np.einsum("nij,nj->ni", car, centre)
    ids = np.array([actor.actor_id for actor, _, _ in doors], dtype=np.int64)
    return DynamicBoxes(ids, place, half, car @ rotations(own), fleet.velocity[slots])


def hinge_in_world(fleet: VehicleFleet, actor: Actor, swing: Swing) -> Float:
    """Where a door's hinge stands on the ground, (3,)."""
    place: Float = fleet.location[actor.slot] + rotations(fleet.rotation_deg[[actor.slot]])[0] @ (
        *swing.frame.hinge,
        0.0,
    )
    return place
