"""The reference line of a road: lines, arcs, spirals, cubic and parametric cubic polynomials.

OpenDRIVE 1.4, section 5.3.4 (planView). Right-handed frame, heading counter-clockwise from +x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

LINE, ARC, SPIRAL, POLY3, PARAM_POLY3 = range(5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_TABLE_STEP_M = 0.05


@dataclass(frozen=True, slots=True)
class Piece:
    """One `<geometry>`: start pose, length, kind and its parameters.

    `parameters`: arc (curvature), spiral (curvature at start, at end), poly3 (a, b, c, d), paramPoly3
    (aU, bU, cU, dU, aV, bV, cV, dV, largest p).
    """

    s_m: float
    x_m: float
    y_m: float
    heading_rad: float
    length_m: float
    kind: int
    parameters: tuple[float, ...] = ()

    def local(self, ds: Float) -> tuple[Float, Float, Float]:
        """(u, v, turn) after `ds` metres: position along and across the start heading, m, and turned angle, rad."""
        if self.kind == ARC:
            return _arc(ds, self.parameters[0])
        if self.kind == SPIRAL:
            start, end = self.parameters
            return _spiral(ds, start, (end - start) / self.length_m)
        if self.kind == POLY3:
            return _polynomial(ds, (0.0, 1.0, 0.0, 0.0), self.parameters, self.length_m, self.length_m)
        if self.kind == PARAM_POLY3:
            u, v, p_max = self.parameters[:4], self.parameters[4:8], self.parameters[8]
            return _polynomial(ds, u, v, p_max, self.length_m)
        return ds, np.zeros_like(ds), np.zeros_like(ds)

    def curvature_max_1pm(self) -> float:
        """An upper bound of |curvature| on the piece, 1/m."""
        if self.kind == LINE:
            return 0.0
        if self.kind in (ARC, SPIRAL):
            return max(abs(k) for k in self.parameters)
        s = np.linspace(0.0, self.length_m, 33, dtype=np.float64)
        _, _, turn = self.local(s)
        return float(np.max(np.abs(np.diff(turn))) / max(s[1], 1e-6))


def _arc(ds: Float, curvature: float) -> tuple[Float, Float, Float]:
    if abs(curvature) < 1e-12:
        return ds, np.zeros_like(ds), np.zeros_like(ds)
    turn = ds * curvature
    return np.sin(turn) / curvature, (1.0 - np.cos(turn)) / curvature, turn


def _spiral(ds: Float, curvature: float, rate: float) -> tuple[Float, Float, Float]:
    """Integrate the heading k s + k' s^2 / 2 by Gauss-Legendre quadrature (exact to 1e-9 m for up to two turns)."""
    nodes = 0.5 * ds[..., None] * (_NODES + 1.0)
    heading = nodes * (curvature + 0.5 * rate * nodes)
    half = 0.5 * ds
    return half * (np.cos(heading) @ _WEIGHTS), half * (np.sin(heading) @ _WEIGHTS), ds * (curvature + 0.5 * rate * ds)


def _polynomial(
    ds: Float, u: tuple[float, ...], v: tuple[float, ...], p_max: float, length_m: float
) -> tuple[Float, Float, Float]:
    """Evaluate (u(p), v(p)) at arc lengths `ds`; the parameter p at an arc length is read from a table."""
    count = int(np.clip(length_m / _TABLE_STEP_M, 64, 4096)) + 1
    p = np.linspace(0.0, p_max, count, dtype=np.float64)
    speed = np.hypot(_derivative(u, p), _derivative(v, p))
    along = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(p))])
    at = np.interp(ds, along, p)
    turn = np.arctan2(_derivative(v, at), _derivative(u, at))
    return _value(u, at), _value(v, at), turn


def _value(c: tuple[float, ...], p: Float) -> Float:
    return np.asarray(c[0] + p * (c[1] + p * (c[2] + p * c[3])))


def _derivative(c: tuple[float, ...], p: Float) -> Float:
    return np.asarray(c[1] + p * (2.0 * c[2] + p * 3.0 * c[3]))


@dataclass(frozen=True, slots=True)
class PlanView:
    """A road's reference line; the pieces are in order of s."""

    pieces: tuple[Piece, ...]

    def __call__(self, s: Float) -> tuple[Float, Float, Float]:
        """x, y (m) and heading (rad) at `s` (n,)."""
        starts = np.array([p.s_m for p in self.pieces])
        index = np.maximum(np.searchsorted(starts, s, side="right") - 1, 0)
        x, y, heading = np.empty_like(s), np.empty_like(s), np.empty_like(s)
        for i in np.unique(index):
            piece, chosen = self.pieces[i], index == i
            u, v, turn = piece.local(np.clip(s[chosen] - piece.s_m, 0.0, piece.length_m))
            c, n = np.cos(piece.heading_rad), np.sin(piece.heading_rad)
            x[chosen] = piece.x_m + c * u - n * v
            y[chosen] = piece.y_m + n * u + c * v
            heading[chosen] = piece.heading_rad + turn
        return x, y, heading
