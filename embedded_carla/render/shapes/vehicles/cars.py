"""Bodies of cars in metres: hull, side glass, lamps, grille, plates, mirrors, door gaps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from embedded_carla.render.shapes.geometry import Colour, Point, ShapeBuilder
from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.car_hull import DARK, GLASS, WHITE, CarFrame, hull

RED = (0.50, 0.012, 0.012)
AMBER = (0.80, 0.26, 0.02)
LAMP = (0.72, 0.75, 0.78)
CHROME = (0.75, 0.76, 0.78)
PLATE = (0.72, 0.72, 0.68)
TRIM = (0.010, 0.010, 0.011)


def car(b: ShapeBuilder, frame: CarFrame, detailed: bool) -> None:
    """Add a car's body without wheels to `b`."""
    b.skin(*hull(frame, detailed))
    _side_glass(b, frame, detailed)
    _lamps(b, frame)
    _face(b, frame, detailed)
    if frame.style.bed:
        _bed(b, frame)
    if frame.style.light_bar:
        _light_bar(b, frame)
    if frame.style.taxi:
        _box(b, (0.0, 0.0, frame.height * 0.955), (0.16, 0.36, 0.045 * frame.height), (0.85, 0.72, 0.12), Part.LACQUER)
    if detailed:
        _mirrors(b, frame)
        _door_lines(b, frame)
        _extras(b, frame)
    b.part = Part.FIXED


def _box(b: ShapeBuilder, centre: Point, half: Point, colour: Colour, part: Part) -> None:
    b.part = part
    low = [c - h for c, h in zip(centre, half, strict=True)]
    high = [c + h for c, h in zip(centre, half, strict=True)]
    b.box(low, high, colour, bottom=True)


def _pane(b: ShapeBuilder, corners: Sequence[Point], out: float, colour: Colour, part: Part) -> None:
    """Add a polygon offset by `out` metres along its normal."""
    p = np.asarray(corners, dtype=float)
    normal = np.cross(p[1] - p[0], p[2] - p[0])
    length = np.linalg.norm(normal)
    if length < 1e-9:
        return
    b.part = part
    b.polygon([tuple(c) for c in p + normal / length * out], colour)


def _mirrored(corners: Sequence[Point], side: float) -> list[Point]:
    """The corners of a face on the right (side 1), or mirrored to the left (side -1); the face points outwards."""
    flipped: list[Point] = [(c[0], c[1] * side, c[2]) for c in corners]
    return flipped if side > 0 else flipped[::-1]


def _side_glass(b: ShapeBuilder, f: CarFrame, detailed: bool) -> None:
    """The band of windows between belt and roof on each side, divided into panes by pillars."""
    s, height = f.style, f.height
    foot = (f.x(s.deck[0]) + 0.03 * f.length, f.x(s.cowl[0]) - 0.035 * f.length)
    head = (f.x(s.roof_rear) + 0.012 * f.length, f.x(s.roof_front) - 0.008 * f.length)

    def at(share: float, up: float) -> Point:
        low = foot[0] + (foot[1] - foot[0]) * share
        high = head[0] + (head[1] - head[0]) * share
        x = low + (high - low) * up
        edge = f.half_ring(0.5 * (head[0] + head[1]))[3:5]
        z0, z1 = f.belt(low) + 0.012 * height, edge[1, 1] - 0.005 * height
        y0, y1 = f.half_ring(x)[3, 0] * 1.0, edge[1, 0]
        return (x, y0 + (y1 - y0) * up, z0 + (z1 - z0) * up)

    panes = [p for p in s.panes if not s.closed_sides] or [0.66, 0.98]
    for side in (-1.0, 1.0):
        if detailed:
            frame = [
                at(panes[-1] + 0.012, -0.03),
                at(panes[0] - 0.012, -0.03),
                at(panes[0] - 0.01, 1.03),
                at(panes[-1] + 0.01, 1.03),
            ]
            _pane(b, _mirrored(frame, side), 0.010, TRIM, Part.LACQUER)
        cuts = panes if detailed else [panes[0], panes[-1]]
        for rear, front in itertools.pairwise(cuts):
            gap = 0.012 if detailed else 0.0
            corners = [at(front - gap, 0.0), at(rear + gap, 0.0), at(rear + gap, 1.0), at(front - gap, 1.0)]
            _pane(b, _mirrored(corners, side), 0.016, GLASS, Part.GLASS)


