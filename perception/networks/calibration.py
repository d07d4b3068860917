"""Calibration: chooses the range of values that the eight bits of an activation represent.

A range with every value spends levels on rare values; a narrower range clips them. The methods differ in this choice:

* `max`: from the smallest to the largest value that was seen.
* `percentile`: the same without a fraction of the values at each end.
* `entropy`: the clip at which the distribution of the quantized values is nearest to the true one by the
  Kullback-Leibler divergence (Migacz, "8-bit inference with TensorRT", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Float = NDArray[np.float64]

BINS = 2048
"""Bins of a histogram."""

LEVELS = 256
"""Values that eight bits can take."""

TAIL = 1e-4
"""Fraction of the values that `percentile` clips at each end."""

TRIED = 64
"""Number of clipping limits that `entropy` tries, evenly spaced from `TRIED_MIN` to 1 times the largest magnitude."""

TRIED_MIN = 0.1


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram of values: `counts` of bins that divide the range from `low` to `high` evenly."""

    low: float
    high: float
    counts: Float

    @property
    def edges(self) -> Float:
        return np.linspace(self.low, self.high, len(self.counts) + 1)


@dataclass(frozen=True, slots=True)
class Range:
    """The values of the levels 0 and `LEVELS` - 1; the value zero is always one of the levels."""

    low: float
    high: float

    @property
    def scale(self) -> float:
        """Difference of the values of two neighbouring levels."""
        return max(self.high - self.low, 1e-12) / (LEVELS - 1)

    @property
    def zero_point(self) -> int:
        """The level of the value zero."""
        return round(min(max(-self.low / self.scale, 0.0), LEVELS - 1.0))


Calibrator = Callable[[Histogram], Range]


def by_max(histogram: Histogram) -> Range:
    return _with_zero(histogram.low, histogram.high)


def by_percentile(histogram: Histogram, tail: float = TAIL) -> Range:
    share = np.concatenate([[0.0], np.cumsum(histogram.counts)]) / histogram.counts.sum()
    low, high = np.interp([tail, 1.0 - tail], share, histogram.edges)
    return _with_zero(float(low), float(high))


def by_entropy(histogram: Histogram) -> Range:
    """The range with the smallest divergence among `TRIED` symmetric clipping limits."""
    largest = max(-histogram.low, histogram.high)
    best, least = by_max(histogram), np.inf
    for share in np.linspace(TRIED_MIN, 1.0, TRIED):
        clip = share * largest
        tried = _with_zero(max(histogram.low, -clip), min(histogram.high, clip))
        divergence = _divergence(histogram, tried)
        if divergence < least:
            best, least = tried, divergence
    return best


CALIBRATORS: dict[str, Calibrator] = {
    "max": by_max,
    "percentile 99.99": by_percentile,
    "percentile 99.9": partial(by_percentile, tail=1e-3),
    "entropy": by_entropy,
}


def _with_zero(low: float, high: float) -> Range:
    return Range(min(low, 0.0), max(high, 0.0))


def _divergence(histogram: Histogram, tried: Range) -> float:
    """Kullback-Leibler divergence between the clipped histogram and the same, averaged over the bins of each level."""
    edges = histogram.edges
    middles = 0.5 * (edges[1:] + edges[:-1])
    inside = (middles >= tried.low) & (middles <= tried.high)
    if not inside.any():
        return float("inf")
    true = histogram.counts[inside].astype(np.float64)
    true[0] += histogram.counts[middles < tried.low].sum()  # clipped values count in the outermost bins
    true[-1] += histogram.counts[middles > tried.high].sum()
    own = histogram.counts[inside]
    level = np.round((middles[inside] - tried.low) / tried.scale).astype(int)
    filled = own > 0
    total = np.bincount(level, weights=own, minlength=LEVELS)
    bins = np.bincount(level, weights=filled.astype(float), minlength=LEVELS)
    quantized = np.where(filled, total[level] / np.maximum(bins[level], 1.0), 0.0)
    p, q = true / true.sum(), quantized / max(quantized.sum(), 1e-12)
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / np.maximum(q[seen], 1e-9))).sum())


def histograms(model: nn.Module, layers: Iterable[str], run: Callable[[], None]) -> dict[str, Histogram]:
    """Histograms of the inputs of the modules named in `layers`, over the inputs that `run` passes through `model`.

    `run` is called twice, for the ranges and for the counts, and must pass the same inputs both times.
    """
    names = list(layers)
    ranges = {name: [np.inf, -np.inf] for name in names}
    counts: dict[str, Float] = {}

    def see_range(name: str, x: torch.Tensor) -> None:
        low, high = (float(value) for value in torch.aminmax(x))
        ranges[name] = [min(ranges[name][0], low), max(ranges[name][1], high)]

    def count(name: str, x: torch.Tensor) -> None:
        low, high = ranges[name]
        counted = torch.histc(x.float(), BINS, low, high).double().cpu().numpy()
        counts[name] = counts.get(name, np.zeros(BINS)) + counted

    _watched(model, names, see_range, run)
    for name, (low, high) in ranges.items():
        if low == high:
            ranges[name] = [low - 1e-6, high + 1e-6]
    reached = [name for name in names if np.isfinite(ranges[name][0])]
    _watched(model, reached, count, run)
    return {name: Histogram(ranges[name][0], ranges[name][1], counts[name]) for name in reached}


def _watched(
    model: nn.Module, names: list[str], see: Callable[[str, torch.Tensor], None], run: Callable[[], None]
) -> None:
    """Call `run`, and call `see(name, input)` for each input of each named module."""

    def hook(name: str, module: nn.Module, inputs: Any) -> None:
        see(name, inputs[0].detach())

    hooks = [model.get_submodule(name).register_forward_pre_hook(partial(hook, name)) for name in names]
    try:
        with torch.no_grad():
            run()
    finally:
        for each in hooks:
            each.remove()
