"""Areas for walkers: centre lines of pavements, outlines of crossings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from embedded_carla.opendrive.network import RoadNetwork, RoadObject
from embedded_carla.scene import F64
from embedded_carla.scenery.surfaces import Strip
from embedded_carla.types import SemanticTag

SHORTEST_M = 1.0


def walkways(made: Sequence[Strip]) -> tuple[F64, ...]:
    """Polylines (n, 3) along the middle of every pavement, on its surface."""
    out = []
    for strip in made:
        if strip.surface.tag != SemanticTag.SIDEWALKS:
            continue
        middle = 0.5 * (strip.left + strip.right)
        for first, last in _runs(strip):
            line = middle[first : last + 1]
            if np.linalg.norm(np.diff(line, axis=0), axis=1).sum() >= SHORTEST_M:
                out.append(line)
    return tuple(out)


def _runs(strip: Strip) -> Iterable[tuple[int, int]]:
    kept = np.concatenate([[False], strip.keep, [False]]).astype(int)
    change = np.diff(kept)
    return zip(np.flatnonzero(change == 1), np.flatnonzero(change == -1), strict=True)


def crosswalks(network: RoadNetwork) -> tuple[F64, ...]:
    """Closed outlines (n, 3) of the crossings in the file."""
    return tuple(
        outline(network, item) for item in network.objects if item.kind == "crosswalk" and len(item.outline) > 2
    )


def outline(network: RoadNetwork, item: RoadObject) -> F64:
    """An object's outline in the world, (n, 3), without a repeated last corner."""
    road = network.roads[item.road]
    origin, heading = road.point(item.s_m, item.t_m)
    angle = heading + item.heading_rad
    c, s = np.cos(angle), np.sin(angle)
    u, v, z = item.outline.T
    points = np.stack([origin[0] + c * u - s * v, -(origin[1] + s * u + c * v), origin[2] + item.z_m + z], axis=1)
    return points[:-1] if len(points) > 1 and np.allclose(points[0], points[-1], atol=1e-6) else points
