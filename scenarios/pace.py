"""How fast the ego drives where nothing holds it: its mean speed over the limit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from av_stack.types import Float

STANDING_MPS = 0.5
SAME_SPEED_MPS = 0.005  # per tick: less is holding the speed, neither braking nor pulling away


@dataclass(slots=True)
class Pace:
    """Distance driven over the distance at the limit, outside stops for lights and queues.

    A stop is a stand (below 0.5 m/s) during which a red light or a vehicle standing in the ego's lane is ahead, with
    the braking right before it and the pulling away right after it: the ticks over which the speed falls to it and
    rises from it without a pause. All else counts: turns, giving way, following, braking for a light that turns green
    before the ego stands, stands for walkers, the start and the arrival. The limit is the one at the ego's place.
    """

    _ticks: list[tuple[float, float, float, bool]] = field(default_factory=list)

    def update(self, speed_mps: float, moved_m: float, limit_mps: float, step_s: float, is_held: bool) -> None:
        """One tick; `is_held` says that a red light or a standing vehicle is ahead."""
        self._ticks.append((speed_mps, moved_m, limit_mps * step_s, is_held))

    @property
    def in_stop(self) -> NDArray[np.bool_]:
        """(N,) which ticks belong to stops."""
        ticks = np.array(self._ticks).reshape(-1, 4)
        return stops(ticks[:, 0], ticks[:, 3].astype(bool))

    @property
    def ratio(self) -> float:
        """0 where the ego never moved freely."""
        if not self._ticks:
            return 0.0
        _, moved, at_limit, _ = (np.array(column) for column in zip(*self._ticks, strict=True))
        free = ~self.in_stop
        total = float(at_limit[free].sum())
        return float(moved[free].sum()) / total if total > 0.0 else 0.0


def stops(speed_mps: Float, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(N,) ticks that belong to stops, as `Pace` has them."""
    standing = np.abs(speed_mps) < STANDING_MPS
    starts = np.diff(standing, prepend=False) & standing
    stand = np.cumsum(starts)  # the number of the stand that a standing tick belongs to
    result: NDArray[np.bool_] = standing & np.isin(stand, stand[standing & held])
    for rows, step in ((range(len(result) - 2, -1, -1), 1), (range(1, len(result)), -1)):
        for row in rows:
            if result[row + step] and not result[row] and speed_mps[row] > speed_mps[row + step] + SAME_SPEED_MPS:
                result[row] = True
    return result
