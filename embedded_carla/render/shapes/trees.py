"""Trees, bushes and hedges as unit shapes (x, y in -0.5..0.5, z in 0..1).

Crowns are clusters of rough ellipsoids; the fragment shader frays their edges leaf by leaf. Detail: 2 near, 1 middle, 0
far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embedded_carla.render.shapes.geometry import Colour, Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part

BARK = (0.085, 0.066, 0.050)
PALE_BARK = (0.38, 0.36, 0.32)


@dataclass(frozen=True, slots=True)
class Crown:
    """Parameters of a broadleaf tree: trunk height and radius, height of the crown's middle, its half sizes, lobes."""

    trunk: float
    trunk_radius: float
    middle: float
    half: tuple[float, float]  # across, upwards
    lobes: int
    lobe: tuple[float, float]  # least and greatest radius of the lobes
    bark: Colour = BARK
    seed: int = 0


CROWNS: dict[str, Crown] = {
    "round": Crown(0.34, 0.034, 0.63, (0.38, 0.33), 11, (0.15, 0.24), seed=1),
    "spreading": Crown(0.30, 0.040, 0.66, (0.44, 0.27), 13, (0.13, 0.22), seed=2),
    "columnar": Crown(0.16, 0.036, 0.57, (0.27, 0.40), 12, (0.13, 0.19), seed=3),
    "birch": Crown(0.30, 0.022, 0.62, (0.31, 0.35), 14, (0.09, 0.17), PALE_BARK, seed=4),
    "loose": Crown(0.36, 0.030, 0.66, (0.42, 0.32), 9, (0.10, 0.20), seed=5),
}


def broadleaf(habit: str, detail: int) -> Shape:
    """A broadleaf tree of a type in `CROWNS`."""
    b = ShapeBuilder()
    crown = CROWNS[habit]
    rng = np.random.default_rng(crown.seed)
    count = (2, max(4, crown.lobes // 2), crown.lobes)[detail]
    grow = (1.55, 1.25, 1.0)[detail]
    centres = []
    for k in range(count):
        turn = 2.399963 * k + rng.uniform(-0.3, 0.3)  # the golden angle spreads lobes evenly
        up = -0.85 + 1.75 * (k + 0.5) / count
        across = crown.half[0] * np.sqrt(max(1.0 - 0.80 * up * up, 0.06)) * rng.uniform(0.45, 0.72)
        r = rng.uniform(*crown.lobe) * grow
        z = np.clip(crown.middle + 0.72 * crown.half[1] * up, 0.2 + 0.7 * r, 1.0 - 0.8 * r)
        centres.append((across * np.cos(turn), across * np.sin(turn), float(z), float(r)))
    sides = (3, 5, 7)[detail]
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, crown.trunk), crown.trunk_radius, 0.75 * crown.trunk_radius, sides, crown.bark)
    b.tube(
        (0.0, 0.0, crown.trunk),
        (0.01, 0.0, crown.middle),
        0.75 * crown.trunk_radius,
        0.35 * crown.trunk_radius,
        sides,
        crown.bark,
    )
    if detail == 2:
        for x, y, z, _ in centres[1::2]:
            low = crown.trunk + 0.25 * max(z - crown.trunk, 0.0)
            b.tube(
                (0.0, 0.0, low),
                (0.9 * x, 0.9 * y, z),
                0.40 * crown.trunk_radius,
                0.12 * crown.trunk_radius,
                4,
                crown.bark,
            )
    rings, around = ((3, 6), (3, 7), (4, 8))[detail]
    for k, (x, y, z, r) in enumerate(centres):
        _leaves(b, (x, y, z), (r, r, 0.82 * r), rings, around, 20 * crown.seed + k)
    return b.build()


def _leaves(
    b: ShapeBuilder,
    centre: tuple[float, float, float],
    radii: tuple[float, float, float],
    rings: int,
    sides: int,
    seed: int,
) -> None:
    """An ellipsoid of foliage, darker below and inside, that sways more the higher it is."""
    b.part, b.motion = Part.TINTED, (float(1.3 * centre[2]), 0.0)
    shade = 0.62 + 0.55 * (centre[2] - 0.3)
    b.blob(centre, radii, rings, sides, (shade, shade, shade), 0.17, seed, 0.45)
    b.part, b.motion = Part.FIXED, (0.0, 0.0)


