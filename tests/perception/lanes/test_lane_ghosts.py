"""Reflections between a lane's lines are not its border; a kerb beside a line, or a neighbour's line, takes nothing."""

from __future__ import annotations

import numpy as np

from av_core.types import Stamp
from perception.lanes.selection import select_lane_lines
from perception.lanes.tracker import LineTrack


def track(y_m: float, slope: float = 0.0, *, existence: float = 1.0, x: tuple[float, float] = (6.5, 32.0),
          coverage: float = 1.0) -> LineTrack:  # fmt: skip
    covariance = np.diag([0.02, 0.002, 0.0002, 1e-6]) ** 2
    return LineTrack(np.array([y_m, slope, 0.0, 0.0]), covariance, existence, *x, coverage, 0.0, 0.0)


def sides(*tracks: LineTrack) -> tuple[float | None, float | None]:
    lanes = select_lane_lines(list(tracks), Stamp(0, 0.0))
    left, right = (None if line is None else round(float(line.y_at(4.0)), 2) for line in (lanes.left, lanes.right))
    return left, right


def test_a_puddles_edge_between_the_lines_is_left_out() -> None:
    ghosts = [
        track(1.0, 0.01, existence=0.5, x=(8.0, 17.9), coverage=0.27),
        track(0.3, 0.1, existence=0.95, x=(7.9, 17.9), coverage=0.22),
        track(-1.0, -0.1, existence=0.42, x=(6.5, 9.2)),
    ]
    assert sides(track(1.76), track(-1.76), *ghosts) == (1.76, -1.76)


def test_a_broken_line_holds_against_a_solid_one_a_lane_further() -> None:
    assert sides(track(1.76, coverage=0.33, x=(6.5, 20.0)), track(5.26), track(-1.76)) == (1.76, -1.76)


def test_a_line_beside_its_kerb_stays_the_border() -> None:
    assert sides(track(1.76), track(-1.76, existence=0.9, x=(6.5, 25.0)), track(-2.3)) == (1.76, -1.76)


def test_alone_even_a_weak_line_is_told() -> None:
    assert sides(track(1.76, existence=0.4, x=(8.0, 14.0), coverage=0.3)) == (1.76, None)
