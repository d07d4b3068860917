"""Bodies of motorcycles and bicycles in metres; their riders are separate shapes."""

from __future__ import annotations

from math import cos, pi, sin

from embedded_carla.render.shapes.geometry import ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.sizes import VehicleSize
from embedded_carla.render.shapes.vehicles.wheels import TYRE

WHITE = (1.0, 1.0, 1.0)
RED = (0.50, 0.012, 0.012)
AMBER = (0.80, 0.26, 0.02)
LAMP = (0.72, 0.75, 0.78)
DARK = (0.03, 0.03, 0.032)
STEEL = (0.38, 0.39, 0.41)


def seat_height(size: VehicleSize) -> float:
    """Height of the saddle, m."""
    return 0.74 if size.shape == "motorcycle" else 0.50 * size.size[2]


def motorcycle(b: ShapeBuilder, size: VehicleSize, level: int) -> None:
    """Frame, tank, seat, engine and fork; by model a fairing, a chopper's fork or a scooter's shield."""
    scooter, chopper = "vespa" in size.model, "harley" in size.model
    sides = (8, 5, 4)[level]
    b.part = Part.PAINT
    if scooter:
        _scooter_body(b)
    else:
        _motorcycle_body(b, size, chopper)
    _saddle(b, seat_height(size))
    _fork_and_bar(b, size, chopper, sides)
    front, rear = size.axles[0], size.axles[-1]
    nose = 0.36 if scooter else max(front - 0.10, 0.36) if not chopper else 0.34
    _motorcycle_lamps(b, nose, rear - 0.17, size.wheel_radius)
    if level > 0:
        _still_wheels(b, size)


def _scooter_body(b: ShapeBuilder) -> None:
    b.prism((-0.75, -0.10), (-0.18, 0.18), 0.28, (-0.65, -0.05), (-0.14, 0.14), 0.68, WHITE, True)
    b.prism((0.28, 0.38), (-0.20, 0.20), 0.30, (0.22, 0.30), (-0.17, 0.17), 0.92, WHITE, True)
    b.box((-0.15, -0.16, 0.24), (0.34, 0.16, 0.31), WHITE, True)


def _motorcycle_body(b: ShapeBuilder, size: VehicleSize, chopper: bool) -> None:
    """Tank, tail, engine, and a fairing with its screen (not on a chopper)."""
    front, rear, r = size.axles[0], size.axles[-1], size.wheel_radius
    tail, tail_top = (rear - 0.16, rear + 0.26), (rear - 0.10, rear + 0.22)
    b.prism((-0.10, 0.34), (-0.15, 0.15), 0.62, (-0.02, 0.26), (-0.09, 0.09), 0.86, WHITE, True)
    b.prism(tail, (-0.10, 0.10), r + 0.28, tail_top, (-0.08, 0.08), r + 0.40, WHITE, True)
    if not chopper:
        b.prism((0.18, front - 0.02), (-0.20, 0.20), 0.42, (0.22, front - 0.10), (-0.14, 0.14), 0.95, WHITE, True)
        b.part = Part.GLASS
        b.prism((0.26, front - 0.14), (-0.13, 0.13), 0.95, (0.22, 0.34), (-0.10, 0.10), 1.08, (0.05, 0.055, 0.06))
    b.part = Part.CHROME if chopper else Part.FIXED
    metal = (0.20, 0.20, 0.21) if chopper else DARK
    b.prism((-0.26, 0.26), (-0.16, 0.16), 0.24, (-0.18, 0.22), (-0.13, 0.13), 0.60, metal, True)


def _saddle(b: ShapeBuilder, seat: float) -> None:
    b.part = Part.FIXED
    black = (0.012, 0.012, 0.013)
    b.prism((-0.66, -0.04), (-0.14, 0.14), seat - 0.08, (-0.70, -0.06), (-0.11, 0.11), seat + 0.02, black, True)


def _fork_and_bar(b: ShapeBuilder, size: VehicleSize, chopper: bool, sides: int) -> None:
    """Fork, swing arm and exhaust (tubes with `sides` sides), handlebar, front mudguard."""
    front, rear, r = size.axles[0], size.axles[-1], size.wheel_radius
    b.part = Part.CHROME
    head = (0.28 if not chopper else 0.20, 0.86)
    for y in (-0.09, 0.09):
        b.tube((head[0], y, head[1]), (front, y, r), 0.024, 0.024, sides, STEEL)
        b.tube((-0.05, y, 0.36), (rear, y, r), 0.026, 0.022, sides, STEEL)
    b.tube((-0.10, 0.17, 0.28), (rear - 0.15, 0.19, 0.36), 0.04, 0.05, sides, STEEL, caps=True)
    grip = size.size[1] / 2 - 0.01
    b.part = Part.FIXED
    b.tube((0.22, -grip, 0.98), (0.22, grip, 0.98), 0.018, 0.018, sides, DARK, caps=True)
    b.box((front - 0.24, -0.06, 2 * r + 0.01), (front + 0.20, 0.06, 2 * r + 0.05), DARK, True)


