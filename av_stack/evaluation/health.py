"""Evaluates the camera health monitor: how soon it notices faults, and how many good pictures it reports as faulty."""

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
"""Numbers of good and then faulty pictures in a test; the fault must be noticed in one of the faulty pictures."""

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
    """The picture `now` with `fault` applied; `before` is the last picture sent. None if the picture is missing."""
    if fault is Fault.MISSING:
        return None
    if fault is Fault.BLACK:
        return np.zeros_like(now)
    if fault is Fault.FROZEN:
        return before
    if fault is Fault.OVEREXPOSED:
        gain = 2.0 * 255.0 / max(float(np.median(now)), 4.0)  # half of the picture saturates, even at night
        return np.asarray(np.clip(now.astype(np.float32) * gain + 60.0, 0, 255), dtype=np.uint8)
    if fault is Fault.NOISY:
        return np.asarray(np.clip(now + rng.normal(0.0, NOISE_SIGMA, now.shape), 0, 255), dtype=np.uint8)
    torn = now.copy()
    at = int(rng.uniform(0.3, 0.7) * len(now))
    torn[at:] = np.roll(now[at:], int(rng.uniform(0.15, 0.5) * now.shape[1]), axis=1)
    return torn


@dataclass(frozen=True, slots=True)
class PassingVehicle:
    """A car that crosses close ahead, drawn as a patch that moves sideways; its roof is at the height of the camera.

    * `side` (H, W, 3): the patch, cut out of the picture.
    * `left_px`: its left edge in the first picture, just outside the picture.
    * `step_px`: its motion from one picture to the next, positive to the right.
    """

    side: Image
    left_px: int
    step_px: int

    @staticmethod
    def draw(image: CameraImage, rng: np.random.Generator) -> PassingVehicle:
        """A random car: 4.5 m long, 1.5 m high, 4.5 to 9 m ahead, at 8 to 20 m/s from either side."""
        height, width = image.bgr.shape[:2]
        focal_px = 0.5 * width / np.tan(0.5 * image.camera.fov_x_rad)
        px_per_m = focal_px / rng.uniform(4.5, 9.0)
        wide, high = min(int(4.5 * px_per_m), width - 1), min(int(1.5 * px_per_m), height // 2)
        step = int(rng.uniform(8.0, 20.0) * STEP_S * px_per_m)
        top, left = int(rng.integers(height - high)), int(rng.integers(width - wide))
        side = image.bgr[top : top + high, left : left + wide].copy()
        return PassingVehicle(side, width, -step) if rng.random() < 0.5 else PassingVehicle(side, -wide, step)

    def paint(self, scene: Image, number: int) -> Image:
        """A copy of `scene`, the picture with index `number`, with the car drawn into it."""
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

    * `noticed`: for each fault and test, whether the monitor noticed the fault.
    * `alarms`: for each weather and good picture, whether the monitor reported a fault.
    * `passing`: for each picture with a `PassingVehicle`, whether the monitor reported it as torn.

    `raw` gives the scores for a file, `add_raw` adds them from one, and `figures` summarises them.
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
        # A generator of its own: the faults' random numbers do not depend on this part.
        self.passing += _reports_torn(samples, rng.spawn(1)[0])

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


def _reports_torn(samples: Sequence[HealthSample], rng: np.random.Generator) -> list[bool]:
    monitor, vehicle, torn = HealthMonitor(), PassingVehicle.draw(samples[0].image, rng), []
    for number, sample in enumerate(samples):
        image = replace(sample.image, bgr=vehicle.paint(sample.image.bgr, number))
        health = monitor.update(image, image.stamp.time_s, sample.speed_mps)
        torn.append(Fault.TORN in health.faults)
    return torn
