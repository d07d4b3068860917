"""How the ego makes room for a vehicle in a hurry behind it: in a lane beside its own, or at the edge of its lane."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from av_core.types import Float
from planning.local.lattice import (
    CELLS,
    CENTRE,
    COLUMN_M,
    COLUMNS,
    DURING,
    LAYERS,
    OFF_ROAD,
    ONCOMING_LANE,
    STEP_S,
    LatticePath,
    RoadCells,
)

_CLEAR_M, _CLEAR_BEFORE_M = 3.0, 2.6
"""Offset from the lane's centre at which the ego has left its lane (half its width, half a van's, and 0.9 m): for a new
path, and for a path of an earlier step, which has been smoothed since.
"""

_LEAVES_S, _ASIDE_MPS = 1.5, 0.8
"""Time in which a path has to leave the lane: the first, plus the time for the remaining offset at this lateral
speed."""

_LATE_S = 2.0
"""A path of an earlier step may leave this much later."""

_STAYS_S, _STAYED_S = (8.0, 4.0), 2.0
"""Times for which a new path stays out of the lane (the first one that is possible before a junction is used), and the
remaining time at which another path is searched. In between, the ego keeps its path and its speed.
"""

_SEEN_OUT_M, _KEPT_M = 60.0, 25.0
"""Distance before the end of the search's range at which the ego has to be out of the lane: for a new path, and for a
path of an earlier step.
"""

_FASTER_MPS = 6.0
"""Largest gain of speed assumed until then, so that no path reaches the end of the range before it has to be out."""

_BRISK_SHARE = 0.7
"""Least speed of a new path until the ego is out of the lane, as a share of its speed now: an ego that brakes for a gap
behind the next car stops the other vehicle, too."""

_EDGE_M = 0.2
"""Distance between the ego's body and the edge of its lane."""

_SHIFT_M = 15.0
"""Least distance in which the ego moves to the edge of its lane; a fast ego takes the time of `_ASIDE_MPS`."""

SLOW_SHARE = 0.6
"""Ego speed at the edge as a fraction of the speed limit, so that the other vehicle passes sooner, or a gap beside
it opens."""


class Side(IntEnum):
    """The side to which the ego leaves its lane; values are the signs of offsets."""

    RIGHT = -1
    LEFT = 1


@dataclass(frozen=True, slots=True)
class Leaving:
    """How a new path leaves the lane: on which side, and for how long."""

    side: Side
    stays_s: float


def ways_to_leave(offset_m: float) -> list[Leaving]:
    """The ways to leave the lane, in the order in which they are tried: first on the side on which the ego is
    already, else on the right."""
    sides = (Side.LEFT, Side.RIGHT) if offset_m > COLUMN_M else (Side.RIGHT, Side.LEFT)
    return [Leaving(side, stays_s) for stays_s in _STAYS_S for side in sides]


def leave_lane(cells: RoadCells, offset_m: float, speed_mps: float, leaving: Leaving | None = None) -> RoadCells:
    """`cells` in which every path leaves the lane soon, and no path uses an oncoming lane.

    The ego is at `offset_m` from the lane's middle. `leaving` is None for a path of an earlier step. The
    arrays of `cells` are changed.
    """
    offset = (np.arange(COLUMNS) - CENTRE) * COLUMN_M + cells.shift_m[:, None]
    cells.zone[cells.zone == ONCOMING_LANE] = OFF_ROAD
    if leaving is not None:
        cells.zone[leaving.side * offset < min(leaving.side * offset_m, 0.0) - COLUMN_M] = OFF_ROAD
    clear_m, late_s, stays_s = _CLEAR_BEFORE_M, _LATE_S, _STAYED_S
    if leaving is not None:
        clear_m, late_s, stays_s = _CLEAR_M, 0.0, leaving.stays_s
    left_s = late_s + _LEAVES_S + max(clear_m - abs(offset_m), 0.0) / _ASIDE_MPS
    within_m = CELLS - (_KEPT_M if leaving is None else _SEEN_OUT_M)
    left_s = min(left_s, within_m / (speed_mps + _FASTER_MPS))
    first, last = round(left_s / STEP_S), round((left_s + stays_s) / STEP_S)
    cells.blocked[first : min(last, LAYERS)][:, np.abs(offset) < clear_m] = DURING
    return cells


def is_brisk(found: LatticePath) -> bool:
    """Whether the ego hardly brakes on a way until it is out of the lane."""
    out = np.flatnonzero(np.abs(found.offset_m) >= _CLEAR_BEFORE_M)
    until = found.speed_mps[: out[0] + 1 if len(out) else None]
    return bool(until.min() >= _BRISK_SHARE * until[0])


def along_edge(s_m: Float, offset_m: float, speed_mps: float, right_m: Float, half_width_m: float) -> Float:
    """Offsets at `s_m` (N,) of a path that begins at `offset_m` and leads to the right edge of the lane, `right_m`
    (N,)."""
    edge_m = np.minimum(right_m + half_width_m + _EDGE_M, 0.0)
    shift_m = max(_SHIFT_M, speed_mps * abs(float(edge_m[0]) - offset_m) / _ASIDE_MPS)
    share = np.clip((s_m - s_m[0]) / shift_m, 0.0, 1.0)
    return np.asarray(offset_m + share * (edge_m - offset_m))
