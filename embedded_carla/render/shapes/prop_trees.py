"""CARLA's tree props as unit shapes (x, y in -0.5..0.5, z in 0..1)."""

from __future__ import annotations

import itertools

import numpy as np

from embedded_carla.render.shapes.geometry import ShapeBuilder

LEAF = (0.06, 0.11, 0.03)


def tree(b: ShapeBuilder, name: str) -> None:
    """Build a palm with a fan of leaves, a columnar cypress, or a tree with a round crown."""
    bark = (0.13, 0.09, 0.06)
    top, thick = (0.80, 0.014) if "palm" in name else (0.12, 0.03) if "cypress" in name else (0.45, 0.016)
    b.tube((0.0, 0.0, 0.0), (0.0, 0.0, top), 1.5 * thick, thick, 8, bark)
    if "palm" in name:
        for k, turn in enumerate(np.linspace(0.0, 2 * np.pi, 11, endpoint=False)):
            x, y = float(np.cos(turn)), float(np.sin(turn))
            rise, fall = 0.16 + 0.03 * (k % 3), 0.02 * (k % 4)
            spine = [(0.0, 0.0, 0.80), (0.25 * x, 0.25 * y, 0.80 + rise), (0.48 * x, 0.48 * y, 0.76 + fall)]
            for (ax, ay, az), (bx, by, bz) in itertools.pairwise(spine):
                leaf = [(ax - 0.05 * y, ay + 0.05 * x, az), (ax + 0.05 * y, ay - 0.05 * x, az),
                        (bx + 0.05 * y, by - 0.05 * x, bz), (bx - 0.05 * y, by + 0.05 * x, bz)]  # fmt: skip
                b.polygon(leaf, LEAF)
                b.polygon(leaf[::-1], LEAF)
        return
    if "cypress" in name:
        for k, (z, r) in enumerate(((0.30, 0.46), (0.48, 0.44), (0.66, 0.34), (0.82, 0.20))):
            b.blob((0.0, 0.0, z), (r, r, 0.20), 6, 10, LEAF, 0.14, k, 0.5)
        return
    for k, (x, y, z) in enumerate(((0.0, 0.0, 0.74), (0.2, 0.1, 0.62), (-0.2, 0.12, 0.66), (0.04, -0.22, 0.60))):
        b.blob((x, y, z), (0.27, 0.26, 0.22), 6, 10, LEAF, 0.2, k, 0.45)
