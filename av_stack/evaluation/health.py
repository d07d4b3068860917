"""Evaluates camera health monitoring: how soon faults are noticed, and how often good pictures raise an alarm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from av_core.types import CameraImage, Image
from av_stack.evaluation.table import Figure
from perception.health.monitor import PICTURE_FAULTS, Fault, HealthMonitor

GOOD, BROKEN = 6, 2
"""A test shows `GOOD` good pictures, then up to `BROKEN` faulty ones, within which the fault must be noticed."""

NOISE_SIGMA = 40.0
"""Standard deviation of the noise of a noisy picture, in grey levels."""


@dataclass(frozen=True, slots=True)
class HealthSample:
    """A picture, and the ego's speed when it was taken."""

    image: CameraImage
    speed_mps: float


def break_picture(fault: Fault, now: Image, before: Image, rng: np.random.Generator) -> Image | None:
    """`now` as a camera with `fault` would send it; `before` is the picture that it sent last. None if none is sent."""
    if fault is Fault.MISSING:
        return None
    if fault is Fault.BLACK:
        return np.zeros_like(now)
    if fault is Fault.FROZEN:
        return before
    if fault is Fault.OVEREXPOSED:
        gain = 2.0 * 255.0 / max(float(np.median(now)), 4.0)  # half of the picture is burnt out, even at night
        return np.asarray(np.clip(now.astype(np.float32) * gain + 60.0, 0, 255), dtype=np.uint8)
    if fault is Fault.NOISY:
        return np.asarray(np.clip(now + rng.normal(0.0, NOISE_SIGMA, now.shape), 0, 255), dtype=np.uint8)
    torn = now.copy()
    at = int(rng.uniform(0.3, 0.7) * len(now))
    torn[at:] = np.roll(now[at:], int(rng.uniform(0.15, 0.5) * now.shape[1]), axis=1)
    return torn


@dataclass(slots=True)
class HealthEvaluation:
    """Scores of the health monitor; call `add` with a run of at least `GOOD + BROKEN` good pictures in one weather.

    `raw`, `add_raw` and `figures` as in the other evaluations.
    """

    noticed: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    alarms: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))

    def add(self, weather: str, samples: Sequence[HealthSample], rng: np.random.Generator) -> None:
        monitor = HealthMonitor()
        for sample in samples:
            health = monitor.update(sample.image, sample.image.stamp.time_s, sample.speed_mps)
            self.alarms[weather].append(bool(health.faults))
        for fault in PICTURE_FAULTS:
            if fault is Fault.FROZEN and abs(samples[-1].speed_mps) < 1.0:
                continue  # a standing car may see the same picture again
            self.noticed[fault.value].append(_is_noticed(fault, samples[: GOOD + BROKEN], rng))

    def raw(self) -> dict[str, dict[str, list[bool]]]:
        return {"noticed": dict(self.noticed), "alarms": dict(self.alarms)}

    def add_raw(self, raw: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        for name, own in (("noticed", self.noticed), ("alarms", self.alarms)):
            for key, values in raw[name].items():
                own[key] += [bool(value) for value in values]

    def figures(self) -> list[Figure]:
        out = []
        for fault in PICTURE_FAULTS:
            seen = self.noticed.get(fault.value, [])
            if seen:
                value = float(np.mean(seen))
                out.append(Figure("health", "noticed within 2 pictures", fault.value, value, "", len(seen), 1.0, True))
        every = [alarm for alarms in self.alarms.values() for alarm in alarms]
        if every:
            out.append(Figure("health", "good pictures taken for faulty", "all", float(np.mean(every)), "", len(every)))
        for weather, alarms in sorted(self.alarms.items()):
            if any(alarms):
                value = float(np.mean(alarms))
                out.append(Figure("health", "good pictures taken for faulty", weather, value, "", len(alarms)))
        return out


def _is_noticed(fault: Fault, samples: Sequence[HealthSample], rng: np.random.Generator) -> bool:
    monitor, shown = HealthMonitor(), samples[0].image.bgr
    for number, sample in enumerate(samples):
        image: CameraImage | None = sample.image
        if number >= GOOD:
            broken = break_picture(fault, sample.image.bgr, shown, rng)
            image = None if broken is None else replace(sample.image, bgr=broken)
        health = monitor.update(image, sample.image.stamp.time_s, sample.speed_mps)
        if number >= GOOD and fault in health.faults:
            return True
        shown = shown if image is None else image.bgr
    return False
