"""Plan geometry of a road: lines, arcs and clothoids joined with continuous heading.

Right-handed OpenDRIVE frame: metres, radians, x east, y north, heading counter-clockwise, curvature positive to the
left. Pieces are those of OpenDRIVE 1.4 (`<line/>`, `<arc/>`, `<spiral/>`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_STRAIGHT_RAD = 1e-6


@dataclass(frozen=True, slots=True)
class Pose:
    """A point with a heading."""

    x: float
    y: float
    heading_rad: float

    def moved(self, ahead_m: float, left_m: float = 0.0, turn_rad: float = 0.0) -> Pose:
        """The pose `ahead_m` and `left_m` away in this pose's own axes, turned by `turn_rad`."""
        c, s = math.cos(self.heading_rad), math.sin(self.heading_rad)
        return Pose(self.x + c * ahead_m - s * left_m, self.y + s * ahead_m + c * left_m, self.heading_rad + turn_rad)

    def seen(self, other: Pose) -> tuple[float, float]:
        """Position (ahead, left) of `other` in this pose's axes, m."""
        c, s = math.cos(self.heading_rad), math.sin(self.heading_rad)
        dx, dy = other.x - self.x, other.y - self.y
        return c * dx + s * dy, -s * dx + c * dy


def wrapped(angle_rad: float) -> float:
    """The same angle in (-pi, pi]."""
    return math.pi - (math.pi - angle_rad) % (2.0 * math.pi)


@dataclass(frozen=True, slots=True)
class Piece:
    """A geometry of length `length_m` with constant or linearly changing curvature."""

    length_m: float
    curvature_start: float = 0.0
    curvature_end: float = 0.0

    def at(self, start: Pose, s_m: float) -> Pose:
        """The pose `s_m` along the piece when it begins at `start`."""
        rate = (self.curvature_end - self.curvature_start) / self.length_m
        u = 0.5 * s_m * (_NODES + 1.0)
        turn = self.curvature_start * u + 0.5 * rate * u * u
        ahead = 0.5 * s_m * float(_WEIGHTS @ np.cos(turn))
        left = 0.5 * s_m * float(_WEIGHTS @ np.sin(turn))
        return start.moved(ahead, left, self.curvature_start * s_m + 0.5 * rate * s_m * s_m)


