"""The ego's pace: its mean speed as a fraction of the speed limit, outside stops for lights and queues."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float

STANDING_MPS = 0.5
"""Below this speed the ego stands."""

SAME_SPEED_MPS = 0.005  # per tick; a smaller change is constant speed, neither braking nor accelerating


@dataclass(slots=True)
class Pace:
    """Distance driven as a fraction of the distance at the speed limit, outside stops for lights and queues.

    A stop has three parts: the ticks in which the ego stands (below 0.5 m/s) with a red light or a standing vehicle
    ahead in its lane, the ticks right before in which its speed falls without a pause, and the ticks right after in
    which it rises without a pause. Everything else counts: turns, giving way, following, braking for a light that turns
    green before the ego stands, standing for walkers, the start and the arrival. The speed limit is the one at the
    ego's position.
    """

    _ticks: list[tuple[float, float, float, bool]] = field(default_factory=list)

    def update(self, speed_mps: float, moved_m: float, limit_mps: float, step_s: float, is_held: bool) -> None:
        """Add one tick; `is_held` means that a red light or a standing vehicle is ahead."""
        self._ticks.append((speed_mps, moved_m, limit_mps * step_s, is_held))

    @property
    def in_stop(self) -> NDArray[np.bool_]:
        """(N,) marks the ticks that belong to stops."""
        ticks = np.array(self._ticks).reshape(-1, 4)
        return stops(ticks[:, 0], ticks[:, 3].astype(bool))

    @property
    def ratio(self) -> float:
        """Mean speed as a fraction of the limit; 0 if the ego never moved outside stops."""
        if not self._ticks:
            return 0.0
        _, moved, at_limit, _ = (np.array(column) for column in zip(*self._ticks, strict=True))
        free = ~self.in_stop
        total = float(at_limit[free].sum())
        return float(moved[free].sum()) / total if total > 0.0 else 0.0


def stops(speed_mps: Float, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(N,) marks the ticks that belong to stops, as `Pace` defines them."""
    standing = np.abs(speed_mps) < STANDING_MPS
    starts = np.diff(standing, prepend=False) & standing
    stand = np.cumsum(starts)  # the number of the stand that a standing tick belongs to
    result: NDArray[np.bool_] = standing & np.isin(stand, stand[standing & held])
    for rows, step in ((range(len(result) - 2, -1, -1), 1), (range(1, len(result)), -1)):
        for row in rows:
            if result[row + step] and not result[row] and speed_mps[row] > speed_mps[row + step] + SAME_SPEED_MPS:
                result[row] = True
    return result
