"""V2X sensors of an episode: which messages are sent when (ETSI EN 302 637-2, 6.1.3), and who receives them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import CommandError
from embedded_carla.sensors.gnss import geolocation
from embedded_carla.sensors.imu import GRAVITY_MPS2, compass_rad
from embedded_carla.sensors.v2x_channel import Channel, Link, Sight, received_power_dbm
from embedded_carla.sensors.v2x_message import STATION_ROAD_SIDE, Station, cam, custom, station_type
from embedded_carla.types import Float
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode

CAM_TYPE = "sensor.other.v2x"
CUSTOM_TYPE = "sensor.other.v2x_custom"
ROAD_SIDE_INTERVAL_S = 0.5
LOW_FREQUENCY_INTERVAL_S = 0.5
TURNED_DEG, MOVED_M, FASTER_MPS = 4.0, 4.0, 0.5  # changes since the last message that trigger the next one
MOST_WAITING = 100  # messages of one custom sensor for one tick
STEADY_MESSAGES = 3  # after so many messages without a trigger the rate falls to its lowest
ANTENNA_LEAST_M = 0.1
_EPSILON_S = 1e-6

Message = NDArray[np.void]


@dataclass(slots=True)
class _Sender:
    """State of a CAM sensor at its last message."""

    interval_s: float
    last_s: float = -math.inf
    low_s: float = -math.inf
    position: Float = field(default_factory=lambda: np.full(3, np.inf))
    heading_deg: float = 0.0
    speed_mps: float = 0.0
    steady: int = 0


class Radio:
    """Exchanges the V2X messages of each tick; a sensor's noise and fading come from its own random generator."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._senders: dict[int, _Sender] = {}
        self._texts: dict[int, list[str]] = {}

    def say(self, sensor: Actor, text: str) -> None:
        """Send `text` from a custom sensor with the next tick. Raises CommandError if too many texts wait already."""
        texts = self._texts.setdefault(sensor.actor_id, [])
        if len(texts) >= MOST_WAITING:
            raise CommandError(f"V2X sensor {sensor.actor_id} has {MOST_WAITING} messages that wait for the next tick")
        texts.append(text)

    def heard(self, sensors: Sequence[Actor], rngs: Mapping[int, np.random.Generator]) -> dict[int, bytes]:
        """Message bodies by sensor id, for those of `sensors` (all V2X sensors there are) that receive something."""
        sent = {s.actor_id: self._sent(s, rngs[s.actor_id]) for s in sensors}
        self._texts.clear()
        heard: dict[int, list[Message]] = {}
        for receiver in sensors:
            channel = Channel.of(receiver.number, receiver.description.value)
            for sender in sensors:
                messages = sent[sender.actor_id]
                if not messages or sender is receiver or not _share_channel(sender, receiver):
                    continue
                link = self._link(sender, receiver, channel.filter_distance_m)
                power = None
                if link is not None:
                    sent_dbm = sender.number("transmit_power", 21.5)
                    power = received_power_dbm(channel, sent_dbm, link, rngs[receiver.actor_id])
                if power is not None:
                    for message in messages:
                        copy = message.copy()
                        copy["power_dbm"] = power
                        heard.setdefault(receiver.actor_id, []).append(copy)
        return {receiver: b"".join(m.tobytes() for m in messages) for receiver, messages in heard.items()}

    # ------------------------------------------------------------ sending

    def _sent(self, sensor: Actor, rng: np.random.Generator) -> list[Message]:
        if sensor.type_id == CUSTOM_TYPE:
            owner = sensor.parent or sensor
            return [custom(owner.actor_id, text) for text in self._texts.get(sensor.actor_id, ())]
        state = self._senders.setdefault(sensor.actor_id, _Sender(max(sensor.number("gen_cam_max", 1.0), 0.0)))
        now_s = self._episode.time_s
        station = self._station(sensor, rng)
        if not self._is_due(sensor, state, station):
            return []
        low = now_s - state.low_s >= LOW_FREQUENCY_INTERVAL_S - _EPSILON_S
        state.low_s = now_s if low else state.low_s
        state.last_s, state.speed_mps = now_s, self._forward_speed(sensor)
        state.position, state.heading_deg = self._position(sensor), self._heading_deg(sensor)
        return [cam(station, now_s, low)]

    def _is_due(self, sensor: Actor, state: _Sender, station: Station) -> bool:
        """ETSI's triggering conditions; with `fixed_rate` a message is due whenever the minimum interval has passed."""
        elapsed = self._episode.time_s - state.last_s + _EPSILON_S
        if station.station_type == STATION_ROAD_SIDE:
            return elapsed >= ROAD_SIDE_INTERVAL_S
        if elapsed < sensor.number("gen_cam_min", 0.1):
            return False
        if sensor.description.value("fixed_rate", "false") == "true":
            return True
        most = sensor.number("gen_cam_max", 1.0)
        turned = abs((self._heading_deg(sensor) - state.heading_deg + 180.0) % 360.0 - 180.0)
        moved = float(np.linalg.norm(self._position(sensor) - state.position))
        if turned > TURNED_DEG or moved > MOVED_M or abs(self._forward_speed(sensor) - state.speed_mps) > FASTER_MPS:
            state.interval_s, state.steady = min(elapsed, most), 0
            return True
        if elapsed < state.interval_s:
            return False
        state.steady += 1
        if state.steady >= STEADY_MESSAGES:
            state.interval_s = most
        return True

    def _position(self, sensor: Actor) -> Float:
        return np.array(self._episode.pose_of(sensor.parent or sensor).location)

    def _heading_deg(self, sensor: Actor) -> float:
        return math.degrees(compass_rad(self._episode.pose_of(sensor.parent or sensor)))

    def _forward_speed(self, sensor: Actor) -> float:
        owner = sensor.parent or sensor
        return float(self._episode.pose_of(owner).matrix()[:3, 0] @ np.array(self._episode.velocity_of(owner)))

    def _station(self, sensor: Actor, rng: np.random.Generator) -> Station:
        """Station data of the sensor's parent, with noise.

        A sensor without a parent, or on one that is neither vehicle nor walker, is a road-side unit.
        """
        owner = sensor.parent or sensor
        number, pose = sensor.number, self._episode.pose_of(owner)
        noise = rng.standard_normal(9)
        exact = geolocation(pose.location, self._episode.map.geo)
        latitude, longitude, altitude = (
            exact[k] + number(f"noise_{axis}_bias", 0.0) + noise[k] * number(f"noise_{axis}_stddev", 0.0)
            for k, axis in enumerate(("lat", "lon", "alt"))
        )
        place = (latitude, longitude, altitude)
        if owner.kind not in (ActorKind.VEHICLE, ActorKind.WALKER):
            return Station(owner.actor_id, STATION_ROAD_SIDE, *place)
        kind = station_type(owner.tag, owner.description.value("special_type", ""))
        if owner.kind is ActorKind.WALKER:
            return Station(owner.actor_id, kind, *place)
        fleet, slot = self._episode.fleet, owner.slot
        felt = pose.matrix()[:3, :3].T @ (fleet.acceleration[slot] + [0.0, 0.0, GRAVITY_MPS2])
        x, y, z = (float(felt[k] + noise[3 + k] * number(f"noise_accel_stddev_{a}", 0.0)) for k, a in enumerate("xyz"))
        return Station(
            owner.actor_id, kind, *place,
            heading_deg=self._heading_deg(sensor) + number("noise_head_bias", 0.0)
            + noise[6] * number("noise_head_stddev", 0.0),
            speed_mps=self._forward_speed(sensor) + noise[7] * number("noise_vel_stddev_x", 0.0),
            length_m=2.0 * owner.box.extent[0], width_m=2.0 * owner.box.extent[1], acceleration_mps2=(x, y, z),
            yaw_rate_degps=float(fleet.angular_velocity_degps[slot, 2])
            + math.degrees(number("noise_yawrate_bias", 0.0) + noise[8] * number("noise_yawrate_stddev", 0.0)),
            lights=owner.lights,
        )  # fmt: skip

    # ------------------------------------------------------------ propagation

    def _link(self, sender: Actor, receiver: Actor, most_m: float) -> Link | None:
        a, b = np.array(sender.pose.location), np.array(receiver.pose.location)
        distance_m = float(np.linalg.norm(b - a))
        if distance_m >= most_m:
            return None
        ground = self._episode.map.scenery.ground.below(np.stack([a, b])).z
        height = np.nan_to_num(np.array([a[2], b[2]]) - ground, nan=ANTENNA_LEAST_M)
        low, high = np.maximum(height, ANTENNA_LEAST_M).tolist()
        contacts = self._episode.contacts
        static = contacts.static
        near = np.flatnonzero(((static.low <= np.maximum(a, b)) & (static.high >= np.minimum(a, b))).all(axis=1))
        if _pierced(a, b, static.centre[near], static.half[near], static.axes[near]).any():
            return Link(distance_m, (low, high), Sight.BUILDING)
        actors, boxes = contacts.boxes()
        own = {id(actor) for end in (sender, receiver) for actor in _carriers(end)}
        hit = _pierced(a, b, boxes.centre, boxes.half, boxes.axes)
        edges = [
            _edge(a, b, boxes.centre[i] + [0.0, 0.0, boxes.half[i, 2]])
            for i, actor in enumerate(actors)
            if hit[i] and actor.kind is ActorKind.VEHICLE and id(actor) not in own
        ]
        return Link(distance_m, (low, high), Sight.VEHICLE if edges else Sight.CLEAR, edges)


