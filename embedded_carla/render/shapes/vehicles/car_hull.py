"""The hull of a car in metres: cross-sections along its length, with wheel arches cut into their lower edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.vehicles.car_styles import CarStyle

F64 = NDArray[np.float64]
ROWS = 7  # points of half a cross-section, from sill to roof centre
DARK = (0.018, 0.018, 0.020)
WHITE = (1.0, 1.0, 1.0)
GLASS = (0.020, 0.026, 0.030)
ARCH = 1.17  # radius of the wheel arch / radius of the wheel


@dataclass(frozen=True, slots=True)
class CarFrame:
    """Main dimensions of a car, metres: x along the length from the middle, z above the ground."""

    style: CarStyle
    length: float
    half: float  # half width of the body without mirrors
    height: float
    axles: tuple[float, float]  # front, rear
    wheel_radius: float

    @property
    def tail(self) -> float:
        return -self.length / 2

    @property
    def nose(self) -> float:
        return self.length / 2

    def x(self, share: float) -> float:
        return share * self.length

    def pane_x(self, share: float) -> float:
        """x of a border of the side windows, along the belt; `share` as in `CarStyle.panes`."""
        s = self.style
        rear, front = self.x(s.deck[0]) + 0.03 * self.length, self.x(s.cowl[0]) - 0.035 * self.length
        return rear + (front - rear) * share

    def top(self, x: float) -> float:
        """Height of the car's upper outline at x."""
        s, h = self.style, self.height
        knots = [
            (-0.5, s.tail_z - 0.05), (-0.49, s.tail_z), (s.deck[0], s.deck[1]), (s.roof_rear, s.roof_height - 0.015),
            (0.5 * (s.roof_rear + s.roof_front), s.roof_height), (s.roof_front, s.roof_height - 0.012),
            (s.cowl[0], s.cowl[1]), (s.hood_x, s.nose_z + 0.35 * (s.cowl[1] - s.nose_z)), (0.485, s.nose_z),
            (0.5, s.nose_z - 0.05),
        ]  # fmt: skip
        if s.bed:
            knots[1:2] = [(-0.49, s.tail_z), (s.bed, s.tail_z)]
        # The mean over a window rounds the corners of the piecewise linear outline.
        round_ = 0.028 * (1.0 - self.style.square)
        spread = np.clip(x / self.length + np.array([-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]) * round_, -0.5, 0.5)
        along, heights = np.array(knots).T
        return h * float(np.interp(spread, along, heights).mean())

    def belt(self, x: float) -> float:
        """Height of the lower edge of the glass at x; the upper outline where there is no glass."""
        s = self.style
        line = float(np.interp(x / self.length, (s.deck[0], s.cowl[0]), (s.deck[1], s.cowl[1] - 0.01))) * self.height
        return min(line, self.top(x) - 0.012 * self.height)

    def bottom(self, x: float) -> float:
        """Height of the car's lower edge at x, with the wheel arches."""
        s, h = self.style, self.height
        low = s.clearance * h
        lift = float(np.interp(abs(x) / self.length, (0.40, 0.47, 0.5), (0.0, 0.025, 0.07))) * h
        for axle in self.axles:
            d = abs(x - axle) / (ARCH * self.wheel_radius)
            if d < 1.0:
                return max(low + lift, self.wheel_radius * (1.0 + ARCH * float(np.sqrt(1.0 - d * d))))
        return low + lift

    def width(self, x: float) -> float:
        """Half width at x seen from above: round corners, less round for boxy cars."""
        shares = np.array([0.0, 0.010, 0.035, 0.10, 0.25])
        round_, boxy = np.array([0.76, 0.85, 0.925, 0.975, 1.0]), np.array([0.93, 0.965, 0.985, 1.0, 1.0])
        curve = round_ + (boxy - round_) * self.style.square
        return self.half * float(np.interp(0.5 - abs(x) / self.length, shares, curve))

    def half_ring(self, x: float) -> F64:
        """(ROWS, 2) points (y, z) of the right half of the cross-section at x, from the sill upwards."""
        s, h = self.style, self.height
        w, zt, zb = self.width(x), self.top(x), self.bottom(x)
        belt = self.belt(x)
        cabin = max(0.0, (zt - belt) / (s.roof_height * h - belt)) if zt - belt > 0.02 * h else 0.0
        zs = max(min(s.shoulder * h, belt - 0.05 * h), zb + 0.02 * h)
        belt = max(belt, zs + 0.01 * h)
        zt = max(zt, belt + 0.005 * h)
        edge = 0.965 * w
        up = edge + (s.roof_width * self.half * w / self.half - edge) * min(cabin, 1.0)
        if cabin > 0.0:
            ridge = min(zt + 0.012 * h * cabin, h)  # the roof must stay inside the vehicle's box
            crown = [(up + 0.02 * w * cabin, belt + (zt - belt) * 0.90), (0.90 * up, zt), (0.0, ridge)]
        else:
            crown = [(0.90 * w, zt - 0.002 * h), (0.62 * w, zt + 0.004 * h), (0.0, zt + 0.012 * h)]
            crown = [(y, min(z, s.roof_height * h)) for y, z in crown]
        return np.array([
            (0.93 * w, zb), (0.985 * w, zb + 0.30 * (zs - zb)), (w, zs), (edge, belt), *crown,
        ])  # fmt: skip

    def side(self, x: float, z: float) -> float:
        """The hull's half width at height z, below the belt."""
        ring = self.half_ring(x)
        return float(np.interp(z, ring[:4, 1], ring[:4, 0]))


