"""Radar health monitor: detects sweeps that are missing, empty or frozen."""

from __future__ import annotations

import numpy as np

from av_core.types import Float, RadarSweep
from perception.health.confidence import ConfidenceFilter
from perception.health.monitor import Fault, Health


class RadarMonitor:
    """Monitors one radar; call `update` once per tick with its sweep, or None where it sent none.

    An empty sweep counts as missing: even on an open plain the road sends returns. The rays are drawn anew in every
    tick, so no two sweeps are the same.
    """

    def __init__(self) -> None:
        self._confidence = ConfidenceFilter()
        self._last: Float | None = None

    def update(self, sweep: RadarSweep | None, time_s: float) -> Health:
        """Health after this sweep, as `HealthMonitor` gives it for a camera."""
        faults: tuple[Fault, ...] = ()
        if sweep is None or not len(sweep.points):
            faults = (Fault.MISSING,)
        else:
            if self._last is not None and np.array_equal(sweep.points, self._last):
                faults = (Fault.FROZEN,)
            self._last = sweep.points
        self._confidence.update(bool(faults), time_s)
        return Health(faults, self._confidence.confidence, self._confidence.unwell_s)
