"""Contacts of actors: spawn tests, and collisions for the physics and the collision sensors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.blueprints.props import TREES
from embedded_carla.scene import Boxes
from embedded_carla.types import Blueprint, BoundingBox, Float, Transform, Vector3
from embedded_carla.world.actors import Actor, ActorKind, ActorTable
from embedded_carla.world.collision.boxes import DynamicBoxes, Index, StaticBoxes, rotations
from embedded_carla.world.collision.door_boxes import door_boxes, hinge_in_world
from embedded_carla.world.collision.impacts import Body, Contact, contacts_of, find_contacts, overlaps, resolve
from embedded_carla.world.vehicles.bank import yaw_inertia_kgm2
from embedded_carla.world.vehicles.doors import Doors, Swing
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.walkers.crowd import WalkerCrowd

WALKER_MASS_KG = 75.0
SPAWN_GAP_M = 0.02  # taken off a body's half sizes in spawn tests: it may stand on the ground and beside another body
TRUNK_HALF_M = 0.2  # half width of a tree prop's trunk; tree crowns stop nobody
LOW_M = 0.2  # props up to this height (dirt, tiles, cans) do not collide, as CARLA's debris


@dataclass(frozen=True, slots=True)
class CollisionHit:
    """A collision that `actor` felt; the impulse is in N s, world frame.

    `other` is None where the actor hit scenery, labelled `static_tag`.
    """

    actor: Actor
    other: Actor | None
    static_tag: int
    impulse_ns: Vector3


@dataclass(frozen=True, slots=True)
class _Roster:
    """The bodies that collide, in the order vehicles, walkers, props; their boxes are in the actors' frames."""

    bodies: list[Actor]
    vehicle_slots: Index
    walker_slots: Index
    ids: NDArray[np.int64]
    offset: Float
    half: Float

    @staticmethod
    def of(actors: ActorTable) -> _Roster:
        vehicles, walkers = (
            [a for a in actors.of_kind(k) if a.collides] for k in (ActorKind.VEHICLE, ActorKind.WALKER)
        )
        bodies = [*vehicles, *walkers, *(a for a in actors.of_kind(ActorKind.PROP) if _is_solid(a))]
        return _Roster(
            bodies,
            np.array([a.slot for a in vehicles], dtype=np.intp),
            np.array([a.slot for a in walkers], dtype=np.intp),
            np.array([a.actor_id for a in bodies], dtype=np.int64),
            np.array([a.box.location for a in bodies], dtype=np.float64).reshape(-1, 3),
            np.array([solid_half(a.box, a.blueprint) for a in bodies], dtype=np.float64).reshape(-1, 3),
        )


