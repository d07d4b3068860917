"""How the road affects vehicles: traffic lights, signs, speed limits, patches of other friction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import Scenery, SignalSite, StopZone
from embedded_carla.types import BoundingBox, SemanticTag, SignalColour, Transform
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.world.actors import Actor, ActorKind, ActorTable
from embedded_carla.world.collision.boxes import rotations
from embedded_carla.world.signals.traffic_lights import TrafficLights
from embedded_carla.world.snapshot import ROAD_RECORD, SnapshotTable
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.vehicles.physics_control import NOMINAL_FRICTION, axle_friction

OFF_ROAD_LIMIT_KMH = 30.0
_SAME_APPROACH_DEG = 30.0

Index = NDArray[np.intp]


class SignalWorld(Protocol):
    """What an episode offers to its lights and signs: a place among its actors, and the vehicles that they affect."""

    actor_ids: Iterator[int]
    actors: ActorTable
    fleet: VehicleFleet
    table: SnapshotTable

    def register(self, actor: Actor) -> None:
        """Add a new actor to the world."""

    def rows(self, kind: ActorKind) -> tuple[Index, Index]:
        """(snapshot rows, slots) of the vehicles or walkers."""


class Roadside:
    """Light and sign actors of one episode, and their effect on the vehicles' records."""

    def __init__(self, scenery: Scenery, world: SignalWorld) -> None:
        self._world = world
        self.lights = TrafficLights(scenery.signals, scenery.controller_sequences)
        # The last entry is for vehicles off the road, whose road index is -1.
        self._limit_kmh = np.append(scenery.road_speed_limit_kmh, OFF_ROAD_LIMIT_KMH).astype(np.float32)
        self._actor_of: dict[str, Actor] = {}
        for site in scenery.signals:
            self._add(site)
        self.light_actors = [self._actor_of[signal_id] for signal_id in self.lights.ids]
        # The last entry is for light index -1: no light.
        self._light_ids = np.array([*(a.actor_id for a in self.light_actors), 0], dtype=np.uint32)
        self._colours = np.full(len(self.light_actors) + 1, SignalColour.GREEN, dtype=np.uint8)
        self._light_rows: Index = np.array([a.row for a in self.light_actors], dtype=np.intp)
        self._friction_boxes: list[Actor] = []
        self._in_friction_box: set[int] = set()  # slots
        self.refresh()

    def _add(self, site: SignalSite) -> None:
        is_light = site.kind == "traffic_light"
        type_id = f"traffic.speed_limit.{round(site.value)}" if site.kind == "speed_limit" else f"traffic.{site.kind}"
        actor = Actor(
            next(self._world.actor_ids),
            ActorKind.TRAFFIC_LIGHT if is_light else ActorKind.TRAFFIC_SIGN,
            ActorDescription(0, type_id, ()),
            trigger_volume(site),
            site.pose,
            SemanticTag.TRAFFIC_LIGHT if is_light else SemanticTag.TRAFFIC_SIGNS,
            signal_id=site.signal_id,
        )
        self._world.register(actor)
        self._world.table.write_sign(actor.row, site.signal_id)
        self._actor_of[site.signal_id] = actor

    def actor_of(self, signal_id: str) -> Actor:
        return self._actor_of[signal_id]

    def refresh(self) -> None:
        """Rewrite the records of all lights; call after the state or the times of a light were set."""
        for actor in self.light_actors:
            light = actor.signal_id
            self._world.table.write_light(
                actor.row, self.lights.times_s(light), self.lights.elapsed_s(light), self.lights.pole_index(light),
                self.lights.is_frozen(light), self.lights.state(light),
            )  # fmt: skip

    def step(self, delta_s: float) -> None:
        self.lights.step(delta_s)
        if self.light_actors:
            self._colours[:-1] = self.lights.all_states()
            records = self._world.table.lights
            # Lights are the first actors of an episode and never removed, so their rows stay.
            records["elapsed_s"][self._light_rows] = self.lights.all_elapsed_s()
            records["colour"][self._light_rows] = self._colours[:-1]
        self._apply_friction()

    def write_vehicles(self, rows: Index, slots: Index) -> None:
        """Write the speed limit and the governing light into the vehicles' records.

        The governing light is the one whose stop zone holds the vehicle's front, else its origin. (CARLA tests the
        whole body against the zone.) A car that stopped with its nose over the line still has its light; a car that has
        driven on has it no longer.
        """
        fleet = self._world.fleet
        light = self.lights.governing_bodies(slots, fleet.location, fleet.rotation_deg, fleet.half_length_m)
        told = np.empty(len(rows), ROAD_RECORD)
        told["speed_limit"] = self._limit_kmh[fleet.road[slots]]
        told["traffic_light_state"] = self._colours[light]
        told["has_traffic_light"] = light >= 0
        told["traffic_light_id"] = self._light_ids[light]
        self._world.table.write_road(rows, told)

    def _apply_friction(self) -> None:
        """Replace the tyres' friction by that of a friction trigger as long as the vehicle is inside it."""
        triggers = [a for a in self._world.actors.of_kind(ActorKind.PROP) if a.type_id == "static.trigger.friction"]
        if not triggers and not self._friction_boxes:
            return
        self._friction_boxes = triggers
        _, slots = self._world.rows(ActorKind.VEHICLE)
        fleet = self._world.fleet
        half = np.array([fleet.spec(slot).extent for slot in slots.tolist()]).reshape(-1, 3)
        axes = rotations(fleet.rotation_deg[slots])
        centre = fleet.location[slots] + axes[:, :, 2] * half[:, 2:]
        factor, held = np.ones(len(slots)), np.zeros(len(slots), dtype=np.bool_)
        for trigger in triggers:
            turn = trigger.pose.matrix()[:3, :3]
            local = (centre - np.array(trigger.pose.location)) @ turn
            reach = np.abs(np.einsum("ki,nkj->nij", turn, axes)) @ half[:, :, None]
            inside = (np.abs(local) <= np.array(trigger.box.extent) + reach[:, :, 0]).all(axis=1)
            factor[inside] = trigger.number("friction", NOMINAL_FRICTION) / NOMINAL_FRICTION
            held |= inside
        fleet.friction_scale[slots] = factor
        inside_now = set(slots[held].tolist())
        if inside_now or self._in_friction_box:
            for actor in self._world.actors.of_kind(ActorKind.VEHICLE):
                if actor.slot in inside_now:
                    fleet.axle_friction[actor.slot] = 1.0
                elif actor.slot in self._in_friction_box:
                    applied = actor.physics_control
                    fleet.axle_friction[actor.slot] = 1.0 if applied is None else axle_friction(applied)
        self._in_friction_box = inside_now


