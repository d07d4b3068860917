"""Helpers for a long road that is cut into pieces: stations, heights by knots, and centre lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from embedded_carla.maps.generator.alignment import Alignment
from embedded_carla.maps.generator.builder import height, hermite
from embedded_carla.maps.generator.model import Cubic, Mark

Knots = Sequence[tuple[float, float]]  # (station, value): level at each knot, cubic between
_SIGHT_M = 60.0  # the centre line is solid if a sharp curve is within this distance
_SAMPLE_M = 10.0


def station_near(alignment: Alignment, x: float, y: float) -> float:
    """The station nearest to (x, y), to a centimetre."""
    best, step = 0.0, 16.0
    low, high = 0.0, alignment.length_m
    while step > 0.005:
        stations = [low + i * step for i in range(int((high - low) / step) + 2)]
        best = min(stations, key=lambda s: math.hypot(alignment.at(s).x - x, alignment.at(s).y - y))
        low, high, step = max(best - step, 0.0), min(best + step, alignment.length_m), step / 8.0
    return best


def cubics(knots: Knots, s0_m: float, s1_m: float) -> tuple[Cubic, ...]:
    """The curve through `knots` from `s0_m` to `s1_m`, over the part's own stations."""
    out: list[Cubic] = []
    for (a, za), (b, zb) in pairwise(knots):
        begin, end = max(a, s0_m), min(b, s1_m)
        if end - begin < 1e-6:
            continue
        whole = hermite(b - a, za, zb)
        (z0, g0), (z1, g1) = height(whole, begin - a), height(whole, end - a)
        _, *coefficients = hermite(end - begin, z0, z1, g0, g1)[0]
        out.append((begin - s0_m, coefficients[0], coefficients[1], coefficients[2], coefficients[3]))
    return tuple(out)


def centre_marks(alignment: Alignment, sharp_radius_m: float) -> tuple[Mark, ...]:
    """The yellow centre line: solid where a curve sharper than `sharp_radius_m` lies within sight, else broken."""

    def curvature(s: float) -> float:
        return abs(alignment.at(s + 0.5).heading_rad - alignment.at(s - 0.5).heading_rad)

    count = max(int(alignment.length_m / _SAMPLE_M), 1)
    sharp = [curvature((i + 0.5) * _SAMPLE_M) > 1.0 / sharp_radius_m for i in range(count)]
    reach = int(_SIGHT_M / _SAMPLE_M)
    marks: list[Mark] = []
    for i in range(count):
        kind = "solid" if any(sharp[max(i - reach, 0) : i + reach + 1]) else "broken"
        if not marks or marks[-1].kind != kind:
            marks.append(Mark(kind, "yellow", s_m=i * _SAMPLE_M))
    return tuple(marks)
