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
    RoadCells,
)

_CLEAR_M, _CLEAR_BEFORE_M = 3.0, 2.6
"""The ego has left its lane when it is so far from the lane's middle: half its width, half a van's, and 0.9 m. A way
that was found before, and has been smoothed since, may keep less than that.
"""

_LEAVES_S, _ASIDE_MPS = 1.5, 0.8
"""It has to have left after this time, and the time that the rest of the way takes at this speed aside."""

_LATE_S = 2.0
"""A way that was found before may leave so much later."""

_STAYS_S, _STAYED_S = (8.0, 4.0), 2.0
"""Times for which a new way stays out of the lane, the first that is possible before a junction; and what is left of it
when another way is looked for. In between, the ego keeps its way and its speed.
"""

_SEEN_OUT_M, _KEPT_M = 60.0, 25.0
"""The ego has to be out of the lane so far before the end of what the search looks at: on a new way, and on one that
was found before.
"""

_FASTER_MPS = 6.0
"""By so much it may speed up until then: no way may reach the end of what is looked at before it has to be out."""

_EDGE_M = 0.2
"""Distance that is left between its body and the edge of its lane."""

_SHIFT_M = 15.0
"""Distance in which it moves to the edge of its lane."""

SLOW_SHARE = 0.6
"""Share of the limit that it drives at the edge, so that the other one is past it sooner, or a gap beside it comes."""


class Side(IntEnum):
    """Where the ego goes: values are signs of offsets."""

    RIGHT = -1
    LEFT = 1


@dataclass(frozen=True, slots=True)
class Leaving:
    """How a new way leaves the lane: on which side, and for how long."""

    side: Side
    stays_s: float


def ways_to_leave(offset_m: float) -> list[Leaving]:
    """In the order in which they are tried: on the side on which the ego is already, else first on the right."""
    sides = (Side.LEFT, Side.RIGHT) if offset_m > COLUMN_M else (Side.RIGHT, Side.LEFT)
    return [Leaving(side, stays_s) for stays_s in _STAYS_S for side in sides]


def leave_lane(cells: RoadCells, offset_m: float, speed_mps: float, leaving: Leaving | None = None) -> RoadCells:
    """`cells` in which every way leaves the lane soon, and no way uses an oncoming lane.

    The ego is at `offset_m` from the lane's middle. `leaving` is None for a way that was found before. The
    arrays of `cells` are changed.
    """
    offset = (np.arange(COLUMNS) - CENTRE) * COLUMN_M + cells.shift_m[:, None]
    cells.zone[cells.zone == ONCOMING_LANE] = OFF_ROAD
    if leaving is not None:
        cells.zone[leaving.side * offset < -COLUMN_M] = OFF_ROAD
    clear_m, late_s, stays_s = _CLEAR_BEFORE_M, _LATE_S, _STAYED_S
    if leaving is not None:
        clear_m, late_s, stays_s = _CLEAR_M, 0.0, leaving.stays_s
    left_s = late_s + _LEAVES_S + max(clear_m - abs(offset_m), 0.0) / _ASIDE_MPS
    within_m = CELLS - (_KEPT_M if leaving is None else _SEEN_OUT_M)
    left_s = min(left_s, within_m / (speed_mps + _FASTER_MPS))
    first, last = round(left_s / STEP_S), round((left_s + stays_s) / STEP_S)
    cells.blocked[first : min(last, LAYERS)][:, np.abs(offset) < clear_m] = DURING
    return cells


def along_edge(s_m: Float, offset_m: float, right_m: Float, half_width_m: float) -> Float:
    """Offsets at `s_m` (N,) of a way that begins at `offset_m` and leads to the edge of the lane, `right_m` (N,)."""
    edge_m = np.minimum(right_m + half_width_m + _EDGE_M, 0.0)
    share = np.clip((s_m - s_m[0]) / _SHIFT_M, 0.0, 1.0)
    return np.asarray(offset_m + share * (edge_m - offset_m))
