"""Statistics of what limited the ego's speed over a drive: time and lost distance for each kind of constraint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from av_core.types import Constraint, ConstraintKind

STANDING_MPS = 0.1
"""Below this speed the ego counts as standing."""


@dataclass(frozen=True, slots=True)
class _Tick:
    constraint: Constraint | None
    is_standing: bool
    step_s: float
    lost_m: float


@dataclass(slots=True)
class ConstraintTimes:
    """Collects the constraint on the plan at every tick; call `add` once per tick."""

    _ticks: list[_Tick] = field(default_factory=list)

    def add(self, constraint: Constraint | None, speed_mps: float, limit_mps: float, step_s: float) -> None:
        """Add one tick of `step_s` at the true speed `speed_mps`.

        The lost distance is how much farther the ego would have come at the speed limit.
        """
        lost_m = max(limit_mps - abs(speed_mps), 0.0) * step_s
        self._ticks.append(_Tick(constraint, abs(speed_mps) < STANDING_MPS, step_s, lost_m))

    def figures(self, in_stop: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
        """Seconds and lost metres for each kind, the longest first, without kinds that never limited the plan.

        `in_stop` (N,) marks the ticks that belong to stops for lights and queues (`scenarios.judging.pace`). It may
        have one entry more than there are ticks here, when an error ended the drive after the tick was judged.
        """
        found = {kind: self._of_kind(kind, in_stop) for kind in ConstraintKind}
        longest_first = sorted(found.items(), key=lambda item: -item[1]["time_s"])
        return {kind.value: figures for kind, figures in longest_first if figures["time_s"] > 0.0}

    def _of_kind(self, kind: ConstraintKind, in_stop: NDArray[np.bool_]) -> dict[str, float]:
        pairs = zip(self._ticks, in_stop[: len(self._ticks)].tolist(), strict=True)
        mine = [(tick, stop) for tick, stop in pairs if tick.constraint is not None and tick.constraint.kind is kind]
        return {
            "time_s": round(sum(tick.step_s for tick, _ in mine), 3),
            "standing_s": round(sum(tick.step_s for tick, _ in mine if tick.is_standing), 3),
            "lost_m": round(sum(tick.lost_m for tick, _ in mine), 2),
            "outside_stops_s": round(sum(tick.step_s for tick, stop in mine if not stop), 3),
            "outside_stops_lost_m": round(sum(tick.lost_m for tick, stop in mine if not stop), 2),
        }

    def longest_stand(self) -> dict[str, Any] | None:
        """The longest stand for one kind of constraint, with its last object and distance; None without a stand.

        The object may change during the stand, since a tracker may give a vehicle a new id while the ego stands behind
        it.
        """
        best: tuple[float, Constraint] | None = None
        time_s, last = 0.0, None
        for tick in self._ticks:
            constraint = tick.constraint if tick.is_standing else None
            kind = None if constraint is None else constraint.kind
            time_s = time_s + tick.step_s if kind == last else tick.step_s
            last = kind
            if constraint is not None and (best is None or time_s >= best[0]):
                best = time_s, constraint
        if best is None:
            return None
        constraint = best[1]
        return {
            "time_s": round(best[0], 3),
            "kind": constraint.kind.value,
            "object_id": constraint.object_id,
            "distance_m": None if constraint.distance_m is None else round(constraint.distance_m, 2),
        }
