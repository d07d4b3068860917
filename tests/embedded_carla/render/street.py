"""A small city street made by hand: flat roads with markings, pavements, buildings, trees, cars and people."""

from __future__ import annotations

import numpy as np

from embedded_carla.scene import ActorView, Boxes, GroundHit, Material, Mesh, Placement, Scenery
from embedded_carla.types import SemanticTag, Transform


class FlatGround:
    def below(self, points: np.ndarray) -> GroundHit:
        n = len(points)
        return GroundHit(np.zeros(n), np.tile((0.0, 0.0, 1.0), (n, 1)), np.full(n, 1, np.uint8), np.zeros(n, np.int32))


def strip(x0: float, x1: float, y0: float, y1: float, z: float, material: Material, tag: SemanticTag) -> Mesh:
    """A flat rectangle cut every 10 m along its longer side."""
    n = max(2, int(max(x1 - x0, y1 - y0) / 10.0) + 1)
    along_x = x1 - x0 >= y1 - y0
    s = np.linspace(x0, x1, n) if along_x else np.linspace(y0, y1, n)
    if along_x:
        points = np.concatenate([np.stack([s, np.full(n, y), np.full(n, z)], axis=1) for y in (y0, y1)])
    else:
        points = np.concatenate([np.stack([np.full(n, x), s, np.full(n, z)], axis=1) for x in (x0, x1)])
    i = np.arange(n - 1)
    faces = np.concatenate([np.stack([i, i + 1, i + n], 1), np.stack([i + 1, i + n + 1, i + n], 1)])
    normals = np.tile((0.0, 0.0, 1.0), (len(points), 1))
    return Mesh(
        points.astype(np.float32), normals.astype(np.float32), points[:, :2].astype(np.float32),
        faces.astype(np.uint32), material, tag,
    )  # fmt: skip


def meshes() -> tuple[Mesh, ...]:
    made = [strip(-300, 300, -300, 300, -0.05, Material.GRASS, SemanticTag.TERRAIN)]
    made.append(strip(-300, 300, -7, 7, 0.0, Material.ASPHALT, SemanticTag.ROADS))
    for y in (-9.5, 9.5):
        made.append(strip(-300, 300, y - 2.5, y + 2.5, 0.12, Material.PAVEMENT, SemanticTag.SIDEWALKS))
        inner = y - 2.5 * np.sign(y)
        made.append(strip(-300, 300, inner - 0.1, inner + 0.1, 0.13, Material.KERB, SemanticTag.SIDEWALKS))
    for x in range(-300, 300, 9):
        for y in (-3.5, 3.5):
            made.append(strip(x, x + 3, y - 0.075, y + 0.075, 0.005, Material.MARKING_WHITE, SemanticTag.ROAD_LINES))
    for y in (-6.7, 6.7):
        made.append(strip(-300, 300, y - 0.075, y + 0.075, 0.005, Material.MARKING_WHITE, SemanticTag.ROAD_LINES))
    for y in (-0.15, 0.15):
        made.append(strip(-300, 300, y - 0.06, y + 0.06, 0.005, Material.MARKING_YELLOW, SemanticTag.ROAD_LINES))
    for y in np.arange(-6, 6.5, 1.0):
        made.append(strip(28, 31, y - 0.25, y + 0.25, 0.006, Material.CROSSWALK, SemanticTag.ROAD_LINES))
    return tuple(made)


