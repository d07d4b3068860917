"""Builds the packets of one recorded frame from the episode after a tick."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.recorder.format import PACKET_HEAD
from embedded_carla.recorder.packets import NO_ACTOR, ROWS, ActorAdded, PacketId, PhysicsControl
from embedded_carla.recorder.roster import CM_PER_M, Roster, centimetres
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode
from embedded_carla.world.vehicles import physics_control

RowArray = NDArray[np.void]

_FOUR_WHEELS, _TWO_WHEELS = (
    np.dtype([("actor", "<u4"), ("count", "<u4"), ("wheels", [("place", "u1"), ("steer", "<f4"), ("turn", "<f4")], n)])
    for n in (4, 2)
)
_RANK = {ActorKind.VEHICLE: 1, ActorKind.WALKER: 2}


def _blank(packet: PacketId, count: int) -> RowArray:
    return np.zeros(count, ROWS[packet])


def positions(episode: Episode, roster: Roster) -> RowArray:
    """Poses of all actors except sensors, lights and signs; location cm, rotation roll, pitch, yaw in degrees."""
    rows, records = roster.placed_rows, episode.table.vehicles
    out = _blank(PacketId.POSITIONS, len(rows))
    out["actor"] = roster.ids[rows]
    out["location"] = records["location"][rows] * CM_PER_M
    out["rotation"] = records["rotation"][rows][:, [2, 0, 1]]
    return out


def light_states(episode: Episode, roster: Roster) -> RowArray:
    rows, records = roster.light_rows, episode.table.lights
    out = _blank(PacketId.LIGHT_STATES, len(rows))
    out["actor"] = roster.ids[rows]
    for name in ("frozen", "elapsed_s", "colour"):
        out[name] = records[name][rows]
    return out


def vehicle_controls(episode: Episode, roster: Roster) -> RowArray:
    rows, records = roster.vehicle_rows, episode.table.vehicles
    out = _blank(PacketId.VEHICLE_CONTROLS, len(rows))
    out["actor"] = roster.ids[rows]
    for name in ("steer", "throttle", "brake", "hand_brake", "gear"):
        out[name] = records[name][rows]
    return out


def walker_speeds(episode: Episode, roster: Roster) -> RowArray:
    rows = roster.walker_rows
    out = _blank(PacketId.WALKER_SPEEDS, len(rows))
    out["actor"] = roster.ids[rows]
    velocity = episode.crowd.velocity[roster.walker_slots]
    out["speed"] = np.hypot(velocity[:, 0], velocity[:, 1]) * CM_PER_M
    return out


def vehicle_lights(roster: Roster) -> RowArray:
    out = _blank(PacketId.VEHICLE_LIGHTS, len(roster.vehicles))
    out["actor"] = roster.ids[roster.vehicle_rows]
    out["lights"] = [a.lights for a in roster.vehicles]
    return out


def wheels(episode: Episode, roster: Roster) -> bytes:
    """The wheel packet: steering angles of the front wheels and rotations of all wheels, degrees.

    A wheel that rolls forward has a negative rotation, as in Unreal.
    """
    slots, two = roster.vehicle_slots, roster.two_wheeled
    steer = np.degrees(episode.fleet.steer_rad[slots])
    turn = -np.degrees(episode.fleet.wheel_phase_rad[slots])
    payload = struct.pack("<H", len(slots))
    for chosen, dtype in ((~two, _FOUR_WHEELS), (two, _TWO_WHEELS)):
        out = np.zeros(np.count_nonzero(chosen), dtype)
        count = dtype["wheels"].shape[0]
        out["actor"] = roster.ids[roster.vehicle_rows][chosen]
        out["count"] = count
        out["wheels"]["place"] = np.arange(count)
        out["wheels"]["steer"][:, : count // 2] = steer[chosen, None]
        out["wheels"]["turn"] = turn[chosen, None]
        payload += out.tobytes()
    return PACKET_HEAD.pack(PacketId.WHEELS, len(payload)) + payload


def bikers(episode: Episode, roster: Roster) -> RowArray:
    """Speeds of two-wheelers, cm/s; the relative engine speed of the format is not simulated and is 0."""
    slots = roster.vehicle_slots[roster.two_wheeled]
    out = _blank(PacketId.BIKERS, len(slots))
    out["actor"] = roster.ids[roster.vehicle_rows[roster.two_wheeled]]
    velocity = episode.fleet.velocity[slots]
    out["speed"] = np.hypot(velocity[:, 0], velocity[:, 1]) * CM_PER_M
    return out


def kinematics(episode: Episode, roster: Roster) -> RowArray:
    rows = np.concatenate([roster.vehicle_rows, roster.walker_rows])
    records = episode.table.vehicles
    out = _blank(PacketId.KINEMATICS, len(rows))
    out["actor"] = roster.ids[rows]
    out["velocity"], out["angular_velocity"] = records["velocity"][rows], records["angular_velocity"][rows]
    return out


def parents(come: Sequence[ActorAdded], roster: Roster) -> RowArray:
    actors = (roster.actors.get(event.actor) for event in come)
    pairs = [(a.actor_id, a.parent.actor_id) for a in actors if a is not None and a.parent is not None]
    return np.array(pairs, dtype=ROWS[PacketId.PARENTS])


def collisions(episode: Episode, roster: Roster, first: int) -> RowArray:
    """The pairs of actors that touched in the last tick, numbered from `first`; a vehicle comes before a walker."""
    pairs = set()
    for hit in episode.hits:
        ends = [_end(hit.actor), (9, NO_ACTOR) if hit.other is None else _end(hit.other)]
        pairs.add(tuple(sorted(ends)))
    heroes = roster.heroes
    rows = [(first + i, a, b, a in heroes, b in heroes) for i, ((_, a), (_, b)) in enumerate(sorted(pairs))]
    return np.array(rows, dtype=ROWS[PacketId.COLLISIONS])


def _end(actor: Actor) -> tuple[int, int]:
    return _RANK.get(actor.kind, 3), actor.actor_id


def doors(roster: Roster, known: dict[int, int]) -> RowArray:
    """The doors that opened or closed. `known` holds the door states of the vehicles and is updated."""
    rows = []
    for actor in roster.vehicles:
        changed = actor.doors ^ known.get(actor.actor_id, 0)
        if changed:
            known[actor.actor_id] = actor.doors
            rows += [(actor.actor_id, i, actor.doors >> i & 1) for i in range(6) if changed >> i & 1]
    return np.array(rows, dtype=ROWS[PacketId.VEHICLE_DOORS])


class LampWatch:
    """Selects the street lamps to record: all in the first frame, then those that changed."""

    def __init__(self) -> None:
        self._last: RowArray | None = None
        self._version = -1

    def changed(self, episode: Episode) -> RowArray:
        """Lamps that changed since the last call."""
        if episode.lamps.version == self._version:
            return _blank(PacketId.SCENE_LIGHTS, 0)
        self._version = episode.lamps.version
        states = episode.lamps.rows()
        now = _blank(PacketId.SCENE_LIGHTS, len(states))
        for i, (lamp, _, intensity, group, colour, is_on) in enumerate(states):
            now[i] = (lamp, intensity, (*(c / 255.0 for c in colour), 1.0), is_on, group)
        changed = now if self._last is None else now[now != self._last]
        self._last = now
        return changed


def boxes(here: Sequence[Actor]) -> RowArray:
    """Bounding boxes of new actors in their own frames; lights and signs have trigger volumes instead."""
    signs = (ActorKind.TRAFFIC_LIGHT, ActorKind.TRAFFIC_SIGN)
    rows = [(a.actor_id, centimetres(a.box.location), centimetres(a.box.extent)) for a in here if a.kind not in signs]
    return np.array(rows, dtype=ROWS[PacketId.BOUNDING_BOXES])


def trigger_volumes(here: Sequence[Actor]) -> RowArray:
    """Trigger volumes of new lights and signs, with the centre in the world frame."""
    rows = []
    for actor in here:
        if actor.kind in (ActorKind.TRAFFIC_LIGHT, ActorKind.TRAFFIC_SIGN) and any(actor.box.extent):
            x, y, z, _ = (actor.pose.matrix() @ (*actor.box.location, 1.0)).tolist()
            rows.append((actor.actor_id, centimetres((x, y, z)), centimetres(actor.box.extent)))
    return np.array(rows, dtype=ROWS[PacketId.TRIGGER_VOLUMES])


def light_times(episode: Episode, here: Sequence[Actor]) -> RowArray:
    lights = episode.roadside.lights
    rows = [(a.actor_id, *lights.times_s(a.signal_id)) for a in here if a.kind is ActorKind.TRAFFIC_LIGHT]
    return np.array(rows, dtype=ROWS[PacketId.LIGHT_TIMES])


def physics_controls(episode: Episode, here: Sequence[Actor]) -> tuple[PhysicsControl, ...]:
    return tuple(_physics_control(episode, actor) for actor in here if actor.kind is ActorKind.VEHICLE)


def _physics_control(episode: Episode, actor: Actor) -> PhysicsControl:
    """The physics parameters of a vehicle, as `get_physics_control` returns them."""
    v = physics_control.to_wire(episode.fleet.spec(actor.slot), episode.pose_of(actor), actor.physics_control)
    x, y, z = v[13]
    return PhysicsControl(
        actor.actor_id, tuple(v[1:6]), bool(v[6]), (v[8], v[9], v[11], v[12]), (x, y, z),
        tuple(map(tuple, v[0])), tuple(map(tuple, v[10])), tuple(map(tuple, v[14])),
        tuple((*wheel[:9], *wheel[9]) for wheel in v[15]),
    )  # fmt: skip
