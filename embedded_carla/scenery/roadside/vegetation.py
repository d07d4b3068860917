"""Trees: rows along streets, woods along roads without pavements."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embedded_carla.scene import F64, Placement
from embedded_carla.scenery.roadside.room import Frontage, Room
from embedded_carla.types import SemanticTag, Transform

TRUNK_HALF_M = 0.2
STREET_SPACING_M = 15.0
WOOD_REACH_M = 45.0
BEHIND_EDGE_M = 1.3  # from the pavement or road to the nearest leaf


def plant(fronts: Iterable[Frontage], room: Room, rng: np.random.Generator, most: int) -> None:
    """Plant trees along all frontages, up to `most` trees."""
    sides = list(fronts)
    woods = sum(float(f.s[-1]) for f in sides if not f.has_pavement)
    rows = sum(float(f.s[-1]) for f in sides if f.has_pavement)
    spacing = max(5.0, woods / max(most - rows / STREET_SPACING_M, 1.0))
    end = len(room.placements) + most
    for front in sides:
        s = float(rng.uniform(2.0, 8.0))
        while s < front.s[-1] and len(room.placements) < end:
            if front.has_pavement:
                _tree(room, rng, front, s, BEHIND_EDGE_M, "tree_broadleaf", float(rng.uniform(2.6, 3.8)))
                s += STREET_SPACING_M + float(rng.uniform(-2.0, 6.0))
            else:
                kind = "tree_conifer" if _conifers(front.at(s)[0], rng) else "tree_broadleaf"
                reach = 3.0 + (WOOD_REACH_M - 3.0) * float(rng.uniform()) ** 1.4
                _tree(room, rng, front, s, reach, kind, float(rng.uniform(3.5, 6.5)))
                s += float(rng.uniform(0.5, 1.5)) * spacing


def _conifers(point: F64, rng: np.random.Generator) -> bool:
    """Whether to plant a conifer; the woods change their kind slowly over the map."""
    return bool(rng.uniform() < 0.5 + 0.45 * np.sin(point[0] / 130.0) * np.cos(point[1] / 110.0))


def _tree(
    room: Room, rng: np.random.Generator, front: Frontage, s: float, behind_m: float, kind: str, crown_m: float
) -> None:
    point, outward = front.at(s)
    centre = point[:2] + outward * (behind_m + 0.5 * crown_m)
    turned = np.array([1.0, 0.0])
    if not room.fits(centre, turned, crown_m, crown_m, 0.0):
        return
    z = float(room.height(centre[None])[0])
    if np.isnan(z):
        return
    room.take(centre, turned, 0.8 * crown_m, 0.8 * crown_m)
    height = crown_m * float(rng.uniform(1.6, 2.0) if kind == "tree_broadleaf" else rng.uniform(2.2, 2.8))
    at = Transform(float(centre[0]), float(centre[1]), z - 0.1, 0.0, 90.0 * int(rng.integers(4)), 0.0)
    seed = int(rng.integers(1 << 30))
    room.placements.append(Placement(kind, at, (crown_m, crown_m, height), SemanticTag.VEGETATION, seed))
    trunk = (TRUNK_HALF_M, TRUNK_HALF_M, 0.3 * height)
    room.collide((at.x, at.y, at.z + trunk[2]), trunk, 0.0, SemanticTag.VEGETATION)
