"""Reference lines against numeric integration of their curvature."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.opendrive import geometry
from embedded_carla.opendrive.cubics import cubics
from embedded_carla.opendrive.geometry import Piece, PlanView

curvature = st.floats(-0.2, 0.2)
length = st.floats(1.0, 60.0)


def integrate(heading_of: object, s: np.ndarray) -> np.ndarray:
    """(n, 2) points by the midpoint rule on a fine grid."""
    fine = np.linspace(0.0, s[-1], 40_001)
    middle = 0.5 * (fine[1:] + fine[:-1])
    heading = heading_of(middle)  # type: ignore[operator]
    step = fine[1] - fine[0]
    xy = np.concatenate([[[0.0, 0.0]], np.cumsum(np.stack([np.cos(heading), np.sin(heading)], axis=1) * step, axis=0)])
    return np.stack([np.interp(s, fine, xy[:, k]) for k in range(2)], axis=1)


@settings(max_examples=40, deadline=None)
@given(k0=curvature, k1=curvature, length_m=length)
def test_spirals_and_arcs_follow_their_curvature(k0: float, k1: float, length_m: float) -> None:
    s = np.linspace(0.0, length_m, 13)
    for kind, parameters, end in ((geometry.SPIRAL, (k0, k1), k1), (geometry.ARC, (k0,), k0)):
        u, v, turn = Piece(0.0, 0.0, 0.0, 0.0, length_m, kind, parameters).local(s)
        rate = (end - k0) / length_m
        expected = integrate(lambda x, r=rate: k0 * x + 0.5 * r * x * x, s)
        np.testing.assert_allclose(np.stack([u, v], axis=1), expected, atol=1e-5)
        np.testing.assert_allclose(turn, k0 * s + 0.5 * rate * s * s, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(c=st.floats(-0.02, 0.02), d=st.floats(-3e-4, 3e-4), length_m=st.floats(5.0, 40.0), arc_length=st.booleans())
def test_cubics_are_followed_by_arc_length(c: float, d: float, length_m: float, arc_length: bool) -> None:
    """v = c u^2 + d u^3, once as poly3 and once as paramPoly3: stations are lengths along the curve."""
    p_max = length_m if arc_length else 1.0
    k = 1.0 if arc_length else length_m
    poly3 = Piece(0.0, 0.0, 0.0, 0.0, length_m, geometry.POLY3, (0.0, 0.0, c, d))
    parameters = (0.0, k, 0.0, 0.0, 0.0, 0.0, c * k**2, d * k**3, p_max)
    param = Piece(0.0, 0.0, 0.0, 0.0, length_m, geometry.PARAM_POLY3, parameters)
    s = np.linspace(0.0, length_m, 9)
    for piece in (poly3, param):
        u, v, turn = piece.local(s)
        np.testing.assert_allclose(v, c * u**2 + d * u**3, atol=1e-9)
        np.testing.assert_allclose(np.tan(turn), 2 * c * u + 3 * d * u**2, atol=1e-6)
        fine = np.linspace(0.0, u[-1], 20_001)
        measured = np.sum(np.hypot(np.diff(fine), np.diff(c * fine**2 + d * fine**3)))
        assert abs(measured - length_m) < 2e-3


def test_pieces_join() -> None:
    line = Piece(0.0, 5.0, 6.0, np.pi / 2, 10.0, geometry.LINE)
    arc = Piece(10.0, 5.0, 16.0, np.pi / 2, 5.0 * np.pi, geometry.ARC, (-0.1,))
    x, y, heading = PlanView((line, arc))(np.array([0.0, 9.999999, 10.0, 10.0 + 5.0 * np.pi]))
    np.testing.assert_allclose(np.stack([x, y]), [[5, 5, 5, 15], [6, 16, 16, 26]], atol=1e-5)
    np.testing.assert_allclose(heading, [np.pi / 2] * 3 + [0.0], atol=1e-9)


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=6, unique=True), st.floats(0.0, 120.0))
def test_the_last_piece_that_has_begun_counts(starts: list[float], at: float) -> None:
    profile = cubics([(s, s, 1.0, 0.0, 0.0) for s in starts])
    begun = [s for s in starts if s <= at] or [min(starts)]
    assert np.isclose(profile(np.array([at]))[0], at if max(begun) <= at else max(begun) + (at - max(begun)))
    assert profile.slope(np.array([at]))[0] == 1.0
