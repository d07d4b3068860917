"""Whether the ego needs a run-up before a stream, and how much room for it there is.

An ego that starts right before a stream is slow on the whole way through it. One that starts some metres behind is fast
there: at 16 m/s it needs gaps of 2.0 s instead of 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planning.junctions.entry import Junction
from planning.signals import EgoOnRoute
from planning.traffic.conflicts import Conflict

RUN_UP_M = 5.0
"""Room from which an ego at rest gets through the shortest gaps."""

_FAST_MPS = 8.0
"""Slower vehicles leave longer gaps, or let the ego pass."""


def wants_run_up(conflict: Conflict, ego: EgoOnRoute, junctions: Sequence[Junction]) -> bool:
    """Whether an ego that has lost its patience stands before a fast road user that crosses its path.

    Not in a junction with a light: there the stream ends with its green, and behind the ego is the stop line. Nor with
    the tail on the ways of others in a junction: they cross behind the ego.
    """
    if not (ego.stands and ego.impatience == 1.0 and conflict.crosses and conflict.item.speed_mps >= _FAST_MPS):
        return False
    tail_s_m = ego.s_m - ego.rear_m
    return not any(
        (one.has_light and one.from_s_m <= conflict.low_s_m <= one.to_s_m) or one.free_s_m < tail_s_m < one.to_s_m
        for one in junctions
    )


def room_m(crossed: Sequence[Conflict], ego: EgoOnRoute, junctions: Sequence[Junction]) -> float:
    """Room before the nearest road user for which the ego wants a run-up; infinite if there is none.

    `crossed` are the conflicts for which it waits.
    """
    ways_m = [one.low_s_m - ego.front_s_m for one in crossed if wants_run_up(one, ego, junctions)]
    return min(ways_m, default=np.inf)
