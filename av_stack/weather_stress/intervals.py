"""Means over drives with different seeds, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of `count` values with its 95 % confidence interval by Student's t; no interval for a single value."""

    mean: float
    low: float | None
    high: float | None
    count: int


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The mean of values that are independent of one another; None without any."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, None, None, len(values))
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2.0, len(values) - 1) * error)
    return Interval(mean, mean - half, mean + half, len(values))


def limit_interval(limits: Sequence[float], half_bracket: float, ends: tuple[float, float]) -> Interval | None:
    """As `mean_interval`, for limits that are uncertain by `half_bracket` each; the interval is cut at the `ends`."""
    found = mean_interval(limits)
    if found is None or found.low is None or found.high is None:
        return found
    low, high = max(found.low - half_bracket, min(ends)), min(found.high + half_bracket, max(ends))
    return Interval(found.mean, low, high, found.count)
