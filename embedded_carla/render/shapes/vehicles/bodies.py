"""Bodies of vehicles as unit shapes (x, y in -0.5..0.5, z in 0..1) that are scaled to the actor's box.

Three levels of detail: 0 near (its wheels are separate instances, rotated and steered), 1 middle, 2 far.
"""

from __future__ import annotations

from embedded_carla.render.shapes.geometry import Shape, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.car_hull import DARK, GLASS, WHITE, CarFrame
from embedded_carla.render.shapes.vehicles.car_styles import style_of
from embedded_carla.render.shapes.vehicles.cars import AMBER, LAMP, RED, car
from embedded_carla.render.shapes.vehicles.sizes import TWO_WHEELED, VehicleSize, vehicle_size
from embedded_carla.render.shapes.vehicles.trucks_and_buses import LARGE
from embedded_carla.render.shapes.vehicles.two_wheelers import bicycle, motorcycle
from embedded_carla.render.shapes.vehicles.wheels import plain_wheels

FAR = 2


def body(shape: str, model: str, level: int) -> Shape:
    """The body of a model, or of its shape if the model is unknown."""
    b = ShapeBuilder()
    size = vehicle_size(shape, model)
    if size.shape in TWO_WHEELED:
        (motorcycle if size.shape == "motorcycle" else bicycle)(b, size, level)
    elif size.shape in LARGE:
        LARGE[size.shape](b, size, level)
    elif level == FAR:
        _far_car(b, car_frame(size))
    else:
        car(b, car_frame(size), level == 0)
    if level > 0 and size.shape not in TWO_WHEELED:
        plain_wheels(b, size.axles, size.wheel_radius, size.wheel_width, wheel_outer(size), 12 if level == 1 else 6)
    return b.scaled(size.size)


def car_frame(size: VehicleSize) -> CarFrame:
    """The hull dimensions of a car."""
    style = style_of(size.shape, size.model)
    length, width, height = size.size
    return CarFrame(
        style, length - 0.05, 0.5 * width * style.body_width, height, (size.axles[0], size.axles[1]), size.wheel_radius
    )


def wheel_outer(size: VehicleSize) -> float:
    """Half the distance between the outer faces of the wheels, m."""
    if size.shape in LARGE:
        return size.size[1] / 2 - size.mirror_reach + 0.08
    return 0.5 * size.size[1] * style_of(size.shape, size.model).body_width - 0.012


def _far_car(b: ShapeBuilder, f: CarFrame) -> None:
    """A low-polygon car hull with windows and lamps in their places."""
    s, h = f.style, f.height
    xs = [
        f.tail,
        f.x(-0.465),
        f.x(s.deck[0]),
        f.x(s.roof_rear),
        f.x(s.roof_front),
        f.x(s.cowl[0]),
        f.x(s.hood_x),
        f.nose,
    ]
    rings = []
    for x in xs:
        ring = f.half_ring(x)
        low = s.clearance * h
        half = [
            (0.95 * f.width(x), low),
            (0.98 * f.width(x), 0.5 * (low + ring[2, 1])),
            *map(tuple, ring[3:5]),
            (0.0, float(ring[6, 1])),
        ]
        rings.append([(x, y, z) for y, z in half] + [(x, -y, z) for y, z in half[-2::-1]])
    quads, colours, parts = [], [], []
    for i in range(len(xs) - 1):
        share = 0.5 * (xs[i] + xs[i + 1]) / f.length
        screen = s.roof_front < share < s.cowl[0] or (s.deck[0] < share < s.roof_rear and not s.closed_sides)
        pane = s.deck[0] < share < s.cowl[0] and not (s.closed_sides and share < s.roof_front)
        for k in range(8):
            row = min(k, 7 - k)
            is_glass = (row == 3 and screen) or (row == 2 and pane)
            quads.append([rings[i][k], rings[i][k + 1], rings[i + 1][k + 1], rings[i + 1][k]])
            colours.append(GLASS if is_glass else WHITE if s.own is None else s.own)
            parts.append(Part.GLASS if is_glass else Part.PAINT if s.own is None else Part.LACQUER)
    for last, turn in ((rings[0], -1), (rings[-1], 1)):
        for k in range(4):
            quads.append([last[k], last[k + 1], last[7 - k], last[8 - k]][::turn])
            colours.append(DARK if k == 0 else WHITE if s.own is None else s.own)
            parts.append(Part.FIXED if k == 0 else Part.PAINT if s.own is None else Part.LACQUER)
    b.skin(quads, colours, parts)
    for side in (-1.0, 1.0):
        turn_part = Part.INDICATOR_RIGHT if side > 0 else Part.INDICATOR_LEFT
        for end, part, colour, (z0, z1), inner in (
            (1.0, Part.HEADLAMP, LAMP, s.lamp_front, s.lamp_front_in),
            (-1.0, Part.TAIL_LAMP, RED, s.lamp_rear, s.lamp_in),
            (1.0, turn_part, AMBER, (s.lamp_front[0] - 0.05, s.lamp_front[0]), 0.8),
            (-1.0, turn_part, AMBER, (s.lamp_rear[0] - 0.05, s.lamp_rear[0]), 0.8),
        ):
            ys = sorted((side * inner * 0.8 * f.half, side * 0.95 * f.half))
            x = end * (f.length / 2 + 0.012)
            b.part = part
            corners = [(x, ys[0], z0 * h), (x, ys[1], z0 * h), (x, ys[1], z1 * h), (x, ys[0], z1 * h)]
            b.polygon(corners if end > 0 else corners[::-1], colour)
