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

STEP_S = 0.05
"""Time between two pictures, s."""


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


@dataclass(frozen=True, slots=True)
class PassingVehicle:
    """A car that crosses right ahead; a piece of the scene, cut out of the picture, stands for its `side` (H, W, 3).

    `left_px` is its left edge in the first picture, just outside of it; `step_px` its way from one picture to the next,
    to the right where positive. Its roof is at the height of the camera.
    """

    side: Image
    left_px: int
    step_px: int

    @staticmethod
    def draw(image: CameraImage, rng: np.random.Generator) -> PassingVehicle:
        """A car of 4.5 m by 1.5 m, 4.5 to 9 m ahead, at 8 to 20 m/s."""
        height, width = image.bgr.shape[:2]
        focal_px = 0.5 * width / np.tan(0.5 * image.camera.fov_x_rad)
        px_per_m = focal_px / rng.uniform(4.5, 9.0)
        wide, high = min(int(4.5 * px_per_m), width - 1), min(int(1.5 * px_per_m), height // 2)
        step = int(rng.uniform(8.0, 20.0) * STEP_S * px_per_m)
        top, left = int(rng.integers(height - high)), int(rng.integers(width - wide))
        side = image.bgr[top : top + high, left : left + wide].copy()
        return PassingVehicle(side, width, -step) if rng.random() < 0.5 else PassingVehicle(side, -wide, step)

    def paint(self, scene: Image, number: int) -> Image:
        """`scene`, the `number`th picture from 0, with the car in it."""
        high, wide = self.side.shape[:2]
        left, top = self.left_px + number * self.step_px, len(scene) // 2
        first, end = max(left, 0), min(left + wide, scene.shape[1])
        painted = scene.copy()
        if first < end:
            painted[top : top + high, first:end] = self.side[:, first - left : end - left]
        return painted


@dataclass(slots=True)
class HealthEvaluation:
    """Scores of the health monitor; call `add` with a run of at least `GOOD + BROKEN` good pictures in one weather.

    `passing` holds, for each picture with a `PassingVehicle`, whether it was taken for torn. `raw`, `add_raw` and
    `figures` as in the other evaluations.
    """

    noticed: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    alarms: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    passing: list[bool] = field(default_factory=list)

    def add(self, weather: str, samples: Sequence[HealthSample], rng: np.random.Generator) -> None:
        monitor = HealthMonitor()
        for sample in samples:
            health = monitor.update(sample.image, sample.image.stamp.time_s, sample.speed_mps)
            self.alarms[weather].append(bool(health.faults))
        for fault in PICTURE_FAULTS:
            if fault is Fault.FROZEN and abs(samples[-1].speed_mps) < 1.0:
                continue  # a standing car may see the same picture again
            self.noticed[fault.value].append(_is_noticed(fault, samples[: GOOD + BROKEN], rng))
        self.passing += _is_passing_torn(samples, rng.spawn(1)[0])  # of its own, so that the faults stay the same

    def raw(self) -> dict[str, Any]:
        return {"noticed": dict(self.noticed), "alarms": dict(self.alarms), "passing": list(self.passing)}

    def add_raw(self, raw: Mapping[str, Any]) -> None:
        self.passing += [bool(value) for value in raw["passing"]]
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
        if self.passing:
            share = float(np.mean(self.passing))
            out.append(Figure("health", "pictures taken for torn", "a vehicle passes", share, "", len(self.passing)))
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


def _is_passing_torn(samples: Sequence[HealthSample], rng: np.random.Generator) -> list[bool]:
    monitor, vehicle, torn = HealthMonitor(), PassingVehicle.draw(samples[0].image, rng), []
    for number, sample in enumerate(samples):
        image = replace(sample.image, bgr=vehicle.paint(sample.image.bgr, number))
        health = monitor.update(image, image.stamp.time_s, sample.speed_mps)
        torn.append(Fault.TORN in health.faults)
    return torn
