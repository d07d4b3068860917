"""Small recordings made by hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embedded_carla.recorder.format import pack, pack_header
from embedded_carla.recorder.packets import (
    NO_ACTOR,
    ROWS,
    ActorAdded,
    ActorsAdded,
    FrameEnd,
    FrameStart,
    Header,
    Packet,
    PacketId,
    Rows,
)

CAR, OTHER_CAR, PERSON = 1001, 1002, 1003
STEP_S = 0.1
SPEED_CMPS = 800.0
CAR_TYPE = "vehicle.tesla.model3"


def rows(packet: PacketId, *values: tuple[object, ...]) -> Rows:
    return Rows(packet, np.array(list(values), dtype=ROWS[packet]))


def actor(number: int, type_id: str, kind: int, x_cm: float = 0.0, role: str = "") -> ActorAdded:
    attributes = ((3, "role_name", role),) if role else ()
    return ActorAdded(number, kind, (x_cm, 0.0, 50.0), (0.0, 0.0, 0.0), 7, type_id, attributes)


def drive(frames: int = 20, map_name: str = "city_grid") -> tuple[Header, list[Packet]]:
    """A car drives along x, another one stands; they touch in frames 5 to 7, and the car a wall in frame 9.

    A person comes in frame 4 and goes in frame 10.
    """
    packets: list[Packet] = []
    for i in range(frames):
        last = i == frames - 1
        packets.append(FrameStart(i + 1, -1.0 if last else STEP_S, i * STEP_S))
        added = []
        if i == 0:
            added = [actor(CAR, CAR_TYPE, 1, role="hero"), actor(OTHER_CAR, CAR_TYPE, 1, 3000.0)]
        if i == 3:
            added = [actor(PERSON, "walker.pedestrian.0001", 2, 1000.0)]
        packets.append(ActorsAdded(tuple(added)))
        packets.append(rows(PacketId.ACTORS_REMOVED, *([(PERSON,)] if i == 9 else [])))
        packets.append(rows(PacketId.PARENTS))
        hits = [(i, CAR, OTHER_CAR, 1, 0)] if 4 <= i <= 6 else [(i, CAR, NO_ACTOR, 1, 0)] if i == 8 else []
        packets.append(rows(PacketId.COLLISIONS, *hits))
        places = [(CAR, (SPEED_CMPS * STEP_S * i, 0.0, 50.0), (0.0, 0.0, 0.0)), (OTHER_CAR, (3000, 0, 50), (0, 0, 90))]
        if 3 <= i < 9:
            places.append((PERSON, (1000.0, 300.0 + 10.0 * i, 100.0), (0.0, 0.0, 0.0)))
        packets.append(rows(PacketId.POSITIONS, *places))
        packets.append(rows(PacketId.VEHICLE_CONTROLS, (CAR, 0.25, 0.5, 0.0, 0, 1), (OTHER_CAR, 0, 0, 1, 1, 0)))
        packets.append(rows(PacketId.VEHICLE_LIGHTS, (CAR, 34), (OTHER_CAR, 0)))
        packets.append(FrameEnd())
    return Header(1, 1_600_000_000, map_name), packets


def pack_file(header: Header, packets: Iterable[Packet]) -> bytes:
    """A whole recording."""
    return pack_header(header) + b"".join(pack(packet) for packet in packets)


def drive_bytes(frames: int = 20, map_name: str = "city_grid") -> bytes:
    return pack_file(*drive(frames, map_name))
