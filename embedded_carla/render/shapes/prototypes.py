"""The scenery's prototypes: their shapes by level of detail, shading kind and colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.look import HeadLook, Look
from embedded_carla.render.shapes import buildings, street, trees
from embedded_carla.render.shapes.geometry import Shape
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.props import prop
from embedded_carla.render.shapes.signal_heads import signal_head
from embedded_carla.scene import Placement

F64 = NDArray[np.float64]
RED_BRICK = (
    (0.34, 0.15, 0.10),
    (0.42, 0.36, 0.29),
    (0.30, 0.31, 0.32),
    (0.52, 0.49, 0.43),
    (0.24, 0.20, 0.17),
    (0.45, 0.30, 0.20),
)
PLASTER = ((0.62, 0.56, 0.45), (0.66, 0.64, 0.60), (0.55, 0.42, 0.30), (0.50, 0.52, 0.50), (0.60, 0.48, 0.40))
LEAVES = (
    (0.085, 0.115, 0.030),
    (0.065, 0.100, 0.028),
    (0.110, 0.130, 0.040),
    (0.050, 0.085, 0.030),
    (0.095, 0.105, 0.045),
    (0.075, 0.125, 0.026),
)
NEEDLES = ((0.030, 0.062, 0.034), (0.042, 0.075, 0.038), (0.024, 0.052, 0.034))
STONE = ((0.42, 0.40, 0.36), (0.36, 0.35, 0.34))
PLAIN = ((1.0, 1.0, 1.0),)
TALL = 1.25  # height / width of an American speed limit sign


@dataclass(frozen=True, slots=True)
class Prototype:
    """A prototype of scenery.

    * `levels`: shapes from fine to coarse.
    * `level_px`: minimum radius on screen, px, of each level but the last.
    * `kind`: variant of the fragment shader.
    * `least_px`: minimum radius on screen, px; a smaller object is not drawn.
    """

    levels: tuple[Shape, ...]
    level_px: tuple[float, ...]
    kind: str
    palette: tuple[tuple[float, float, float], ...]
    sways: bool = False
    least_px: float = 0.8
    casts: bool = True
    far_m: float = 700.0


# Prototypes by a placement's name; the placement's seed selects one.
VARIANTS: dict[str, tuple[str, ...]] = {
    "building": tuple(f"building {habit}" for habit in ("plain", "tower", "wings", "plain", "twin")),
    "house": tuple(f"house {habit}" for habit in ("gable", "hip", "terrace")),
    "tree_broadleaf": tuple(f"tree {habit}" for habit in trees.CROWNS),
    "tree_conifer": tuple(f"conifer {habit}" for habit in ("spruce", "slender", "spruce", "pine")),
    "bush": ("bush round", "bush round", "bush hedge"),
}


def variant(name: str, seed: int) -> str:
    """The prototype for a placement with this name and seed."""
    kinds = VARIANTS.get(name)
    return name if kinds is None else kinds[(abs(seed) // 7) % len(kinds)]


def _prototypes() -> dict[str, Prototype]:
    tree = (75.0, 20.0)
    made = {}
    for name in dict.fromkeys(VARIANTS["building"]):
        made[name] = Prototype((buildings.building(name.split()[1]),), (), "facade", RED_BRICK, far_m=1200.0)
    for name in VARIANTS["house"]:
        made[name] = Prototype((buildings.house(name.split()[1]),), (), "facade", PLASTER, far_m=900.0)
    for name in VARIANTS["tree_broadleaf"]:
        levels = tuple(trees.broadleaf(name.split()[1], detail) for detail in (2, 1, 0))
        made[name] = Prototype(levels, tree, "foliage", LEAVES, True, 1.5)
    for name in dict.fromkeys(VARIANTS["tree_conifer"]):
        levels = tuple(trees.conifer(name.split()[1], detail) for detail in (2, 1, 0))
        made[name] = Prototype(levels, tree, "foliage", NEEDLES, True, 1.5)
    for name in dict.fromkeys(VARIANTS["bush"]):
        levels = tuple(trees.bush(name.split()[1], detail) for detail in (1, 0))
        made[name] = Prototype(levels, (20.0,), "foliage", LEAVES, True, 2.0, far_m=250.0)
    return made | _street() | _props()


def _props() -> dict[str, Prototype]:
    """Props that are part of the scenery, by the name "prop NAME" with CARLA's name of the prop."""
    names = ("bench", "trashcan01", "mailbox", "busstop", "advertisement", "plantpot06")
    return {f"prop {n}": Prototype((prop(n),), (), "object", PLAIN, least_px=2.5, far_m=200.0) for n in names}