def conifer(habit: str, detail: int) -> Shape:
    """A spruce with many ragged skirts, a slender spruce, or a pine with its crown on a bare trunk."""
    b = ShapeBuilder()
    first, wide = {"spruce": (0.10, 0.5), "slender": (0.06, 0.34), "pine": (0.46, 0.46)}[habit]
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.9), 0.030, 0.008, (3, 4, 6)[detail], BARK)
    if habit == "pine":
        rng = np.random.default_rng(9)
        for k in range((2, 5, 9)[detail]):
            turn, z = 2.4 * k, 0.55 + 0.40 * (k + 0.5) / (2, 5, 9)[detail]
            out = 0.26 * (1.0 - 0.6 * (z - 0.5))
            r = float(rng.uniform(0.20, 0.28)) * (1.4, 1.15, 1.0)[detail]
            _leaves(
                b,
                (out * float(np.cos(turn)), out * float(np.sin(turn)), min(z, 1.0 - 0.5 * r)),
                (r, r, 0.50 * r),
                3,
                7,
                60 + k,
            )
        return b.build()
    b.part = Part.TINTED
    layers, sides = ((3, 5), (6, 7), (11, 9))[detail]
    for k in range(layers):
        low = first + (0.93 - first) * k / layers
        high = min(1.0, low + 1.55 * (0.93 - first) / layers + 0.05)
        b.motion = (float(low + 0.2), 0.0)
        _skirt(b, low, high, wide * (1.0 - k / (layers + 0.35)) ** 0.9, sides, k)
    return b.build()


def _skirt(b: ShapeBuilder, low: float, high: float, radius: float, sides: int, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    n = 2 * sides
    even = np.arange(n) % 2 == 0
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False) + 0.7 * seed
    reach = radius * np.where(even, 1.0, 0.62) * rng.uniform(0.78, 1.12, n)
    drop = np.where(even, -0.022, 0.018) * (0.6 + radius)
    hem = np.stack([reach * np.cos(turn), reach * np.sin(turn), low + drop], axis=1)
    normal = np.stack([np.cos(turn), np.sin(turn), np.full(n, 0.55)], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    points = np.concatenate([hem, [(0.0, 0.0, high)], [(0.0, 0.0, low + 0.05)]])
    normals = np.concatenate([normal, [(0.0, 0.0, 1.0)], [(0.0, 0.0, -1.0)]])
    i, j = np.arange(n), (np.arange(n) + 1) % n
    top, under = np.full(n, n), np.full(n, n + 1)
    faces = np.concatenate([np.stack([i, j, top], 1), np.stack([j, i, under], 1)])
    tone = np.concatenate([np.where(even, 1.2, 0.72), [0.55, 0.25]])
    b.add(points, normals, faces, np.repeat(tone[:, None], 3, axis=1).astype(np.float32))


def bush(habit: str, detail: int) -> Shape:
    """A round bush of a few lobes, or a clipped hedge."""
    b = ShapeBuilder()
    if habit == "hedge":
        for k, x in enumerate(np.linspace(-0.38, 0.38, (3, 5)[detail])):
            _leaves(b, (float(x), 0.0, 0.5), (0.16 if detail else 0.22, 0.5, 0.5), 3, 7, 80 + k)
        return b.build()
    lobes = (
        ((0.0, 0.0, 0.48, 0.5),)
        if not detail
        else (
            (-0.20, 0.05, 0.42, 0.30),
            (0.18, -0.16, 0.45, 0.32),
            (0.10, 0.20, 0.36, 0.28),
            (-0.06, -0.18, 0.60, 0.26),
        )
    )
    for k, (x, y, z, r) in enumerate(lobes):
        _leaves(b, (x, y, z), (r, r, min(1.3 * r, 0.52)), 4, 7, 90 + k)
    return b.build()