def _corner_lamp(
    b: ShapeBuilder,
    f: CarFrame,
    end: float,
    side: float,
    low: float,
    high: float,
    reach: float,
    colour: Colour,
    part: Part,
) -> None:
    """A lamp's glass around the corner at `end` (1 nose, -1 tail), reaching `reach` m along the side."""
    shares = [s for s in (0.5, 0.49, 0.485, 0.465, 0.44) if (0.5 - s) * f.length < reach]
    xs = [s * f.length for s in shares] + [f.length / 2 - reach]
    for a, c in itertools.pairwise(xs):
        corners = [(x * end, f.side(x * end, z) + 0.007, z) for x, z in ((a, low), (c, low), (c, high), (a, high))]
        _pane(b, _mirrored(corners, side * end), 0.006, colour, part)


def _end_lamp(
    b: ShapeBuilder,
    f: CarFrame,
    end: float,
    side: float,
    y: tuple[float, float],
    z: tuple[float, float],
    colour: Colour,
    part: Part,
    out: float = 0.010,
) -> None:
    """A rectangle on the nose (end 1) or tail (-1); `y` in fractions of the end's half width, `z` heights in metres."""
    x = end * f.length / 2
    w = [f.side(x, 0.5 * (z[0] + z[1])) * share * side for share in y]
    corners: list[Point] = [(x, min(w), z[0]), (x, max(w), z[0]), (x, max(w), z[1]), (x, min(w), z[1])]
    _pane(b, corners if end > 0 else corners[::-1], out, colour, part)


def _lamps(b: ShapeBuilder, f: CarFrame) -> None:
    s, h = f.style, f.height
    front, rear = (s.lamp_front[0] * h, s.lamp_front[1] * h), (s.lamp_rear[0] * h, s.lamp_rear[1] * h)
    third = (rear[1] - rear[0]) / 3
    for side in (-1.0, 1.0):
        turn = Part.INDICATOR_RIGHT if side > 0 else Part.INDICATOR_LEFT
        if s.round_lamps:
            _round_lamp(b, f, side)
            _corner_lamp(b, f, 1.0, side, front[0], front[0] + 0.05 * h, 0.030 * f.length, AMBER, turn)
        else:
            _end_lamp(b, f, 1.0, side, (s.lamp_front_in, 1.0), front, LAMP, Part.HEADLAMP)
            _corner_lamp(b, f, 1.0, side, *front, 0.036 * f.length, LAMP, Part.HEADLAMP)
            low = front[0] - 0.012 * h
            _corner_lamp(b, f, 1.0, side, low - 0.022 * h, low, 0.05 * f.length, AMBER, turn)
        _end_lamp(b, f, -1.0, side, (s.lamp_in, 1.0), rear, RED, Part.TAIL_LAMP)
        _corner_lamp(b, f, -1.0, side, *rear, 0.05 * f.length, RED, Part.TAIL_LAMP)
        inner = max(s.lamp_in, 0.62)
        if rear[1] - rear[0] > 0.12 * h:  # upright lamps: amber on the red's lower third, white below
            _end_lamp(b, f, -1.0, side, (inner, 1.0), (rear[0] + 0.1 * third, rear[0] + third), AMBER, turn, 0.016)
            _end_lamp(b, f, -1.0, side, (inner, 1.0), (rear[0] - 0.7 * third, rear[0]), LAMP, Part.REVERSE_LAMP, 0.012)
        else:
            _end_lamp(b, f, -1.0, side, (0.86, 1.0), (rear[0], rear[0] + 1.3 * third), AMBER, turn, 0.016)
            _end_lamp(
                b,
                f,
                -1.0,
                side,
                (inner, inner + 0.14),
                (rear[0], rear[0] + 1.1 * third),
                LAMP,
                Part.REVERSE_LAMP,
                0.016,
            )
    if not s.bed:
        x, z = f.x(0.12 * s.deck[0] + 0.88 * s.roof_rear), 0.0
        z = f.top(x) + 0.022 * h
        _box(b, (x - 0.02, 0.0, z), (0.02, 0.14 * f.half, 0.008 * h), RED, Part.BRAKE_LAMP)