class ContactSolver:
    """Collisions of one episode's vehicles, walkers and props with each other and with the scenery."""

    def __init__(
        self, colliders: Boxes, actors: ActorTable, fleet: VehicleFleet, crowd: WalkerCrowd, doors: Doors
    ) -> None:
        self.static = StaticBoxes(colliders)
        self._actors, self._fleet, self._crowd, self._doors = actors, fleet, crowd, doors
        self._roster: _Roster | None = None

    def is_occupied(self, box: BoundingBox, pose: Transform, blueprint: Blueprint | None = None) -> bool:
        """Whether a body with this box, made from `blueprint`, would overlap something at `pose`."""
        x, y, z = (max(half - SPAWN_GAP_M, 0.01) for half in solid_half(box, blueprint))
        body = DynamicBoxes.single(BoundingBox(box.location, (x, y, z), box.rotation_deg), pose)
        return overlaps(body, self.boxes()[1]) or overlaps(body, self.static)

    def forget_roster(self) -> None:
        """Drop the cached roster; call when actors appear, disappear, or begin or cease to collide."""
        self._roster = None

    def boxes(self) -> tuple[list[Actor], DynamicBoxes]:
        """All bodies that collide and their boxes: vehicles, then walkers, then props.

        Then follow the boxes of open doors; with each of them its vehicle is listed once more.
        """
        roster = self._roster = self._roster or _Roster.of(self._actors)
        fleet, crowd = self._fleet, self._crowd
        cars, walkers = len(roster.vehicle_slots), len(roster.walker_slots)
        on_foot = slice(cars, cars + walkers)
        location, rotation, velocity = (np.zeros((len(roster.bodies), 3)) for _ in range(3))
        location[:cars], rotation[:cars] = (
            fleet.location[roster.vehicle_slots],
            fleet.rotation_deg[roster.vehicle_slots],
        )
        velocity[:cars] = fleet.velocity[roster.vehicle_slots]
        if walkers:
            location[on_foot], rotation[on_foot] = (
                crowd.location[roster.walker_slots], crowd.rotation_deg[roster.walker_slots],
            )  # fmt: skip
            velocity[on_foot] = crowd.velocity[roster.walker_slots]
            # The crowd's origins are between the feet, the actors' in the middle of the body.
            location[on_foot, 2] += roster.half[on_foot, 2]
        for i, actor in enumerate(roster.bodies[cars + walkers :], cars + walkers):
            location[i] = actor.pose.location
            rotation[i] = (actor.pose.pitch_deg, actor.pose.yaw_deg, actor.pose.roll_deg)
        axes = rotations(rotation)
        centre = location + np.einsum("nij,nj->ni", axes, roster.offset)
        boxes = DynamicBoxes(roster.ids, centre, roster.half, axes, velocity)
        doors = [(car, door, door.angle_rad) for car, door in self._doors if car.collides] if self._doors else []
        if not doors:
            return roster.bodies, boxes
        return [*roster.bodies, *(car for car, _, _ in doors)], boxes.with_more(door_boxes(fleet, doors))

    def swing_doors(self, delta_s: float) -> list[CollisionHit]:
        """Let open doors swing for `delta_s` until something is in their way; returns the hits of the stopped doors."""
        hits: list[CollisionHit] = []
        if self._doors:
            self._doors.step(delta_s, lambda car, door, angle_rad: self._stops(car, door, angle_rad, hits))
        return hits

    def _stops(self, car: Actor, door: Swing, angle_rad: float, hits: list[CollisionHit]) -> bool:
        """Whether something blocks a door on its way to `angle_rad`; at first contact it gets the door's momentum."""
        if not car.collides:
            return False
        box = door_boxes(self._fleet, [(car, door, angle_rad)])
        contacts = [c for c in contacts_of(box, self.boxes()[1]) if c.b != car.actor_id]
        contacts += contacts_of(box, self.static)
        if not contacts or door.is_blocked:
            return bool(contacts)
        contact = contacts[0]
        arm_m = math.hypot(*(contact.point - hinge_in_world(self._fleet, car, door))[:2])
        push = np.array(contact.normal) * (door.momentum / max(arm_m, 0.1))
        for actor_id, sign in ((contact.a, 1.0), (contact.b, -1.0)):
            if self._can_move(actor_id):
                body = self._body(actor_id)
                body.velocity += sign * body.inverse_mass * push
                self._write_back(actor_id, body)
        hits.extend(self._hits(contact, (float(push[0]), float(push[1]), float(push[2]))))
        return True

    def resolve(self) -> list[CollisionHit]:
        """Let overlapping bodies bounce and separate. Returns one hit for each actor that felt an impulse."""
        bodies, boxes = self.boxes()
        if not bodies:
            return []
        contacts = [
            c
            for c in find_contacts(boxes, self.static)
            if c.a != c.b and (self._can_move(c.a) or self._can_move(c.b))  # a car's own door is not in its way
        ]
        if not contacts:
            return []
        moved = {i: self._body(i) for contact in contacts for i in (contact.a, contact.b) if i}
        impacts = resolve(contacts, moved)
        for actor_id, body in moved.items():
            self._write_back(actor_id, body)
        hits = []
        for impact in impacts:
            if any(impact.impulse_ns):
                hits.extend(self._hits(impact.contact, impact.impulse_ns))
        return hits

    def _can_move(self, actor_id: int) -> bool:
        if not actor_id:
            return False
        actor = self._actors.get(actor_id)
        if actor.kind is ActorKind.VEHICLE:
            return bool(self._fleet.physics[actor.slot])
        return actor.kind is ActorKind.WALKER

    def _body(self, actor_id: int) -> Body:
        actor = self._actors.get(actor_id)
        if actor.kind is ActorKind.VEHICLE:
            fleet, slot = self._fleet, actor.slot
            spec = fleet.spec(slot)
            free = float(fleet.physics[slot])
            turn = math.radians(fleet.angular_velocity_degps[slot, 2])
            return Body(
                fleet.location[slot].copy(), fleet.velocity[slot].copy(), turn, free / spec.mass_kg,
                free / yaw_inertia_kgm2(spec),
            )  # fmt: skip
        if actor.kind is ActorKind.WALKER:
            crowd, slot = self._crowd, actor.slot
            inverse_mass = 1.0 / WALKER_MASS_KG if crowd.physics[slot] else 0.0
            return Body(crowd.location[slot].copy(), crowd.velocity[slot].copy(), 0.0, inverse_mass, 0.0)
        return Body(np.array(actor.pose.location), np.zeros(3), 0.0, 0.0, 0.0)

    def _write_back(self, actor_id: int, body: Body) -> None:
        actor = self._actors.get(actor_id)
        if body.inverse_mass == 0.0:
            return
        if actor.kind is ActorKind.VEHICLE:
            fleet, slot = self._fleet, actor.slot
            fleet.location[slot], fleet.velocity[slot] = body.location, body.velocity
            fleet.angular_velocity_degps[slot, 2] = math.degrees(body.yaw_rate_radps)
        else:
            crowd, slot = self._crowd, actor.slot
            crowd.location[slot], crowd.velocity[slot] = body.location, body.velocity

    def _hits(self, contact: Contact, impulse: Vector3) -> list[CollisionHit]:
        actors = self._actors
        a, b = actors.get(contact.a), actors.find(contact.b) if contact.b else None
        hits = [CollisionHit(a, b, contact.static_tag, impulse)]
        if b is not None:
            opposite: Float = -np.array(impulse)
            hits.append(CollisionHit(b, a, 0, (float(opposite[0]), float(opposite[1]), float(opposite[2]))))
        return hits


def solid_half(box: BoundingBox, blueprint: Blueprint | None) -> Vector3:
    """Half sizes of the part that others collide with: a tree without its crown, a vehicle without its mirrors."""
    x, y, z = box.extent
    if blueprint is None:
        return (x, y, z)
    if blueprint.type_id in TREES:
        return (TRUNK_HALF_M, TRUNK_HALF_M, z)
    return (x, y - blueprint.vehicle.mirror_reach_m, z) if blueprint.vehicle is not None else (x, y, z)


def _is_solid(actor: Actor) -> bool:
    is_low = 2.0 * actor.box.extent[2] <= LOW_M
    return actor.collides and actor.parent is None and actor.type_id.startswith("static.prop") and not is_low
