"""The event camera (DVS): a pixel sends an event when the log brightness of the rgb picture crosses a threshold.

Brightness is assumed to change linearly between two pictures. An event is sent each time that the brightness has
changed by the threshold since the pixel's last event (H. Rebecq et al., *ESIM: an Open Event Camera Simulator*, CoRL
2018). CARLA's sensor uses the same model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
EVENT = np.dtype([("x", "<u2"), ("y", "<u2"), ("t_ns", "<i8"), ("polarity", "u1")])  # packed: 13 bytes
LUMA_BGR = np.array([0.1140, 0.5870, 0.2989], dtype=np.float32)
UNCHANGED = 1e-6
LEAST_THRESHOLD = 0.01
MOST_CROSSINGS, MOST_STEPS = 4_000_000, 2000
"""Limits of events and of threshold steps per picture; they are reached only with extremely small thresholds."""


@dataclass(frozen=True, slots=True)
class DvsSpec:
    """The blueprint's attributes, with CARLA's defaults; thresholds are changes of `EventCamera.brightness`."""

    positive_threshold: float = 0.3
    negative_threshold: float = 0.3
    sigma_positive: float = 0.0
    sigma_negative: float = 0.0
    refractory_ns: int = 0
    use_log: bool = True
    log_eps: float = 0.001

    @staticmethod
    def of(number: Callable[[str, float], float], use_log: bool) -> DvsSpec:
        """From a blueprint's attributes; `number(name, default)` reads one."""
        return DvsSpec(
            max(number("positive_threshold", 0.3), LEAST_THRESHOLD),
            max(number("negative_threshold", 0.3), LEAST_THRESHOLD),
            number("sigma_positive_threshold", 0.0), number("sigma_negative_threshold", 0.0),
            int(number("refractory_period_ns", 0)), use_log, max(number("log_eps", 0.001), 1e-9),
        )  # fmt: skip


class EventCamera:
    """One event camera; keeps the last picture, and the level and time of each pixel's last event."""

    def __init__(self, spec: DvsSpec, rng: np.random.Generator) -> None:
        self.spec = spec
        self._rng = rng
        self._last: F32 | None = None
        self._last_ns = 0
        self._level: F32
        self._fired_ns: NDArray[np.int64]

    def events(self, bgra: NDArray[np.uint8], time_s: float) -> NDArray[np.void]:
        """Events (N,) of EVENT since the last picture, sorted by time; none for the first picture."""
        seen, now_ns = self.brightness(bgra), round(time_s * 1e9)
        if self._last is None or self._last.shape != seen.shape:
            self._level = seen.copy()
            self._fired_ns = np.full(seen.shape, -(2**62), dtype=np.int64)
            found: NDArray[np.void] = np.zeros(0, dtype=EVENT)
        else:
            found = self._crossings(self._last, seen, now_ns - self._last_ns)
        self._last, self._last_ns = seen, now_ns
        return found

    def brightness(self, bgra: NDArray[np.uint8]) -> F32:
        """(H, W) log(eps + I / 255) of luma I from 0 to 255, or I itself when `use_log` is off."""
        grey: F32 = bgra[..., :3].astype(np.float32) @ LUMA_BGR
        if not self.spec.use_log:
            return grey
        level: F32 = np.log(np.float32(self.spec.log_eps) + grey / np.float32(255.0))
        return level

    def _crossings(self, before: F32, after: F32, span_ns: int) -> NDArray[np.void]:
        rows, columns = np.nonzero(np.abs(after - before) > UNCHANGED)
        low, high = before[rows, columns].astype(np.float64), after[rows, columns].astype(np.float64)
        rises = high >= low
        sign = np.where(rises, 1.0, -1.0)
        step = sign * self._thresholds(rises)
        level = self._level[rows, columns].astype(np.float64)
        made = []
        crossings = 0
        for _ in range(MOST_STEPS):
            if not len(rows) or crossings >= MOST_CROSSINGS:
                break  # the remaining events are sent with the next picture
            crossings += len(rows)
            level = level + step
            # A level may have been crossed before this span, if the newly drawn threshold is smaller or the level was
            # reached exactly. The event is sent at the beginning of the span; otherwise it would never be sent.
            crossed = np.where(rises, level <= high, level >= high)
            rows, columns, low, high = rows[crossed], columns[crossed], low[crossed], high[crossed]
            rises, step, level = rises[crossed], step[crossed], level[crossed]
            time_ns = self._last_ns + (np.clip((level - low) / (high - low), 0.0, 1.0) * span_ns).astype(np.int64)
            self._level[rows, columns] = level
            ready = time_ns - self._fired_ns[rows, columns] >= self.spec.refractory_ns
            self._fired_ns[rows[ready], columns[ready]] = time_ns[ready]
            batch = np.zeros(int(ready.sum()), dtype=EVENT)
            batch["x"], batch["y"], batch["t_ns"] = columns[ready], rows[ready], time_ns[ready]
            batch["polarity"] = rises[ready]
            made.append(batch)
        events = np.concatenate(made) if made else np.zeros(0, dtype=EVENT)
        return events[np.argsort(events["t_ns"], kind="stable")]

    def _thresholds(self, rises: NDArray[np.bool_]) -> NDArray[np.float64]:
        s = self.spec
        threshold = np.where(rises, s.positive_threshold, s.negative_threshold)
        sigma = np.where(rises, s.sigma_positive, s.sigma_negative)
        if sigma.any():
            threshold = np.maximum(threshold + self._rng.standard_normal(len(rises)) * sigma, LEAST_THRESHOLD)
        return threshold
