"""Walkers' outfits, and the joint heights and smooth bodies from which their shapes are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from embedded_carla.render.shapes.geometry import Colour, ShapeBuilder

WHITE = (1.0, 1.0, 1.0)
SHOES = (0.03, 0.028, 0.026)
HIP, KNEE, SHOULDER, ELBOW = 0.515, 0.285, 0.815, 0.645  # heights of the joints, as in object_vert.glsl
Ring = tuple[float, float, float, float]  # z, half depth, half breadth, x of the centre


@dataclass(frozen=True, slots=True)
class Outfit:
    """A person's outfit: one of the variants that the seed selects."""

    legs: str = "trousers"  # "trousers" | "skirt" | "shorts"
    sleeves: str = "long"  # "long" | "short"
    coat: float = 0.0  # height of a coat's hem; 0: no coat
    hair: str = "short"  # "short" | "long" | "bald" | "cap" | "hood"
    bag: str = ""  # "" | "backpack" | "handbag"
    girth: float = 1.0
    head: float = 1.0  # relative size of the head; larger for children


ADULTS: tuple[Outfit, ...] = (
    Outfit(),
    Outfit(sleeves="short", hair="cap"),
    Outfit(legs="skirt", hair="long", bag="handbag", girth=0.92),
    Outfit(coat=0.30, hair="short", girth=1.08),
    Outfit(hair="long", bag="backpack", girth=0.94),
    Outfit(legs="shorts", sleeves="short", girth=1.05),
    Outfit(hair="hood", bag="backpack"),
    Outfit(hair="bald", girth=1.16),
    Outfit(coat=0.38, hair="long", girth=0.98),
    Outfit(legs="skirt", sleeves="short", hair="long", girth=0.96),
)
CHILDREN: tuple[Outfit, ...] = (
    Outfit(bag="backpack", head=1.28, girth=0.98),
    Outfit(legs="shorts", sleeves="short", head=1.3, hair="cap"),
    Outfit(legs="skirt", hair="long", head=1.28, sleeves="short"),
    Outfit(hair="hood", head=1.25, girth=1.05),
)
CHILD_BELOW_M = 1.4


def outfit(index: int, is_child: bool) -> Outfit:
    """The outfit for a number, which may be any integer."""
    choice = CHILDREN if is_child else ADULTS
    return choice[index % len(choice)]


def tower(
    b: ShapeBuilder, rings: Sequence[Ring], sides: int, colour: Colour, y: float = 0.0, *, closed: bool = True
) -> None:
    """Add a smooth upright body with elliptical cross-sections, `closed` at both ends or open."""
    turn = np.linspace(0.0, 2 * np.pi, sides, endpoint=False)
    loops = [
        np.column_stack([x + rx * np.cos(turn), y + ry * np.sin(turn), np.full(sides, z)]) for z, rx, ry, x in rings
    ]
    quads = [
        [low[k], low[(k + 1) % sides], high[(k + 1) % sides], high[k]]
        for low, high in pairwise(loops)
        for k in range(sides)
    ]
    for loop, flip in ((loops[0], -1), (loops[-1], 1)) if closed else ():
        middle = loop.mean(axis=0)
        quads += [[loop[k], loop[(k + 1) % sides], middle, middle][::flip] for k in range(sides)]
    b.skin(np.array(quads), colour, b.part, 75.0)
