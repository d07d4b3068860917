"""Sensors that need no rendering: GNSS, IMU, collisions, obstacles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embedded_carla.sensors.collision import collision_body
from embedded_carla.sensors.gnss import GnssNoise, gnss_body
from embedded_carla.sensors.imu import ImuNoise, acceleration_at, imu_body
from embedded_carla.sensors.obstacle import find_obstacle, obstacle_body
from embedded_carla.types import Float, SemanticTag
from embedded_carla.wire.codec import Wire
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode

GNSS, IMU = "sensor.other.gnss", "sensor.other.imu"
COLLISION, OBSTACLE = "sensor.other.collision", "sensor.other.obstacle"
_STATIC_NAMES = {
    SemanticTag.ROADS: "road",
    SemanticTag.SIDEWALKS: "sidewalk",
    SemanticTag.BUILDINGS: "building",
    SemanticTag.WALLS: "wall",
    SemanticTag.FENCES: "fence",
    SemanticTag.POLES: "pole",
    SemanticTag.TRAFFIC_LIGHT: "traffic_light",
    SemanticTag.TRAFFIC_SIGNS: "traffic_sign",
    SemanticTag.VEGETATION: "vegetation",
    SemanticTag.TERRAIN: "terrain",
    SemanticTag.GUARD_RAIL: "guard_rail",
}


@dataclass(frozen=True, slots=True)
class Motion:
    """Motion of the point where a sensor is mounted, world frame: m/s, m/s^2, deg/s."""

    velocity: Float = field(default_factory=lambda: np.zeros(3))
    acceleration: Float = field(default_factory=lambda: np.zeros(3))
    turn_degps: Float = field(default_factory=lambda: np.zeros(3))


def carrier_of(actor: Actor) -> Actor | None:
    """The vehicle or walker that carries `actor`, directly or through other attached actors; None if there is none."""
    carrier: Actor | None = actor
    while carrier is not None and carrier.slot < 0:
        carrier = carrier.parent
    return carrier


def motion_of(episode: Episode, sensor: Actor, turn_change_degps2: Float) -> Motion:
    """Motion of the sensor's point on the rigid body that carries it; at rest if nothing carries it."""
    carrier = carrier_of(sensor)
    if carrier is None:
        return Motion()
    body = episode.fleet if carrier.kind is ActorKind.VEHICLE else episode.crowd
    slot = carrier.slot
    turn = body.angular_velocity_degps[slot].copy()
    arm = np.array(sensor.pose.location) - episode.pose_of(carrier).location
    velocity = body.velocity[slot] + np.cross(np.radians(turn), arm)
    return Motion(velocity, acceleration_at(body.acceleration[slot], turn, turn_change_degps2, arm), turn)


def turn_of(episode: Episode, sensor: Actor) -> Float:
    """Angular velocity (3,), deg/s, of the body that carries the sensor."""
    carrier = carrier_of(sensor)
    if carrier is None:
        return np.zeros(3)
    body = episode.fleet if carrier.kind is ActorKind.VEHICLE else episode.crowd
    turn: Float = body.angular_velocity_degps[carrier.slot].copy()
    return turn


def gnss(episode: Episode, sensor: Actor, rng: np.random.Generator) -> bytes:
    return gnss_body(sensor.pose.location, episode.map.geo, GnssNoise.of(sensor.number), rng)


def imu(episode: Episode, sensor: Actor, turn_change_degps2: Float, rng: np.random.Generator) -> bytes:
    motion = motion_of(episode, sensor, turn_change_degps2)
    return imu_body(
        sensor.pose, motion.acceleration, motion.turn_degps, ImuNoise.of(sensor.number), rng, episode.imu_gravity_mps2
    )


def collisions(episode: Episode, sensor: Actor, port: int) -> list[bytes]:
    return [
        collision_body(sensor.to_wire(port), _other(hit.other, hit.static_tag, port), hit.impulse_ns)
        for hit in episode.hits
        if hit.actor is sensor.parent
    ]


def obstacles(episode: Episode, sensor: Actor, port: int) -> list[bytes]:
    contacts = episode.contacts
    only_actors = sensor.description.value("only_dynamics").lower() == "true"
    carrier = carrier_of(sensor)
    own = {a.actor_id for a in (sensor.parent, carrier) if a is not None}
    found = find_obstacle(
        sensor.pose, sensor.number("distance", 5.0), sensor.number("hit_radius", 0.5), contacts.boxes()[1],
        None if only_actors else contacts.static, sorted(own),
    )  # fmt: skip
    if found is None:
        return []
    other = episode.actors.find(found.actor_id) if found.actor_id else None
    return [obstacle_body(sensor.to_wire(port), _other(other, found.static_tag, port), found.distance_m)]


def _other(other: Actor | None, static_tag: int, port: int) -> Wire:
    """The other actor in wire form; scenery becomes an actor with id 0 called static.<label>."""
    if other is not None:
        return other.to_wire(port)
    name = _STATIC_NAMES.get(SemanticTag(static_tag), "static")
    return (0, 0, (0, f"static.{name}", ()), ((0.0,) * 3, (0.0,) * 3, (0.0,) * 3, 0), bytes((static_tag,)), b"")
