"""A one-lane roundabout: a ring of short one-way roads with a small junction at each street."""

from __future__ import annotations

import math
from collections.abc import Sequence

from embedded_carla.maps.generator.alignment import Alignment, Piece, Pose
from embedded_carla.maps.generator.builder import FLAT, Arm, TownBuilder
from embedded_carla.maps.generator.cross_section import KERB, KERB_M, Profile, constant, street_section
from embedded_carla.maps.generator.crossing import give_way
from embedded_carla.maps.generator.model import Lane, Road

RING = Profile(lanes=1, centre="solid", one_way=True)
INNER_RADIUS_M = 16.25
REACH_M = 30.0  # from the centre to the streets' ends
_MOUTH_RAD = math.radians(30.0)  # half of the angle that a street's junction takes of the ring


def _ring_road(
    town: TownBuilder, name: str, x: float, y: float, z: float, start: float, end: float, ring: Profile
) -> Road:
    pose = Pose(x + INNER_RADIUS_M * math.cos(start), y + INNER_RADIUS_M * math.sin(start), start + math.pi / 2.0)
    k = 1.0 / INNER_RADIUS_M
    alignment = Alignment(pose, [Piece(INNER_RADIUS_M * (end - start), k, k)])
    section = street_section(ring, alignment.length_m, False, False)
    section.lanes[1] = Lane("shoulder", constant(KERB_M), (KERB,))
    elevation = ((0.0, z, 0.0, 0.0, 0.0),) if z else FLAT
    return town.street(name, alignment, ring, 30.0, elevation, sections=[section])


def roundabout(
    town: TownBuilder, name: str, x: float, y: float, z: float, arms: Sequence[Arm], ring: Profile = RING
) -> None:
    """Join `arms` by a ring to which they give way; their ends point to the centre, REACH_M away from it."""

    def angle(arm: Arm) -> float:
        return (arm.into.heading_rad + math.pi) % (2.0 * math.pi)

    ordered = sorted(arms, key=angle)
    angles = [angle(arm) for arm in ordered]
    rings = []
    for k, begin in enumerate(angles):
        end = angles[(k + 1) % len(angles)]
        end += 2.0 * math.pi if end <= begin else 0.0
        rings.append(_ring_road(town, f"{name} ring {k}", x, y, z, begin + _MOUTH_RAD, end - _MOUTH_RAD, ring))
    for k, street in enumerate(ordered):
        junction = town.junction(f"{name} {k}")
        before, after = Arm(rings[k - 1], "end", ring), Arm(rings[k], "start", ring)
        town.connect(junction, before, after, first_in=1, first_out=1, left_kerb=True)
        if street.leads_out:
            town.connect(junction, before, street, first_in=1, first_out=1, pavement=True)
        if street.leads_in:
            entry = town.connect(junction, street, after, first_in=1, first_out=1, pavement=True)
            give_way(town, [entry], "yield")
