"""Noise on the commands to the ego."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from av_core.orders import Disturb, Order
from scenarios.script.actions import DisturbTable, Noise


class Disturbance:
    """Draws the noise of each tick while it is on; equal generators give equal noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._now: DisturbTable | None = None
        self._signs = (1.0, 1.0)

    def start(self, table: DisturbTable) -> None:
        """Disturb from now on; draws the signs of the means."""
        self._now = table
        self._signs = (float(self._rng.choice((1.0, -1.0))), float(self._rng.choice((1.0, -1.0))))

    def end(self) -> Iterator[Order]:
        """Leave the commands alone from now on."""
        if self._now is not None:
            self._now = None
            yield Disturb(0.0, 0.0)

    def step(self) -> Iterator[Order]:
        """The order of one tick."""
        if self._now is not None:
            throttle, steer = self._signs
            yield Disturb(self._draw(self._now.throttle, throttle), self._draw(self._now.steer, steer))

    def _draw(self, noise: Noise, sign: float) -> float:
        return float(self._rng.normal(sign * noise.mean, noise.deviation))
