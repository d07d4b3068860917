"""The prototypes a Scenery names: their shapes by level of detail, how they are shaded, and their colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render import scenery_shapes as shapes
from embedded_carla.render.geometry import Shape
from embedded_carla.scene import Placement

F64 = NDArray[np.float64]
RED_BRICK = ((0.34, 0.15, 0.10), (0.42, 0.36, 0.29), (0.30, 0.31, 0.32), (0.52, 0.49, 0.43), (0.24, 0.20, 0.17),
             (0.45, 0.30, 0.20))  # fmt: skip
PLASTER = ((0.62, 0.56, 0.45), (0.66, 0.64, 0.60), (0.55, 0.42, 0.30), (0.50, 0.52, 0.50), (0.60, 0.48, 0.40))
LEAVES = ((0.075, 0.150, 0.030), (0.095, 0.165, 0.040), (0.060, 0.125, 0.035), (0.120, 0.160, 0.035))
NEEDLES = ((0.030, 0.085, 0.040), (0.040, 0.100, 0.045), (0.025, 0.070, 0.040))
STONE = ((0.42, 0.40, 0.36), (0.36, 0.35, 0.34))
PLAIN = ((1.0, 1.0, 1.0),)


@dataclass(frozen=True, slots=True)
class Prototype:
    """`levels` from fine to coarse, `level_px` the radius on screen above which each but the last is used;
    `kind` names the fragment variant; below `least_px` it is not drawn."""

    levels: tuple[Shape, ...]
    level_px: tuple[float, ...]
    kind: str
    palette: tuple[tuple[float, float, float], ...]
    sways: bool = False
    least_px: float = 0.8
    casts: bool = True
    far_m: float = 700.0


def _prototypes() -> dict[str, Prototype]:
    tree = (90.0, 26.0)
    leaf, needle = shapes.tree_broadleaf, shapes.tree_conifer
    made = {
        "building": Prototype((shapes.building(),), (), "facade", RED_BRICK, far_m=1200.0),
        "house": Prototype((shapes.house(),), (), "facade", PLASTER, far_m=900.0),
        "tree_broadleaf": Prototype((leaf(2), leaf(1), leaf(0)), tree, "foliage", LEAVES, True, 1.5),
        "tree_conifer": Prototype((needle(2), needle(1), needle(0)), tree, "foliage", NEEDLES, True, 1.5),
        "bush": Prototype((shapes.bush(1), shapes.bush(0)), (20.0,), "foliage", LEAVES, True, 2.0, far_m=250.0),
        "street_lamp": Prototype((shapes.street_lamp(),), (), "object", PLAIN, least_px=6.0, far_m=300.0),
        "pole": Prototype((shapes.pole(),), (), "object", PLAIN, least_px=5.0, far_m=300.0),
        "signal_head": Prototype((shapes.signal_head(),), (), "object", PLAIN, far_m=300.0),
        "guard_rail": Prototype((shapes.guard_rail(),), (), "object", PLAIN, least_px=2.0, far_m=300.0),
        "bench": Prototype((shapes.bench(),), (), "object", PLAIN, least_px=2.0, far_m=150.0),
        "wall": Prototype((shapes.wall(),), (), "object", STONE, far_m=400.0),
        "sign_post": Prototype((shapes.sign_post(),), (), "object", PLAIN, least_px=5.0, far_m=200.0),
    }
    for name, corners, start in (("stop", 8, np.pi / 8), ("yield", 3, -np.pi / 2), ("speed", 20, 0.0)):
        made[f"sign_{name}"] = Prototype(
            (shapes.sign_face(corners, start),), (), "sign", PLAIN, casts=False, far_m=200.0
        )
        made[f"sign_{name}_back"] = Prototype((shapes.sign_back(corners, start),), (), "object", PLAIN, far_m=200.0)
    return made


PROTOTYPES = _prototypes()


def tints(name: str, seeds: Sequence[int]) -> tuple[F64, F64]:
    """Colours (N, 3) and seed shares (N,) of placements: the same seed, the same colour."""
    palette = np.array(PROTOTYPES[name].palette)
    spread = np.array([np.random.default_rng(abs(int(seed))).random(3) for seed in seeds]).reshape(-1, 3)
    colour = palette[(spread[:, 0] * len(palette)).astype(int) % len(palette)]
    return colour * (0.85 + 0.3 * spread[:, 1:2]), spread[:, 2]


def sign_pieces(sign: Placement) -> list[tuple[str, tuple[float, float, float], float]]:
    """A sign as prototypes (name, size m, height m above its foot): post, face and back."""
    _, width, height = sign.size_m
    disc = min(width, height)
    pieces = [
        (sign.prototype, (0.03, disc, disc), height - disc),
        (f"{sign.prototype}_back", (0.03, disc, disc), height - disc),
    ]
    if height > disc:
        pieces.append(("sign_post", (0.06, 0.06, height - disc / 2), 0.0))
    return pieces
