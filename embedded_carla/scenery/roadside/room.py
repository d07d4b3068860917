"""Free room beside the roads: records placed objects, and keeps roads and pavements clear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from embedded_carla.scene import F64, Boxes, Placement
from embedded_carla.scenery.grid import SectionGrid
from embedded_carla.scenery.heightfield import HeightField
from embedded_carla.scenery.occupancy import Raster
from embedded_carla.scenery.roadside.clearance import LaneClearance
from embedded_carla.scenery.surfaces import Strip, surface_of
from embedded_carla.types import SemanticTag, Transform

PIXEL_M = 0.5
MARGIN_M = 40.0  # width of the room around the roads' bounding box


@dataclass(frozen=True, slots=True)
class Frontage:
    """One side of one lane section outside junctions, seen from its outer edge.

    * `edge` (n, 3): the outer border in the world.
    * `outward` (n, 2): unit vectors away from the road.
    * `s` (n,): distance along the edge from its start, m.
    """

    edge: F64
    outward: F64
    s: F64
    has_pavement: bool
    width_m: float  # width of the whole road

    def at(self, s: float) -> tuple[F64, F64]:
        """Edge point (3,) and outward unit vector (2,) at `s`."""
        point = np.array([np.interp(s, self.s, self.edge[:, k]) for k in range(3)])
        outward = np.array([np.interp(s, self.s, self.outward[:, k]) for k in range(2)])
        return point, outward / np.linalg.norm(outward)


def frontages(grids: Sequence[SectionGrid]) -> Iterator[Frontage]:
    """Both sides of every section outside junctions."""
    for grid in grids:
        if grid.road.junction != -1:
            continue
        paved = [i for i in range(len(grid.lanes)) if surface_of(grid.kind(i)) is not None]
        if not paved:
            continue
        width = float(np.median(grid.t[paved[0]] - grid.t[paved[-1] + 1]))
        for border, lane, sign in ((paved[0], paved[0], 1.0), (paved[-1] + 1, paved[-1], -1.0)):
            edge = grid.points[border]
            s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(edge[:, :2], axis=0), axis=1))])
            pavement = grid.kind(lane) in ("sidewalk", "walking")
            yield Frontage(edge, sign * grid.leftward, s, pavement, width)


@dataclass(slots=True)
class Room:
    """The ground beside the roads with everything placed so far.

    `clearance` is the distance of each pixel to the nearest road or pavement, bridges included.
    """

    raster: Raster
    clearance: F64
    terrain: HeightField
    lanes: LaneClearance
    placements: list[Placement] = field(default_factory=list)
    boxes: list[tuple[float, ...]] = field(default_factory=list)  # centre, half, yaw_rad, tag

    def fits(self, centre: F64, along: F64, length_m: float, width_m: float, clear_m: float) -> bool:
        """Whether a rectangle is `clear_m` away from every road and overlaps nothing placed so far.

        Two pixels more are required: the raster rounds, and the rectangle is probed at points 1 m apart.
        """
        corners = _grid_points(centre, along, length_m, width_m)
        row, column = self.raster.pixel(corners)
        return bool(
            np.all(self.clearance[row, column] >= clear_m + 2.0 * PIXEL_M) and not self.raster.mask[row, column].any()
        )

    def take(self, centre: F64, along: F64, length_m: float, width_m: float) -> None:
        """Mark a rectangle as taken."""
        across = np.array([-along[1], along[0]])
        a, b = 0.5 * length_m * along, 0.5 * width_m * across
        self.raster.fill(np.stack([centre + a + b, centre - a + b, centre - a - b, centre + a - b])[None])

    def height(self, points: F64) -> F64:
        """Terrain height (n,) at points (n, 2)."""
        return self.terrain(points)[0]

    def collide(self, centre: Sequence[float], half: Sequence[float], yaw_rad: float, tag: SemanticTag) -> None:
        """Add a collision box."""
        self.boxes.append((*centre, *half, yaw_rad, float(tag)))

    def post(
        self, prototype: str, at: Transform, size: tuple[float, float, float], tag: SemanticTag, seed: int
    ) -> None:
        """Place an object on a post or trunk of 0.3 m; its collision box is the post with the object's full height."""
        self.placements.append(Placement(prototype, at, size, tag, seed))
        self.collide((at.x, at.y, at.z + 0.5 * size[2]), (0.15, 0.15, 0.5 * size[2]), np.radians(at.yaw_deg), tag)

    def colliders(self) -> Boxes:
        """All collision boxes so far."""
        table = np.array(self.boxes, dtype=np.float64).reshape(-1, 8)
        return Boxes(table[:, :3], table[:, 3:6], table[:, 6], table[:, 7].astype(np.uint8))


def make_room(strips: Sequence[Strip], grids: Sequence[SectionGrid], gaps: F64, terrain: HeightField) -> Room:
    """The room around the roads, with nothing placed yet."""
    quads = np.concatenate([gaps, *(strip.quads() for strip in strips)])
    low, high = quads[..., :2].min(axis=(0, 1)) - MARGIN_M, quads[..., :2].max(axis=(0, 1)) + MARGIN_M
    roads = Raster.around(low, high, PIXEL_M)
    roads.fill(quads)
    return Room(Raster.around(low, high, PIXEL_M), roads.clearance(), terrain, LaneClearance(grids))


def _grid_points(centre: F64, along: F64, length_m: float, width_m: float) -> F64:
    """Points (n, 2) that cover a rectangle, 1 m apart, its border included."""
    across = np.array([-along[1], along[0]])
    u = np.linspace(-0.5 * length_m, 0.5 * length_m, max(int(length_m), 1) + 1)
    v = np.linspace(-0.5 * width_m, 0.5 * width_m, max(int(width_m), 1) + 1)
    return np.asarray((centre + u[:, None, None] * along + v[None, :, None] * across).reshape(-1, 2))
