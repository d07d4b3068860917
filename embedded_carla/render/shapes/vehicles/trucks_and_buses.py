"""Bodies of trucks and buses in metres."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.geometry import Colour, Point, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.car_hull import DARK, GLASS, WHITE
from embedded_carla.render.shapes.vehicles.cars import AMBER, LAMP, RED
from embedded_carla.render.shapes.vehicles.sizes import MIRROR_REACH_M, VehicleSize

F64 = NDArray[np.float64]
PLATE = (0.72, 0.72, 0.68)
FIRE_RED = (0.42, 0.012, 0.012)
BOX_WHITE = (0.62, 0.62, 0.60)
ALUMINIUM = (0.45, 0.46, 0.47)


def _rounded(
    b: ShapeBuilder,
    x: tuple[float, float],
    half: float,
    z: tuple[float, float],
    colour: Colour,
    part: Part,
    round_m: float,
    rake_m: float = 0.0,
) -> None:
    """Add a box with rounded edges along x and round corners at both ends; the front leans back by `rake_m`."""
    r = round_m
    ring = [
        (half - 0.3 * r, z[0]),
        (half, z[0] + r),
        (half, z[1] - r),
        (half - 0.3 * r, z[1] - 0.3 * r),
        (half - r, z[1]),
    ]
    section = np.array(ring + [(-y, h) for y, h in reversed(ring)])
    rings = []
    middle = np.array([0.0, 0.5 * (z[0] + z[1])])
    for at, shrink in (
        (x[0], 1 - r / half),
        (x[0] + 0.3 * r, 1 - 0.3 * r / half),
        (x[0] + r, 1.0),
        (x[1] - r, 1.0),
        (x[1] - 0.3 * r, 1 - 0.3 * r / half),
        (x[1], 1 - r / half),
    ):
        s = middle + (section - middle) * (shrink, 1.0 - (1.0 - shrink) * 0.4)
        back = (
            rake_m * np.clip((s[:, 1] - middle[1]) / (z[1] - middle[1]), 0.0, 1.0) if at > 0.5 * (x[0] + x[1]) else 0.0
        )
        rings.append(np.column_stack([np.full(len(s), at) - back, s]))
    n = len(section)
    quads = [
        [rings[i][k], rings[i][(k + 1) % n], rings[i + 1][(k + 1) % n], rings[i + 1][k]]
        for i in range(len(rings) - 1)
        for k in range(n)
    ]
    for end, turn in ((rings[0], -1), (rings[-1], 1)):
        quads += [[end[k], end[k + 1], end[n - 2 - k], end[n - 1 - k]][::turn] for k in range(n // 2 - 1)]
    b.skin(np.array([np.array(q) for q in quads]), colour, part)


def _plate_on(
    b: ShapeBuilder, axis: int, at: float, u: tuple[float, float], z: tuple[float, float], colour: Colour, part: Part
) -> None:
    """Add an outward-facing rectangle on the plane x = at (axis 0, u is y) or y = at (axis 1, u is x)."""
    if axis == 0:
        corners: list[Point] = [(at, u[0], z[0]), (at, u[1], z[0]), (at, u[1], z[1]), (at, u[0], z[1])]
        outward = at > 0
    else:
        corners = [(u[1], at, z[0]), (u[0], at, z[0]), (u[0], at, z[1]), (u[1], at, z[1])]
        outward = at > 0
    b.part = part
    b.polygon(corners if outward else corners[::-1], colour)


def _on_sides(
    b: ShapeBuilder, half: float, u: tuple[float, float], z: tuple[float, float], colour: Colour, part: Part
) -> None:
    for side in (-1.0, 1.0):
        _plate_on(b, 1, side * half, u, z, colour, part)


def _end_lamps(b: ShapeBuilder, x: float, half: float, z: tuple[float, float], front: bool) -> None:
    for side in (-1.0, 1.0):
        turn = Part.INDICATOR_RIGHT if side > 0 else Part.INDICATOR_LEFT
        spans = (
            ((0.62, 0.88, Part.HEADLAMP, LAMP), (0.885, 0.96, turn, AMBER))
            if front
            else ((0.72, 0.95, Part.TAIL_LAMP, RED), (0.60, 0.715, turn, AMBER), (0.50, 0.595, Part.REVERSE_LAMP, LAMP))
        )
        for inner, outer, part, colour in spans:
            ys = sorted((side * inner * half, side * outer * half))
            _plate_on(b, 0, x, (ys[0], ys[1]), z, colour, part)
    b.part = Part.FIXED


def _mirrors(b: ShapeBuilder, x: float, half: float, z: float, reach: float = MIRROR_REACH_M) -> None:
    """Add mirrors whose outer edges are `reach` beyond the body; far-reaching ones get long arms."""
    b.part = Part.FIXED
    glass = max(half - 0.01, half + reach - 0.40)
    for side in (-1.0, 1.0):
        ys = sorted((side * glass, side * (half + reach)))
        b.box((x - 0.06, ys[0], z - 0.28), (x + 0.04, ys[1], z + 0.28), DARK, True)
        if glass > half:
            ys = sorted((side * (half - 0.02), side * glass))
            b.box((x - 0.02, ys[0], z + 0.18), (x + 0.02, ys[1], z + 0.24), DARK, True)


def cab_side(size: VehicleSize) -> tuple[tuple[float, float], F64]:
    """(x of the front edge, x of the rear edge) of a truck's doors, and their section: (5, 2) points (y, z)."""
    length, width, height = size.size
    nose, half, cab = length / 2 - 0.03, width / 2 - 0.12, min(2.3, 0.30 * length)
    top = (0.74 if "firetruck" in size.model else 0.80) * height
    low, belt = max(0.6, 2.0 * size.wheel_radius), 0.30 * (top - 0.35) + 0.9
    heights = (low, 0.5 * (low + belt), belt - 0.1, belt, top - 0.25)
    return (nose - 0.20, nose - 0.72 * cab), np.array([(half, z) for z in heights])