def _share_channel(a: Actor, b: Actor) -> bool:
    return a.type_id == b.type_id and a.description.value("channel_id", "") == b.description.value("channel_id", "")


def _carriers(sensor: Actor) -> list[Actor]:
    found, actor = [], sensor.parent
    while actor is not None:
        found.append(actor)
        actor = actor.parent
    return found


def _edge(a: Float, b: Float, top: Float) -> tuple[float, float, float]:
    """Diffraction edge at `top`: horizontal distances from `a` and to `b`, and height above the line of sight, m."""
    before, behind = float(np.hypot(*(top - a)[:2])), float(np.hypot(*(b - top)[:2]))
    line = a[2] + (b[2] - a[2]) * before / max(before + behind, 1e-6)
    return before, behind, float(top[2] - line)


def _pierced(a: Float, b: Float, centre: Float, half: Float, axes: Float) -> NDArray[np.bool_]:
    """Whether the segment from `a` to `b` passes through each oriented box, (N,)."""
    start = np.einsum("ni,nij->nj", a - centre, axes)
    way = np.einsum("i,nij->nj", b - a, axes)
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    near, far = (-half - start) / way, (half - start) / way
    enter, leave = np.minimum(near, far).max(axis=1), np.maximum(near, far).min(axis=1)
    crossed: NDArray[np.bool_] = (enter <= leave) & (leave >= 0.0) & (enter <= 1.0)
    return crossed
