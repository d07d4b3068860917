"""Street furniture behind pavements: benches, bins, letter boxes, shelters, advertisements and plants."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embedded_carla.scene import Placement
from embedded_carla.scenery.roadside.room import Frontage, Room
from embedded_carla.types import SemanticTag, Transform, Vector3

MOST = 700
BEHIND_PAVEMENT_M = 0.5
EVERY_M = (9.0, 26.0)  # range of the distance between pieces along a pavement
# name, (depth across the street, length along it, height), relative frequency, tag; +x faces the street
KINDS: tuple[tuple[str, Vector3, float, SemanticTag], ...] = (
    ("prop bench", (0.6, 1.8, 0.9), 0.22, SemanticTag.STATIC),
    ("prop trashcan01", (0.55, 0.55, 1.0), 0.24, SemanticTag.STATIC),
    ("prop mailbox", (0.5, 0.5, 1.2), 0.08, SemanticTag.STATIC),
    ("prop busstop", (1.6, 3.6, 2.5), 0.05, SemanticTag.STATIC),
    ("prop advertisement", (0.25, 1.5, 2.4), 0.05, SemanticTag.STATIC),
    ("prop plantpot06", (0.9, 0.9, 1.1), 0.10, SemanticTag.STATIC),
    ("bush", (1.3, 1.3, 1.1), 0.26, SemanticTag.VEGETATION),
)


def furnish(fronts: Iterable[Frontage], room: Room, rng: np.random.Generator) -> None:
    """Place furniture along every pavement, up to MOST pieces; none on a road, a pavement or another object."""
    end = len(room.placements) + MOST
    shares = np.array([kind[2] for kind in KINDS])
    for front in fronts:
        if not front.has_pavement:
            continue
        s = float(rng.uniform(3.0, 15.0))
        while s < front.s[-1] - 2.0 and len(room.placements) < end:
            kind = KINDS[int(rng.choice(len(KINDS), p=shares / shares.sum()))]
            _stand(front, s, kind, room, int(rng.integers(1 << 30)))
            s += float(rng.uniform(*EVERY_M))


def _stand(front: Frontage, s: float, kind: tuple[str, Vector3, float, SemanticTag], room: Room, seed: int) -> None:
    name, (depth, length, height), _, tag = kind
    point, outward = front.at(s)
    # `Room.fits` keeps two pixels of the raster clear of the pavement.
    centre = point[:2] + outward * (BEHIND_PAVEMENT_M + 1.0 + 0.5 * depth)
    along = np.array([-outward[1], outward[0]])
    if not room.fits(centre, along, length, depth, 0.0):
        return
    z = float(room.height(centre[None])[0])
    if np.isnan(z):
        return
    room.take(centre, along, length + 0.4, depth + 0.4)
    yaw = float(np.degrees(np.arctan2(-outward[1], -outward[0])))
    pose = Transform(float(centre[0]), float(centre[1]), z - 0.03, 0.0, yaw, 0.0)
    room.placements.append(Placement(name, pose, (depth, length, height), tag, seed))
    half = (0.5 * depth, 0.5 * length, 0.5 * height)
    room.collide((pose.x, pose.y, pose.z + half[2]), half, float(np.radians(yaw)), tag)