def truck(b: ShapeBuilder, size: VehicleSize, level: int) -> None:
    """A cab over the engine, a chassis and a box; a fire engine if the model is one."""
    length, width, height = size.size
    nose, half = length / 2 - 0.03, width / 2 - 0.12
    fire = "firetruck" in size.model
    cab = min(2.3, 0.30 * length)
    cab_z = (0.35, (0.80 if not fire else 0.74) * height)
    colour, paint = (FIRE_RED, Part.LACQUER) if fire else (WHITE, Part.PAINT)
    _rounded(b, (nose - cab, nose), half, cab_z, colour, paint, 0.14, 0.12)
    front = nose + 0.012
    glass_z = (0.30 * (cab_z[1] - cab_z[0]) + 0.9, cab_z[1] - 0.30)
    slope = [
        (front - 0.01, -0.88 * half, glass_z[0]),
        (front - 0.01, 0.88 * half, glass_z[0]),
        (front - 0.105, 0.86 * half, glass_z[1]),
        (front - 0.105, -0.86 * half, glass_z[1]),
    ]
    b.part = Part.GLASS
    b.polygon(slope, GLASS)
    _on_sides(b, half + 0.006, (nose - 0.72 * cab, nose - 0.22), glass_z, GLASS, Part.GLASS)
    _plate_on(b, 0, front, (-0.62 * half, 0.62 * half), (0.75, glass_z[0] - 0.12), DARK, Part.FIXED)
    _plate_on(b, 0, front, (-half * 0.92, half * 0.92), (0.36, 0.56), DARK, Part.FIXED)
    _end_lamps(b, front + 0.004, half, (0.58, 0.74), True)
    _plate_on(b, 0, front + 0.006, (-0.26, 0.26), (0.40, 0.51), PLATE, Part.FIXED)
    b.part = Part.FIXED
    b.box((-length / 2 + 0.06, -0.40 * width, 0.42), (nose - cab, 0.40 * width, 0.95), DARK, True)
    tail = -length / 2 + 0.03
    box_x = (tail, nose - cab - (0.12 if not fire else 0.0))
    if fire:
        _fire_body(b, box_x, half, (0.55, 0.93 * height), level)
        _beacons(b, nose - 0.5 * cab, half, (cab_z[1], cab_z[1] + 0.18))
        b.part = Part.CHROME
        b.box((tail + 0.1, -0.35, 0.94 * height), (nose - 0.3, 0.35, height - 0.01), ALUMINIUM, True)
    else:
        colour, part = (BOX_WHITE, Part.FIXED) if "cola" not in size.model else ((0.50, 0.012, 0.015), Part.LACQUER)
        b.part = part
        b.box((box_x[0], -width / 2 + 0.02, 0.95), (box_x[1], width / 2 - 0.02, height - 0.01), colour, True)
        if "cola" in size.model:
            _on_sides(b, width / 2 - 0.012, (box_x[0] + 0.5, box_x[1] - 0.5), (1.35, 1.75), (0.7, 0.7, 0.7), Part.FIXED)
        elif level == 0:
            _box_edges(b, box_x, width / 2 - 0.02, (0.95, height - 0.01))
    _end_lamps(b, tail - 0.008 if not fire else tail - 0.012, half, (0.62, 0.78) if not fire else (0.75, 0.95), False)
    b.part = Part.FIXED
    b.box((tail + 0.01, -half, 0.45), (tail + 0.14, half, 0.62), DARK, True)
    _plate_on(b, 0, tail - 0.006, (-0.26, 0.26), (0.64, 0.75), PLATE, Part.FIXED)
    if level == 0:
        _mirrors(b, nose - 0.15, half + 0.01, 0.62 * height)
        _on_sides(b, half + 0.008, (nose - 0.70 * cab, nose - 0.69 * cab), (0.6, glass_z[0]), DARK, Part.FIXED)