def stations(car: CarFrame, detailed: bool) -> list[float]:
    """x positions of the cross-sections."""
    s = car.style
    shares = [-0.5, -0.49, -0.465, s.deck[0], s.roof_rear, s.roof_front, s.cowl[0], s.hood_x, 0.485, 0.5]
    if detailed:
        shares += [
            -0.40,
            0.5 * (s.roof_rear + s.roof_front),
            0.465,
            0.5 * (s.cowl[0] + s.roof_front),
            0.5 * (s.deck[0] + s.roof_rear),
            s.roof_front + 0.022,
            s.roof_front - 0.022,
            s.roof_rear + 0.022,
            s.roof_rear - 0.022,
        ]
    xs = [car.x(share) for share in shares]
    if s.bed:
        xs.append(car.x(s.bed))
    reach = ARCH * car.wheel_radius
    arch = (
        [-1.003, -0.997, -0.80, -0.40, 0.0, 0.40, 0.80, 0.997, 1.003]
        if detailed
        else [-1.003, -0.99, -0.6, 0.6, 0.99, 1.003]
    )
    cuts = [axle + a * reach for axle in car.axles for a in arch if abs(axle + a * reach) < car.length / 2 - 0.02]
    kept = [x for x in xs if all(abs(abs(x - axle) - reach) > 0.03 for axle in car.axles)]
    out: list[float] = []
    for x in sorted([*kept, *cuts]):
        if not out or x - out[-1] > 1e-4:
            out.append(x)
    return out


def hull(car: CarFrame, detailed: bool) -> tuple[F64, F64, F64]:
    """Quads (Q, 4, 3) of the skin, their colours (Q, 3) and parts (Q,): paint, windscreen, rear window, dark floor."""
    s = car.style
    xs = stations(car, detailed)
    rows = list(range(ROWS))
    half = np.stack([car.half_ring(x)[rows] for x in xs])
    right = np.concatenate([np.broadcast_to(np.array(xs)[:, None, None], (*half.shape[:2], 1)), half], axis=2)
    left = right[:, -2::-1] * (1.0, -1.0, 1.0)
    rings = np.concatenate([right, left], axis=1)  # counter-clockwise seen from the front
    count = rings.shape[1]
    quads, colours, parts = [], [], []
    for i, x in enumerate(xs[:-1]):
        share = 0.5 * (x + xs[i + 1]) / car.length
        screen = s.roof_front + 0.005 < share < s.cowl[0] - 0.005
        rear = s.deck[0] < share < s.roof_rear and not s.closed_sides
        roof = s.roof_rear <= share <= s.roof_front
        for k in range(count):
            n = (k + 1) % count
            quads.append(np.stack([rings[i, k], rings[i, n], rings[i + 1, n], rings[i + 1, k]]))
            row = rows[min(k, count - 2 - k)] if k < count - 1 else -1
            colour, part = _finish(s, row, share, screen or rear, roof)
            colours.append(colour)
            parts.append(part)
    for ring, turn in ((rings[0], -1), (rings[-1], 1)):
        size = (count + 1) // 2
        for k in range(size - 1):
            quads.append(np.stack([ring[k], ring[k + 1], ring[count - 2 - k], ring[count - 1 - k]])[::turn])
            colour, part = (DARK, Part.FIXED) if k == 0 else _body_paint(s)
            colours.append(colour)
            parts.append(part)
    return np.array(quads), np.array(colours), np.array(parts, dtype=float)


def _finish(s: CarStyle, row: int, share: float, window: bool, roof: bool) -> tuple[tuple[float, float, float], Part]:
    """Colour and part of the quad above cross-section point `row`."""
    if row == -1 or (row == 0 and s.clad):
        return DARK, Part.FIXED
    if window and row >= 5:
        return GLASS, Part.GLASS
    if roof and row >= 4 and s.dark_roof:
        return (0.012, 0.012, 0.014), Part.LACQUER
    if s.doors_white and -0.22 < share < 0.16 and row < 3:
        return (0.75, 0.75, 0.76), Part.LACQUER
    if s.own is not None and s.closed_sides and row == 1:  # an ambulance's red band
        return (0.55, 0.02, 0.02), Part.LACQUER
    return _body_paint(s)


def _body_paint(s: CarStyle) -> tuple[tuple[float, float, float], Part]:
    return (WHITE, Part.PAINT) if s.own is None else (s.own, Part.LACQUER)