def placements() -> tuple[Placement, ...]:
    rng = np.random.default_rng(3)
    made: list[Placement] = []
    for k in range(30):
        for side in (-1, 1):
            deep, wide, tall = rng.uniform(10, 14), rng.uniform(12, 17), rng.uniform(7, 26)
            pose = Transform(-100 + 18.0 * k, side * (13.5 + deep / 2), 0.0)
            made.append(Placement("building", pose, (wide, deep, tall), SemanticTag.BUILDINGS, 2 * k + side))
    kinds = ("tree_broadleaf", "tree_broadleaf", "tree_conifer")
    for k in range(50):
        for side in (-1, 1):
            tall = rng.uniform(5, 9)
            pose = Transform(-90 + 9.0 * k, side * 10.8, 0.1, 0.0, float(rng.uniform(0, 360)))
            kind = kinds[int(rng.integers(3))]
            made.append(Placement(kind, pose, (tall * 0.6, tall * 0.6, tall), SemanticTag.VEGETATION, k))
    for k in range(12):
        pose = Transform(-50 + 30.0 * k, 8.0 * (-1) ** k, 0.1, 0.0, -90.0 * (-1) ** k)
        made.append(Placement("street_lamp", pose, (1.5, 0.25, 8.0), SemanticTag.POLES))
    for k, (kind, text) in enumerate((("sign_stop", ""), ("sign_yield", ""), ("sign_speed", "50"))):
        pose = Transform(22.0 + 3.0 * k, 7.6, 0.1, 0.0, 180.0)
        made.append(Placement(kind, pose, (0.1, 0.75, 2.8), SemanticTag.TRAFFIC_SIGNS, 0, text))
    made.append(Placement("pole", Transform(33.0, -7.6, 0.1), (0.18, 0.18, 3.3), SemanticTag.POLES))
    head = Transform(33.0, -7.6, 3.2, 0.0, 180.0)
    made.append(Placement("signal_head", head, (0.35, 0.4, 1.1), SemanticTag.TRAFFIC_LIGHT, signal_id="7"))
    made.append(Placement("bench", Transform(18.0, 8.6, 0.12, 0.0, -90.0), (1.8, 0.6, 0.9), SemanticTag.STATIC))
    made.append(Placement("bush", Transform(15.0, 8.6, 0.12), (1.6, 1.6, 1.1), SemanticTag.VEGETATION))
    made.append(Placement("house", Transform(-20.0, -28.0, 0.0), (11.0, 9.0, 7.0), SemanticTag.BUILDINGS, 4))
    return tuple(made)


def street() -> Scenery:
    lamps = [[-50 + 30.0 * k, (8.0 - 1.2) * (-1) ** k, 7.8] for k in range(12)]
    return Scenery(
        "Street", meshes(), placements(),
        Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.uint8)), FlatGround(),
        np.array([0]), np.array([50.0]), (), (), (Transform(),), (), (), np.array(lamps),
    )  # fmt: skip


VEHICLES = (
    ("sedan", (2.35, 0.95, 0.72), SemanticTag.CAR), ("hatchback", (2.0, 0.9, 0.74), SemanticTag.CAR),
    ("suv", (2.4, 1.0, 0.88), SemanticTag.CAR), ("pickup", (2.75, 1.0, 0.92), SemanticTag.CAR),
    ("van", (2.9, 1.05, 1.2), SemanticTag.TRUCK), ("truck", (4.1, 1.25, 1.75), SemanticTag.TRUCK),
    ("bus", (5.6, 1.3, 1.65), SemanticTag.BUS), ("motorcycle", (1.1, 0.4, 0.75), SemanticTag.MOTORCYCLE),
    ("bicycle", (0.85, 0.3, 0.8), SemanticTag.BICYCLE),
)  # fmt: skip
COLOURS = ((0.55, 0.02, 0.02), (0.7, 0.7, 0.72), (0.02, 0.05, 0.25), (0.03, 0.03, 0.03), (0.25, 0.27, 0.28))


def traffic(vehicles: int = 30, walkers: int = 20, lights: int = 0) -> list[ActorView]:
    """Vehicles ahead in four lanes, walkers on the pavements."""
    made = []
    for k in range(vehicles):
        shape, extent, tag = VEHICLES[k % len(VEHICLES)]
        lane = k % 4
        y = (-5.2, -1.8, 1.8, 5.2)[lane]
        yaw = 180.0 if y < 0 else 0.0
        pose = Transform(9.0 + 5.5 * k, y, 0.0, 0.0, yaw)
        made.append(ActorView(100 + k, shape, pose, extent, COLOURS[k % 5], tag, lights, 0.1, 0.7 * k, k))
    for k in range(walkers):
        pose = Transform(8.0 + 5.0 * k, 8.6 * (-1) ** k, 0.12, 0.0, 90.0 * (k % 4))
        colour = COLOURS[(k + 1) % 5]
        made.append(
            ActorView(300 + k, "walker", pose, (0.22, 0.25, 0.9), colour, SemanticTag.PEDESTRIANS, 0, 0.0, k, k)
        )
    return made