def _box_edges(b: ShapeBuilder, x: tuple[float, float], half: float, z: tuple[float, float]) -> None:
    """Aluminium edges of a box body, its doors, and ribs along the sides."""
    for at in (x[0], x[1] - 0.08):
        _on_sides(b, half + 0.006, (at, at + 0.08), z, ALUMINIUM, Part.FIXED)
    _on_sides(b, half + 0.006, (x[0], x[1]), (z[0], z[0] + 0.10), ALUMINIUM, Part.FIXED)
    _on_sides(b, half + 0.006, (x[0], x[1]), (z[1] - 0.10, z[1]), ALUMINIUM, Part.FIXED)
    for y in (-half + 0.05, -0.012, half - 0.05):
        _plate_on(b, 0, x[0] - 0.006, (y - 0.02, y + 0.02), (z[0] + 0.05, z[1] - 0.05), (0.25, 0.25, 0.26), Part.FIXED)
    for y in (-0.3 * half, 0.3 * half):
        _plate_on(b, 0, x[0] - 0.010, (y - 0.015, y + 0.015), (z[0] + 0.1, z[1] - 0.1), ALUMINIUM, Part.FIXED)


def _fire_body(b: ShapeBuilder, x: tuple[float, float], half: float, z: tuple[float, float], level: int) -> None:
    _rounded(b, x, half + 0.06, z, FIRE_RED, Part.LACQUER, 0.06)
    step = (x[1] - x[0]) / 4
    for k in range(4):
        u = (x[0] + k * step + 0.10, x[0] + (k + 1) * step - 0.06)
        _on_sides(b, half + 0.066, u, (z[0] + 0.55, z[1] - 0.30), ALUMINIUM, Part.FIXED)
        if level == 0:
            for n in range(1, 6):
                h = z[0] + 0.55 + (z[1] - 0.85 - z[0]) * n / 6
                _on_sides(b, half + 0.070, u, (h, h + 0.02), (0.25, 0.25, 0.26), Part.FIXED)
    _on_sides(b, half + 0.068, x, (z[0] + 0.30, z[0] + 0.46), (0.80, 0.78, 0.20), Part.FIXED)
    _plate_on(b, 0, x[0] - 0.008, (-0.8 * half, 0.8 * half), (z[0] + 0.7, z[1] - 0.4), ALUMINIUM, Part.FIXED)


def _beacons(b: ShapeBuilder, x: float, half: float, z: tuple[float, float]) -> None:
    for side, part, colour in (
        (-1.0, Part.BEACON_RED, (0.55, 0.02, 0.02)),
        (1.0, Part.BEACON_BLUE, (0.02, 0.06, 0.60)),
    ):
        ys = sorted((side * 0.2 * half, side * 0.85 * half))
        b.part = part
        b.prism((x - 0.18, x + 0.18), ys, z[0], (x - 0.13, x + 0.13), ys, z[1], colour, True)
    b.part = Part.FIXED