def _street() -> dict[str, Prototype]:
    rail = (street.guard_rail(True), street.guard_rail(False))
    made = {
        "street_lamp": Prototype((street.street_lamp(),), (), "object", PLAIN, least_px=6.0, far_m=300.0),
        "pole": Prototype((street.pole(),), (), "object", PLAIN, least_px=5.0, far_m=300.0),
        "mast_arm": Prototype((street.mast_arm(),), (), "object", PLAIN, least_px=3.0, far_m=300.0),
        "signal_head": Prototype((signal_head(HeadLook()),), (), "object", PLAIN, far_m=300.0),
        "guard_rail": Prototype(rail, (40.0,), "object", PLAIN, least_px=2.0, far_m=300.0),
        "bench": Prototype((street.bench(),), (), "object", PLAIN, least_px=2.0, far_m=150.0),
        "wall": Prototype((street.wall(),), (), "object", STONE, far_m=400.0),
        "fence": Prototype((street.fence(),), (), "object", PLAIN, least_px=6.0, far_m=150.0),
        "sign_post": Prototype((street.sign_post(),), (), "object", PLAIN, least_px=5.0, far_m=200.0),
    }
    for name, corners, start in (
        ("stop", 8, np.pi / 8),
        ("yield", 3, -np.pi / 2),
        ("speed", 24, 0.0),
        ("limit", 4, 0.0),
    ):
        tall = name == "limit"
        face, back = street.sign_face(corners, start, tall), street.sign_back(corners, start, tall)
        made[f"sign_{name}"] = Prototype((face,), (), "sign", PLAIN, casts=False, far_m=200.0)
        made[f"sign_{name}_back"] = Prototype((back,), (), "object", PLAIN, far_m=200.0)
    return made


PROTOTYPES = _prototypes()
METAL = ("street_lamp", "pole", "mast_arm", "guard_rail", "fence", "sign_post")


def shape_of(name: str, level: int, look: Look) -> Shape:
    """The shape of a prototype in a look, which has its own signal heads and its own colour of posts and rails."""
    shape = PROTOTYPES[name].levels[level]
    if look.is_default:
        return shape
    if name == "signal_head":
        return signal_head(look.heads)
    if name not in METAL:
        return shape
    vertices = shape.vertices.copy()
    vertices[vertices[:, 9] == Part.FIXED, 6:9] *= np.array(look.surfaces.metal, dtype=np.float32)
    return Shape(vertices, shape.triangles)


def tints(name: str, seeds: Sequence[int]) -> tuple[F64, F64]:
    """Colours (N, 3) and random numbers 0 to 1 (N,) of placements; equal seeds give equal colours."""
    palette = np.array(PROTOTYPES[name].palette)
    spread = np.array([np.random.default_rng(abs(int(seed))).random(3) for seed in seeds]).reshape(-1, 3)
    colour = palette[(spread[:, 0] * len(palette)).astype(int) % len(palette)]
    return colour * (0.85 + 0.3 * spread[:, 1:2]), spread[:, 2]


def sign_pieces(sign: Placement) -> list[tuple[str, tuple[float, float, float], float]]:
    """The parts of a sign (prototype name, size m, height m above its foot): face, back and, if raised, the post."""
    _, width, height = sign.size_m
    tall = TALL * width if sign.prototype == "sign_limit" else min(width, height)
    size = (0.03, width if sign.prototype == "sign_limit" else tall, tall)
    pieces = [
        (sign.prototype, size, max(height - tall, 0.0)),
        (f"{sign.prototype}_back", size, max(height - tall, 0.0)),
    ]
    if height > tall + 0.01:
        pieces.append(("sign_post", (0.06, 0.06, height - tall / 2), 0.0))
    return pieces
