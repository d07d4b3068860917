"""Buildings along streets with pavements, single houses along other roads: seeded, never on a road."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embedded_carla.scene import F64, Placement
from embedded_carla.scenery.roadside.room import Frontage, Room
from embedded_carla.types import SemanticTag, Transform

CLEAR_M = 3.0  # from any road or pavement
HOUSE_EVERY_M = 130.0
WIDEST_COUNTRY_ROAD_M = 16.0  # no houses along motorways
STEEPEST_M = 4.0  # largest difference of terrain height under a building


def place_buildings(fronts: Iterable[Frontage], room: Room, rng: np.random.Generator, most: int) -> None:
    """Fill the frontages: a first row along the street, then a second, taller row behind it."""
    sides = list(fronts)
    for row in (0, 1):
        for front in sides:
            if front.has_pavement:
                _street(front, room, rng, row, most)
            elif row == 0 and front.width_m < WIDEST_COUNTRY_ROAD_M:
                _lone_houses(front, room, rng, most)


def _street(front: Frontage, room: Room, rng: np.random.Generator, row: int, most: int) -> None:
    s = float(rng.uniform(1.0, 6.0))
    while s < front.s[-1] and len(room.placements) < most:
        length, depth = float(rng.uniform(11.0, 26.0)), float(rng.uniform(10.0, 18.0))
        point, outward = front.at(min(s + 0.5 * length, front.s[-1]))
        height = _height(point[:2], rng) * (1.0 if row == 0 else 1.6)
        setback = float(rng.uniform(6.0, 10.0)) if row == 0 else float(rng.uniform(32.0, 44.0))
        house = height < 9.0
        built = False
        for shrink in (1.0, 0.7, 0.5):
            if not built:
                size = (length * shrink, depth * shrink, height)
                built = _build(room, rng, point, outward, setback, size, house)
        s += length + float(rng.uniform(1.0, 5.0)) if built else 4.0


def _lone_houses(front: Frontage, room: Room, rng: np.random.Generator, most: int) -> None:
    s = float(rng.uniform(20.0, HOUSE_EVERY_M))
    while s < front.s[-1] and len(room.placements) < most:
        point, outward = front.at(s)
        size = (float(rng.uniform(9.0, 14.0)), float(rng.uniform(8.0, 11.0)), float(rng.uniform(5.5, 8.0)))
        _build(room, rng, point, outward, float(rng.uniform(10.0, 22.0)), size, house=True)
        s += float(rng.uniform(0.6, 1.6)) * HOUSE_EVERY_M


def _height(xy: F64, rng: np.random.Generator) -> float:
    """Building height, m. A slow wave over the map makes some districts high and others low."""
    wave = np.sin(xy[0] / 90.0 + 0.7) + np.sin(xy[1] / 75.0 - 0.4)
    tall = float(np.clip(0.5 + 0.35 * wave, 0.0, 1.0))
    return float(rng.uniform(6.0, 9.0) + tall * rng.uniform(3.0, 26.0))


def _build(
    room: Room, rng: np.random.Generator, point: F64, outward: F64, setback_m: float,
    size: tuple[float, float, float], house: bool,
) -> bool:  # fmt: skip
    """Place a building `setback_m` behind the edge, its front (+x) to the street; returns False if there is no room."""
    length, depth, height = size
    centre = point[:2] + outward * (setback_m + 0.5 * depth)
    along = np.array([-outward[1], outward[0]])
    if not room.fits(centre, along, length, depth, CLEAR_M):
        return False
    corners = np.array(
        [centre + a * 0.5 * length * along + b * 0.5 * depth * outward for a in (-1, 1) for b in (-1, 1)]
    )
    z = room.height(corners)
    if np.isnan(z).any() or np.ptp(z) > STEEPEST_M:
        return False
    base, top = float(z.min()) - 0.3, float(z.max()) + height
    room.take(centre, along, length + 2.0, depth + 2.0)
    yaw = float(np.degrees(np.arctan2(-outward[1], -outward[0])))
    x, y = float(centre[0]), float(centre[1])
    # The front faces +x, so depth is the size along x and the frontage the size along y.
    room.placements.append(
        Placement(
            "house" if house else "building", Transform(x, y, base, 0.0, yaw, 0.0), (depth, length, top - base),
            SemanticTag.BUILDINGS, int(rng.integers(1 << 30)),
        )
    )  # fmt: skip
    half = (0.5 * depth, 0.5 * length, 0.5 * (top - base))
    room.collide((x, y, base + half[2]), half, float(np.radians(yaw)), SemanticTag.BUILDINGS)
    return True