def bus(b: ShapeBuilder, size: VehicleSize, level: int) -> None:
    """A one-box body with a band of windows, doors on the right, and a destination board."""
    length, width, height = size.size
    nose, half = length / 2 - 0.03, width / 2 - size.mirror_reach
    _rounded(b, (-nose, nose), half, (0.30, height - 0.01), WHITE, Part.PAINT, 0.20, 0.10)
    low, high = 0.40 * height, 0.80 * height
    count = max(4, round(length / 1.5)) if level == 0 else 1
    x0, x1 = -nose + 0.35, nose - 0.25
    for side in (-1.0, 1.0):
        for k in range(count):
            a, c = x0 + (x1 - x0) * k / count, x0 + (x1 - x0) * (k + 1) / count
            _plate_on(b, 1, side * (half + 0.008), (a + 0.03, c - 0.03), (low, high), GLASS, Part.GLASS)
    for x in (nose - 0.95, -0.05 * length) if level < 2 else ():
        _plate_on(b, 1, half + 0.014, (x - 0.55, x + 0.55), (0.38, high + 0.05), DARK, Part.LACQUER)
        for k in (-1, 1):
            u = (x + 0.26 * k - 0.22, x + 0.26 * k + 0.22)
            _plate_on(b, 1, half + 0.020, u, (0.50, high), GLASS, Part.GLASS)
    front = nose + 0.012
    b.part = Part.GLASS
    b.polygon(
        [
            (front, -0.86 * half, 0.36 * height),
            (front, 0.86 * half, 0.36 * height),
            (front - 0.075, 0.84 * half, 0.82 * height),
            (front - 0.075, -0.84 * half, 0.82 * height),
        ],
        GLASS,
    )
    _plate_on(
        b, 0, front - 0.06, (-0.6 * half, 0.6 * half), (0.85 * height, 0.95 * height), (0.006, 0.006, 0.006), Part.FIXED
    )
    if level == 0:
        for k, y in enumerate(np.linspace(-0.45, 0.45, 9) * half):
            _plate_on(
                b,
                0,
                front - 0.055,
                (y - 0.05, y + 0.03 + 0.03 * (k % 2)),
                (0.875 * height, 0.925 * height),
                (0.95, 0.55, 0.05),
                Part.STREET_LAMP,
            )
    _mirrors(b, nose - 0.1, half, 0.66 * height, size.mirror_reach)
    _plate_on(b, 0, front, (-0.92 * half, 0.92 * half), (0.33, 0.50), DARK, Part.FIXED)
    _end_lamps(b, front + 0.004, half * 0.98, (0.58, 0.76), True)
    _plate_on(b, 0, front + 0.004, (-0.26, 0.26), (0.54, 0.65), PLATE, Part.FIXED)
    rear = -nose - 0.012
    _plate_on(b, 0, rear, (-0.76 * half, 0.76 * half), (0.50 * height, 0.80 * height), GLASS, Part.GLASS)
    _plate_on(b, 0, rear, (-0.60 * half, 0.60 * half), (0.55, 0.95), (0.08, 0.08, 0.085), Part.FIXED)
    _end_lamps(b, rear - 0.004, half * 0.98, (0.98, 1.22), False)
    _plate_on(b, 0, rear - 0.004, (-0.26, 0.26), (0.38, 0.49), PLATE, Part.FIXED)
    _on_sides(b, half + 0.004, (-nose + 0.1, nose - 0.1), (0.30, 0.40), DARK, Part.FIXED)
    if level < 2:
        for axle in size.axles:
            _arch(b, axle, size.wheel_radius, half + 0.010)
        b.part = Part.FIXED
        b.box((-0.1 * length, -0.6 * half, height - 0.10), (0.2 * length, 0.6 * half, height), (0.5, 0.5, 0.5))


def _arch(b: ShapeBuilder, x: float, radius: float, half: float) -> None:
    """A dark half disc around a wheel on both sides."""
    turn = np.linspace(0.0, np.pi, 9)
    b.part = Part.FIXED
    for side in (-1.0, 1.0):
        arc: Sequence[Point] = [
            (x + 1.2 * radius * np.cos(a), side * half, max(0.30, radius + 1.2 * radius * np.sin(a))) for a in turn
        ]
        b.polygon(arc[::-1] if side > 0 else arc, DARK)


LARGE: dict[str, Callable[[ShapeBuilder, VehicleSize, int], None]] = {"truck": truck, "bus": bus}