def _round_lamp(b: ShapeBuilder, f: CarFrame, side: float) -> None:
    s, h = f.style, f.height
    z, r = 0.5 * (s.lamp_front[0] + s.lamp_front[1]) * h, 0.5 * (s.lamp_front[1] - s.lamp_front[0]) * h
    y = side * 0.80 * f.side(f.nose, z)
    x = f.nose + 0.006
    for radius, out, colour, part in ((1.18 * r, 0.0, CHROME, Part.CHROME), (r, 0.006, LAMP, Part.HEADLAMP)):
        turn = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
        b.part = part
        b.polygon([(x + out, y + radius * np.cos(a), z + radius * np.sin(a)) for a in turn], colour)


def _face(b: ShapeBuilder, f: CarFrame, detailed: bool) -> None:
    """Grille, lower intake and number plates."""
    s, h = f.style, f.height
    width, low, high = s.grille
    ring = f.half_ring(f.nose)
    wide = f.side(f.nose, 0.5 * (low + high) * h) / f.half
    if width > 0.0:
        span = (0.0, min(2.0 * width, 0.96 * s.lamp_front_in) / max(wide, 0.1))
        for side in (-1.0, 1.0):
            if s.grille_chrome:
                _end_lamp(
                    b,
                    f,
                    1.0,
                    side,
                    (0.0, span[1] * 1.06),
                    (low * h - 0.02, high * h + 0.02),
                    CHROME,
                    Part.CHROME,
                    0.005,
                )
            _end_lamp(b, f, 1.0, side, span, (low * h, high * h), DARK, Part.FIXED, 0.009)
            if detailed:
                for k in range(1, 4):
                    z = h * (low + (high - low) * k / 4)
                    _end_lamp(
                        b,
                        f,
                        1.0,
                        side,
                        (0.0, span[1] * 0.94),
                        (z - 0.008, z + 0.008),
                        (0.10, 0.10, 0.11),
                        Part.FIXED,
                        0.014,
                    )
    intake = (float(ring[0, 1]) + 0.01 * h, float(ring[1, 1]) + 0.005 * h)
    for end in (1.0, -1.0):
        for side in (-1.0, 1.0):
            _end_lamp(b, f, end, side, (0.0, 0.80), intake, DARK, Part.FIXED, 0.005)
    tail = f.half_ring(f.tail)
    rear_z = 0.5 * (tail[1, 1] + s.lamp_rear[0] * h)
    for end, z in ((1.0, intake[1] + 0.045 * h), (-1.0, rear_z)):
        _plate(b, f, end, float(z), detailed)


def _plate(b: ShapeBuilder, f: CarFrame, end: float, z: float, detailed: bool) -> None:
    x = end * (f.length / 2)
    half = (0.005, 0.25, 0.055)
    _box(b, (x - end * 0.006 + end * 0.012, 0.0, z), half, PLATE, Part.FIXED)
    if detailed:
        for k, y in enumerate((-0.19, -0.125, -0.06, 0.03, 0.095, 0.16)):
            w = 0.020 + 0.004 * (k % 3)
            _box(b, (x + end * 0.012, y, z), (0.006, w, 0.033), (0.02, 0.02, 0.05), Part.FIXED)


def _mirrors(b: ShapeBuilder, f: CarFrame) -> None:
    s = f.style
    x, z = f.x(s.cowl[0]) - 0.055 * f.length, f.belt(f.x(s.cowl[0])) + 0.045 * f.height
    inner, outer = 0.95 * f.half, f.half / s.body_width
    tall = 0.042 * f.height
    for side in (-1.0, 1.0):
        ys = sorted((side * inner, side * outer))
        b.part = Part.PAINT
        b.prism((x - 0.05, x + 0.07), ys, z - tall, (x - 0.05, x + 0.03), ys, z + tall, WHITE, True)
        back = [
            (x - 0.052, ys[0] + 0.02, z + 0.8 * tall),
            (x - 0.052, ys[0] + 0.02, z - 0.8 * tall),
            (x - 0.052, ys[1] - 0.02, z - 0.8 * tall),
            (x - 0.052, ys[1] - 0.02, z + 0.8 * tall),
        ]
        _pane(b, back[::-1], 0.002, (0.3, 0.32, 0.35), Part.CHROME)


