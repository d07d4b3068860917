"""Decides when the ego's turn indicators are on: before and during turns at junctions and lane changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Indicator, LaneGraph
from planning.reference_path import Route

TURN_MIN_RAD = 0.5
"""Change of heading over a junction from which the route counts as a turn; less is going straight on."""

TURN_LEAD_M = 30.0
"""Distance before a junction at which the indicator starts, as traffic codes require in towns (100 ft)."""

CHANGE_LEAD_S, CHANGE_LEAD_MIN_M = 3.0, 15.0
"""An indicator is on for this time at the speed limit, and at least for this distance, before a lane change begins."""


@dataclass(frozen=True, slots=True)
class Indication:
    """A stretch of the route, as arc lengths of the ego's origin, over which one indicator is on."""

    from_s_m: float
    to_s_m: float
    side: Indicator


def indications(route: Route, graph: LaneGraph) -> tuple[Indication, ...]:
    """All turns and lane changes of `route` in order."""
    found = [*_turns(route), *_changes(route, graph)]
    return tuple(sorted(found, key=lambda one: one.to_s_m))


def indicator_at(found: Sequence[Indication], s_m: float) -> Indicator:
    """The indicator at `s_m`; where indications overlap, that of the one that ends first."""
    sides = (one.side for one in found if one.from_s_m <= s_m <= one.to_s_m)
    return next(sides, Indicator.OFF)


def _turns(route: Route) -> list[Indication]:
    found = []
    left_before_m = 0.0
    for first, last in _runs(route.is_junction):
        turn_rad = float(route.curve.yaw_rad[last] - route.curve.yaw_rad[first])
        start_m, end_m = float(route.s_m[first]), float(route.s_m[last])
        if abs(turn_rad) >= TURN_MIN_RAD:
            # An indicator that starts before the ego has left the previous junction would announce a turn there.
            from_m = max(start_m - TURN_LEAD_M, left_before_m)
            found.append(Indication(from_m, end_m, Indicator.LEFT if turn_rad > 0.0 else Indicator.RIGHT))
        left_before_m = end_m
    return found


def _changes(route: Route, graph: LaneGraph) -> list[Indication]:
    found = []
    for number, piece in enumerate(route.pieces):
        rows = np.flatnonzero(route.lane_index == number)
        if piece.change_from is None or len(rows) == 0:
            continue
        is_left = graph.lanes[piece.change_from].left == piece.lane
        lead_m = max(CHANGE_LEAD_S * float(route.speed_limit_mps[rows[0]]), CHANGE_LEAD_MIN_M)
        from_m = float(route.s_m[rows[0]]) - lead_m
        found.append(Indication(from_m, float(route.s_m[rows[-1]]), Indicator.LEFT if is_left else Indicator.RIGHT))
    return found


def _runs(inside: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last row of each run of True."""
    edges = np.diff(np.concatenate([[0], inside.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True))