def trigger_volume(site: SignalSite) -> BoundingBox:
    """Box around the stop zones of the site's first approach, along the axes of the site's actor.

    CARLA's own scripts step through a light's trigger volume along the actor's axes and ignore the box's rotation.
    """
    if not site.stop_zones:
        return BoundingBox()
    first = site.stop_zones[0]
    zones = [z for z in site.stop_zones if abs((z.yaw_deg - first.yaw_deg + 180) % 360 - 180) < _SAME_APPROACH_DEG]
    inverse = np.linalg.inv(site.pose.matrix())
    corners = np.concatenate([_corners(zone) for zone in zones])
    local = corners @ inverse[:3, :3].T + inverse[:3, 3]
    low, high = local.min(axis=0), local.max(axis=0)
    x, y, z = ((low + high) / 2).tolist()
    half_x, half_y, half_z = ((high - low) / 2).tolist()
    return BoundingBox((x, y, z), (half_x, half_y, half_z))


def _corners(zone: StopZone) -> NDArray[np.float64]:
    pose = Transform(*zone.centre, 0.0, zone.yaw_deg, 0.0).matrix()
    signs: Sequence[tuple[int, int, int]] = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    corners: NDArray[np.float64] = (np.array(signs) * np.array(zone.half)) @ pose[:3, :3].T + pose[:3, 3]
    return corners