class Alignment:
    """Pieces laid end to end from a start pose."""

    def __init__(self, start: Pose, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(p for p in pieces if p.length_m > 1e-4)
        stations, poses = [0.0], [start]
        for piece in self.pieces:
            poses.append(piece.at(poses[-1], piece.length_m))
            stations.append(stations[-1] + piece.length_m)
        self.stations_m = tuple(stations)
        self.poses = tuple(poses)

    @property
    def length_m(self) -> float:
        return self.stations_m[-1]

    def at(self, s_m: float) -> Pose:
        """The pose at station `s_m`, clamped to the road's ends."""
        s = min(max(s_m, 0.0), self.length_m)
        i = min(max(int(np.searchsorted(self.stations_m, s, side="right")) - 1, 0), len(self.pieces) - 1)
        return self.pieces[i].at(self.poses[i], s - self.stations_m[i])

    def between(self, s0_m: float, s1_m: float) -> Alignment:
        """The part from `s0_m` to `s1_m`."""
        cut = []
        for piece, begin in zip(self.pieces, self.stations_m, strict=False):
            a, b = max(s0_m, begin) - begin, min(s1_m, begin + piece.length_m) - begin
            if b - a > 1e-6:
                rate = (piece.curvature_end - piece.curvature_start) / piece.length_m
                cut.append(Piece(b - a, piece.curvature_start + rate * a, piece.curvature_start + rate * b))
        return Alignment(self.at(s0_m), cut)


@dataclass(frozen=True, slots=True)
class Corner:
    """A vertex of a polygonal path, rounded by an arc of `radius_m` between two clothoids of `spiral_m`."""

    x: float
    y: float
    radius_m: float
    spiral_m: float = 0.0


def _rounding(turn_rad: float, corner: Corner) -> tuple[list[Piece], float]:
    """Pieces that turn by `turn_rad` at a corner, and the length of tangent they use on each side."""
    if abs(turn_rad) < _STRAIGHT_RAD:
        return [], 0.0
    sign = math.copysign(1.0, turn_rad)
    k = sign / corner.radius_m
    arc_rad = abs(turn_rad) - corner.spiral_m / corner.radius_m
    if arc_rad < 0.0:
        raise ValueError(f"corner ({corner.x}, {corner.y}): clothoids of {corner.spiral_m} m turn too far")
    pieces = [Piece(corner.radius_m * arc_rad, k, k)]
    if corner.spiral_m > 0.0:
        pieces = [Piece(corner.spiral_m, 0.0, k), *pieces, Piece(corner.spiral_m, k, 0.0)]
    end = Alignment(Pose(0.0, 0.0, 0.0), pieces).poses[-1]
    tangent_m = end.x - end.y / math.tan(turn_rad) if abs(math.sin(turn_rad)) > 1e-9 else end.x
    return pieces, tangent_m


def _leg(a: Corner, b: Corner) -> tuple[float, float]:
    return math.hypot(b.x - a.x, b.y - a.y), math.atan2(b.y - a.y, b.x - a.x)


def through(corners: Sequence[Corner], closed: bool = False) -> Alignment:
    """Path along `corners`, rounded at each. Raises ValueError if a leg is too short for its two roundings.

    An open path begins at the first corner and ends at the last. A closed path begins and ends in the middle of the leg
    from the first corner to the second.
    """
    n = len(corners)
    legs = [_leg(corners[i], corners[(i + 1) % n]) for i in range(n if closed else n - 1)]
    rounds: list[tuple[list[Piece], float]] = [([], 0.0)] * n
    for i in range(n):
        if closed or 0 < i < n - 1:
            rounds[i] = _rounding(wrapped(legs[i][1] - legs[i - 1][1]), corners[i])
    pieces: list[Piece] = []
    for i, (length, _) in enumerate(legs):
        line = length - rounds[i][1] - rounds[(i + 1) % n][1]
        if line < -1e-6:
            raise ValueError(f"leg {i} from ({corners[i].x}, {corners[i].y}): {-line:.1f} m too short")
        pieces += [Piece(max(line, 0.0)), *rounds[(i + 1) % n][0]]
    start = Pose(corners[0].x, corners[0].y, legs[0][1])
    if not closed:
        return Alignment(start, pieces)
    half = 0.5 * pieces[0].length_m
    begin = start.moved(rounds[0][1] + half)
    return Alignment(begin, [Piece(half), *pieces[1:], Piece(half)])


def connection(a: Pose, b: Pose, straight_m: float = 0.0) -> Alignment:
    """Path from `a` to `b`: line, arc, line if the tangents meet; otherwise a biarc.

    The line-arc-line is straight for at least `straight_m` at both ends.
    """
    ahead, left = a.seen(b)
    turn = wrapped(b.heading_rad - a.heading_rad)
    if abs(turn) < 1e-4 and abs(left) < 1e-4:
        return Alignment(a, [Piece(ahead)])
    if abs(math.sin(turn)) > 0.05:
        after = left / math.sin(turn)
        before = ahead - after * math.cos(turn)
        if before > 1e-6 and after > 1e-6:
            tangent = min(before, after) - straight_m
            radius = tangent / math.tan(abs(turn) / 2.0)
            k = math.copysign(1.0 / radius, turn)
            arc = Piece(radius * abs(turn), k, k)
            return Alignment(a, [Piece(before - tangent), arc, Piece(after - tangent)])
    return Alignment(a, _biarc(ahead, left, turn))


def _biarc(ahead: float, left: float, turn: float) -> list[Piece]:
    """Two arcs from (0, 0, heading 0) to (ahead, left, heading `turn`) with tangents of one length d.

    Equal-tangent biarc: the joint lies half way between a + d*ta and b - d*tb, where |b - a - d*(ta + tb)| = 2 d.
    """
    tx, ty = 1.0 + math.cos(turn), math.sin(turn)
    a = tx * tx + ty * ty - 4.0
    b = -2.0 * (ahead * tx + left * ty)
    c = ahead * ahead + left * left
    if abs(a) < 1e-9:
        d = -c / b
    else:
        root = math.sqrt(b * b - 4.0 * a * c)
        d = min(x for x in ((-b - root) / (2.0 * a), (-b + root) / (2.0 * a)) if x > 0.0)
    p, q = Pose(d, 0.0, 0.0), Pose(ahead - d * math.cos(turn), left - d * math.sin(turn), 0.0)
    middle = math.atan2(q.y - p.y, q.x - p.x)
    return [_arc(middle, d), _arc(wrapped(turn - middle), d)]


def _arc(turn: float, tangent_m: float) -> Piece:
    """The arc that turns by `turn` and whose two tangents are `tangent_m` long."""
    if abs(turn) < 1e-9:
        return Piece(2.0 * tangent_m)
    radius = tangent_m / math.tan(abs(turn) / 2.0)
    k = math.copysign(1.0 / radius, turn)
    return Piece(radius * abs(turn), k, k)
