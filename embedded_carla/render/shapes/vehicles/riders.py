"""Riders of two-wheelers, in metres in the frame of the vehicle's box."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.geometry import Colour, Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.sizes import VehicleSize
from embedded_carla.render.shapes.vehicles.two_wheelers import seat_height

F64 = NDArray[np.float64]
WHITE = (1.0, 1.0, 1.0)
DARK = (0.02, 0.02, 0.022)
THIGH_M, SHIN_M, UPPER_ARM_M, FOREARM_M = 0.44, 0.45, 0.30, 0.28


def rider(size: VehicleSize, level: int) -> Shape:
    """A person seated on the vehicle, hands on the handlebar, the top of the head at the top of the vehicle's box."""
    b = ShapeBuilder()
    sides = (8, 6, 4)[level]
    pedals = size.shape == "bicycle"
    seat, top = seat_height(size) + (0.06 if pedals else 0.02), size.size[2] - 0.01
    hip = np.array([-0.22 if pedals else -0.34, 0.0, seat + 0.08])
    head_r = 0.125
    rise = top - 2 * head_r - 0.03 - hip[2]
    lean = np.arccos(np.clip(rise / 0.52, 0.35, 0.985))
    shoulder = hip + 0.52 * np.array([np.sin(lean), 0.0, np.cos(lean)])
    _torso(b, hip, shoulder, sides)
    bar = (size.axles[0] - 0.16, seat_height(size) + 0.15) if pedals else (0.20, 0.99)
    grip = size.size[1] / 2 - 0.05
    for side in (-1.0, 1.0):
        down = side < 0
        foot = (
            np.array([-0.08 + (0.10 if down else -0.10), side * 0.12, 0.16 if down else 0.42])
            if pedals
            else np.array([-0.18, side * 0.20, 0.30])
        )
        _leg(b, hip + np.array([0.0, side * 0.09, 0.0]), foot, sides)
        _arm(
            b,
            shoulder + np.array([0.0, side * 0.17, -0.03]),
            np.array([bar[0] - 0.03, side * grip, bar[1] + 0.02]),
            sides,
        )
    _head(b, shoulder + np.array([0.06, 0.0, 0.05]), top, head_r, pedals, sides)
    return b.scaled(size.size)


def _joint(start: F64, end: F64, first: float, second: float, towards: F64) -> F64:
    """Position of the joint of a limb with two bones (lengths `first`, `second`), bending towards `towards`."""
    span = end - start
    d = min(float(np.linalg.norm(span)), 0.999 * (first + second))
    along = span / np.linalg.norm(span)
    a = (first**2 - second**2 + d * d) / (2 * d)
    side = towards - along * (towards @ along)
    bend: F64 = start + along * a + side / np.linalg.norm(side) * np.sqrt(max(first**2 - a * a, 0.0))
    return bend


def _limb(
    b: ShapeBuilder, points: list[F64], radii: list[float], sides: int, parts: list[Part], colour: Colour
) -> None:
    for k in range(len(points) - 1):
        b.part = parts[k]
        b.tube(tuple(points[k]), tuple(points[k + 1]), radii[k], radii[k + 1], sides, colour, caps=True)


def _leg(b: ShapeBuilder, hip: F64, foot: F64, sides: int) -> None:
    knee = _joint(
        hip, foot + np.array([0.0, 0.0, 0.06]), THIGH_M, SHIN_M, np.array([1.0, 0.25 * np.sign(foot[1]), 0.3])
    )
    _limb(b, [hip, knee, foot + np.array([0.0, 0.0, 0.05])], [0.085, 0.060, 0.042], sides, [Part.TROUSERS] * 2, WHITE)
    b.part = Part.FIXED
    x, y, z = foot
    b.prism(
        (x - 0.08, x + 0.18),
        (y - 0.045, y + 0.045),
        z - 0.02,
        (x - 0.07, x + 0.10),
        (y - 0.04, y + 0.04),
        z + 0.07,
        DARK,
        True,
    )


def _arm(b: ShapeBuilder, shoulder: F64, hand: F64, sides: int) -> None:
    elbow = _joint(shoulder, hand, UPPER_ARM_M, FOREARM_M, np.array([-0.2, 0.25 * np.sign(hand[1]), -1.0]))
    _limb(b, [shoulder, elbow, hand], [0.055, 0.045, 0.035], sides, [Part.TINTED] * 2, (0.95, 0.95, 0.95))
    b.part = Part.SKIN
    b.blob(tuple(hand), (0.05, 0.04, 0.04), 3, max(sides - 2, 4), WHITE)


def _torso(b: ShapeBuilder, hip: F64, shoulder: F64, sides: int) -> None:
    axis = (shoulder - hip) / np.linalg.norm(shoulder - hip)
    front = np.array([axis[2], 0.0, -axis[0]])
    turn = np.linspace(0.0, 2 * np.pi, sides + 1, endpoint=False)
    loops = []
    for along, deep, wide in (
        (-0.10, 0.09, 0.13),
        (0.05, 0.12, 0.165),
        (0.22, 0.11, 0.155),
        (0.42, 0.12, 0.195),
        (0.52, 0.09, 0.185),
        (0.58, 0.05, 0.08),
    ):
        centre = hip + axis * along
        loops.append(centre + np.outer(deep * np.cos(turn), front) + np.outer(wide * np.sin(turn), (0.0, 1.0, 0.0)))
    n = len(turn)
    quads = [
        [low[k], low[(k + 1) % n], high[(k + 1) % n], high[k]]
        for low, high in itertools.pairwise(loops)
        for k in range(n)
    ]
    for loop, flip in ((loops[0], -1), (loops[-1], 1)):
        middle = loop.mean(axis=0)
        quads += [[loop[k], loop[(k + 1) % n], middle, middle][::flip] for k in range(n)]
    b.skin(np.array(quads), WHITE, Part.TINTED, 75.0)


def _head(b: ShapeBuilder, neck: F64, top: float, radius: float, pedals: bool, sides: int) -> None:
    centre = np.array([neck[0] + 0.05, 0.0, top - radius])
    b.part = Part.SKIN
    b.tube(tuple(neck - (0.03, 0.0, 0.02)), tuple(centre), 0.055, 0.05, max(sides - 2, 4), WHITE)
    if pedals:
        b.blob(tuple(centre - (0.0, 0.0, 0.02)), (0.095, 0.078, 0.115), 5, sides + 1, WHITE)
        b.part = Part.LACQUER
        b.blob(
            tuple(centre + np.array([-0.012, 0.0, 0.045])),
            (0.125, 0.095, radius - 0.045),
            4,
            sides + 1,
            (0.55, 0.56, 0.10),
        )
        return
    b.part = Part.PAINT
    b.blob(tuple(centre), (0.140, 0.118, radius), 6, sides + 1, WHITE)
    b.part = Part.GLASS
    b.prism(
        (centre[0] + 0.05, centre[0] + 0.142),
        (-0.085, 0.085),
        centre[2] - 0.035,
        (centre[0] + 0.05, centre[0] + 0.130),
        (-0.075, 0.075),
        centre[2] + 0.045,
        (0.01, 0.01, 0.012),
        True,
    )