def _door_lines(b: ShapeBuilder, f: CarFrame) -> None:
    """Door gaps and door handles."""
    s, h = f.style, f.height
    inner = s.panes[1:-1] if len(s.panes) > 2 else ()
    doors = [s.panes[-1], *inner] if len(s.panes) < 4 else [s.panes[-1], s.panes[-2], s.panes[-3]]
    if len(doors) == 1:
        doors.append(0.40)
    for share in doors:
        x = f.pane_x(share)
        zs = [s.clearance * h + 0.06 * h, s.shoulder * h, f.belt(x)]
        zs[0] = max(zs[0], f.bottom(x) + 0.02)
        for side in (-1.0, 1.0):
            for z0, z1 in itertools.pairwise(zs):
                if z1 <= z0:
                    continue
                corners = [
                    (x + 0.007, f.side(x, z0), z0),
                    (x - 0.007, f.side(x, z0), z0),
                    (x - 0.007, f.side(x, z1), z1),
                    (x + 0.007, f.side(x, z1), z1),
                ]
                _pane(b, _mirrored(corners, side), 0.004, DARK, Part.FIXED)
    for share in doors[1:]:
        x = f.pane_x(share) + 0.09
        z = 0.35 * s.shoulder * h + 0.65 * f.belt(x)
        for side in (-1.0, 1.0):
            _box(b, (x, side * (f.side(x, z) + 0.008), z), (0.085, 0.014, 0.014), WHITE, Part.PAINT)


def _bed(b: ShapeBuilder, f: CarFrame) -> None:
    """The dark opening of a pickup's bed, drawn just above its side walls."""
    s = f.style
    x0, x1, z = f.x(-0.478), f.x(s.bed) - 0.03, s.tail_z * f.height + 0.014 * f.height
    w = 0.80 * f.half
    b.part = Part.FIXED
    b.polygon([(x0, -w, z), (x1, -w, z), (x1, w, z), (x0, w, z)], (0.012, 0.012, 0.012))


def _light_bar(b: ShapeBuilder, f: CarFrame) -> None:
    s = f.style
    x, z = 0.5 * (f.x(s.roof_front) + f.x(s.roof_rear)), s.roof_height * f.height
    if s.square > 0.3:
        x = f.x(s.roof_front) - 0.2
    high = f.height - z - 0.004
    for side, part, colour in (
        (-1.0, Part.BEACON_RED, (0.55, 0.02, 0.02)),
        (1.0, Part.BEACON_BLUE, (0.02, 0.06, 0.60)),
    ):
        ys = sorted((side * 0.12 * f.half, side * 0.66 * f.half))
        b.part = part
        b.prism((x - 0.14, x + 0.14), ys, z + 0.01, (x - 0.10, x + 0.10), ys, z + high, colour, True)
    _box(b, (x, 0.0, z + 0.4 * high), (0.13, 0.12 * f.half, 0.4 * high), LAMP, Part.FIXED)
    b.part = Part.FIXED


def _extras(b: ShapeBuilder, f: CarFrame) -> None:
    """Roof rails, spare wheel, racing stripes."""
    s, h = f.style, f.height
    if s.rack:
        x0, x1 = f.x(s.roof_rear) + 0.1, f.x(s.roof_front) - 0.1
        y, z = 0.86 * s.roof_width * f.half, s.roof_height * h - 0.012
        for side in (-1.0, 1.0):
            _box(b, (0.5 * (x0 + x1), side * y, z), (0.5 * (x1 - x0), 0.018, 0.018), (0.25, 0.25, 0.26), Part.FIXED)
    if s.spare:
        r = 0.9 * f.wheel_radius
        b.part = Part.FIXED
        b.tube((f.tail - 0.02, 0.0, 0.50 * h), (f.tail + 0.06, 0.0, 0.50 * h), r, r, 12, DARK, caps=True)
    if s.stripe:
        for x0, x1 in ((f.x(s.cowl[0]) + 0.03, f.x(s.hood_x)), (f.x(s.roof_rear) + 0.1, f.x(s.roof_front) - 0.05)):
            for y in (-0.16, 0.16):
                z0, z1 = (min(f.top(x) + 0.016 * h, h - 0.006) for x in (x0, x1))
                corners = [(x0, y - 0.08, z0), (x1, y - 0.08, z1), (x1, y + 0.08, z1), (x0, y + 0.08, z0)]
                _pane(b, corners, 0.004, (0.8, 0.8, 0.8), Part.LACQUER)