def _motorcycle_lamps(b: ShapeBuilder, nose: float, back: float, r: float) -> None:
    """Lamps at x = `nose` and x = `back`, and the number plate; `r` is the wheel radius."""
    b.part = Part.HEADLAMP
    b.box((nose, -0.085, 0.76), (nose + 0.05, 0.085, 0.90), LAMP, True)
    b.part = Part.TAIL_LAMP
    b.box((back - 0.03, -0.07, r + 0.29), (back + 0.03, 0.07, r + 0.37), RED, True)
    for side, part in ((-1.0, Part.INDICATOR_LEFT), (1.0, Part.INDICATOR_RIGHT)):
        b.part = part
        for x, z in ((nose, 0.74), (back, r + 0.30)):
            ys = sorted((side * 0.13, side * 0.19))
            b.box((x - 0.03, ys[0], z - 0.025), (x + 0.03, ys[1], z + 0.025), AMBER, True)
    b.part = Part.FIXED
    b.box((back - 0.04, -0.09, r + 0.08), (back - 0.03, 0.09, r + 0.22), (0.7, 0.7, 0.66), True)


def bicycle(b: ShapeBuilder, size: VehicleSize, level: int) -> None:
    """A diamond frame, or for a city bicycle a step-through frame with a mudguard and carrier."""
    front, rear = size.axles[0], size.axles[-1]
    r = size.wheel_radius
    seat, crank = seat_height(size), (-0.08, 0.0, 0.29)
    city = "omafiets" in size.model
    sides = (6, 4, 3)[level]
    top_front, top_rear = (front - 0.14, 0.0, seat + 0.02), (-0.20, 0.0, seat - 0.12)
    b.part = Part.PAINT
    low = (-0.16, 0.0, 0.52) if city else top_rear
    for start, end in (((rear, 0.0, r), crank), (crank, (-0.23, 0.0, seat)), (crank, (front - 0.12, 0.0, seat - 0.12)),
                       (low, top_front), (top_front, (front, 0.0, r)), ((rear, 0.0, r), top_rear)):  # fmt: skip
        b.tube(start, end, 0.019, 0.019, sides, WHITE)
    b.part = Part.FIXED
    grip = size.size[1] / 2 - 0.01
    bar = seat + 0.13
    b.tube((top_front[0], 0.0, seat), (top_front[0] - 0.02, 0.0, bar), 0.016, 0.016, sides, DARK)
    b.tube((top_front[0] - 0.02, -grip, bar), (top_front[0] - 0.02, grip, bar), 0.016, 0.016, sides, DARK, caps=True)
    b.prism((-0.36, -0.10), (-0.08, 0.08), seat, (-0.34, -0.12), (-0.07, 0.07), seat + 0.06, DARK, True)
    b.tube((-0.08, -0.10, 0.29), (-0.08, 0.10, 0.29), 0.06, 0.06, 8, STEEL, caps=True)
    if city and level < 2:
        b.box((rear - 0.35, -0.05, 2 * r + 0.02), (rear + 0.25, 0.05, 2 * r + 0.05), DARK, True)
        b.box((rear - 0.22, -0.12, 2 * r + 0.10), (rear + 0.20, 0.12, 2 * r + 0.13), STEEL, True)
    tail = -size.size[0] / 2 + 0.008
    b.box((tail, -0.025, 2 * r + 0.02), (tail + 0.03, 0.025, 2 * r + 0.09), RED, True)
    if level > 0:
        _still_wheels(b, size)


def _still_wheels(b: ShapeBuilder, size: VehicleSize) -> None:
    """Low-detail tyres as flat rings with eight segments."""
    w, r = size.wheel_width / 2, size.wheel_radius
    b.part = Part.FIXED
    for x in size.axles:
        for k in range(8):
            a0, a1 = 2 * pi * k / 8, 2 * pi * (k + 1) / 8
            outer = [(x + r * cos(a), r + r * sin(a)) for a in (a0, a1)]
            inner = [(x + 0.78 * r * cos(a), r + 0.78 * r * sin(a)) for a in (a0, a1)]
            for y, turn in ((w, -1), (-w, 1)):
                face = [(inner[0][0], y, inner[0][1]), (outer[0][0], y, outer[0][1]), (outer[1][0], y, outer[1][1]),
                        (inner[1][0], y, inner[1][1])]  # fmt: skip
                b.polygon(face[::turn], TYRE)
            b.polygon([(outer[0][0], -w, outer[0][1]), (outer[0][0], w, outer[0][1]), (outer[1][0], w, outer[1][1]),
                       (outer[1][0], -w, outer[1][1])], TYRE)  # fmt: skip
