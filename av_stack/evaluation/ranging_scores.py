"""Scores of ranging, tracking and the depth image, sample by sample, and the figures computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from av_stack.evaluation.table import Figure

FAR_M, BAND_M = 40.0, 10.0
"""Largest distance that is scored, and width of a band of distance, m."""

VEHICLES = ("car", "truck", "bus", "motorcycle", "bicycle")
MOVING_MPS = 0.3
"""Minimum speed of a vehicle that counts as moving, m/s."""

ELLIPSE_99 = 9.21
"""99 % quantile of the squared Mahalanobis distance with two degrees of freedom (chi-squared); its mean (NEES) is 2."""

GAP_FRAMES = (4, 21)
"""Minimum and maximum number of frames of 0.05 s in a gap between two sightings; after 1 s a track may be dropped."""


class PositionSample(NamedTuple):
    """A ranged object: true distance, relative error of the distance, and NEES of the position.

    NEES (normalised estimation error squared) is the squared error in units of the estimated covariance.
    """

    range_m: float
    error: float
    nees: float


class TrackSample(NamedTuple):
    """A track whose box was detected: the true kind, distance and speed, and the track's errors."""

    kind: str
    range_m: float
    speed_mps: float
    velocity_error_mps: float
    velocity_nees: float
    position_nees: float


class IdentitySample(NamedTuple):
    """Two consecutive sightings of a road user, `frames` apart, and whether both belong to the same track."""

    frames: int
    is_same: bool


class DepthSample(NamedTuple):
    """The depth pixels of one picture in one band of distance, on or off the road.

    `number` of pixels, `error_sum` of their absolute relative errors, and `within`, the number of pixels whose error is
    below two standard deviations.
    """

    weather: str
    band: int
    is_road: bool
    number: int
    error_sum: float
    within: int


@dataclass(slots=True)
class RangingScores:
    """The samples of one visit; `add_raw` adds those of other visits."""

    ranged: list[PositionSample] = field(default_factory=list)
    sighted: list[TrackSample] = field(default_factory=list)
    seen: list[IdentitySample] = field(default_factory=list)
    pixels: list[DepthSample] = field(default_factory=list)

    def raw(self) -> dict[str, list[Any]]:
        """The samples as plain values, for a file."""
        return {part.name: list(getattr(self, part.name)) for part in fields(self)}

    def add_raw(self, raw: Mapping[str, list[Any]]) -> None:
        """Add the samples in `raw`, which the method `raw` of another instance returned."""
        self.ranged += [PositionSample(*row) for row in raw["ranged"]]
        self.sighted += [TrackSample(*row) for row in raw["sighted"]]
        self.seen += [IdentitySample(*row) for row in raw["seen"]]
        self.pixels += [DepthSample(*row) for row in raw["pixels"]]

    def figures(self) -> list[Figure]:
        vehicles = [row for row in self.sighted if row.kind in VEHICLES and row.range_m <= FAR_M]
        within = [row.nees < ELLIPSE_99 for row in self.ranged if row.range_m < FAR_M]
        out = [*self._distances(), *_velocities(vehicles)]
        for group, inside in (
            ("distances", within),
            ("vehicles' positions", [row.position_nees < ELLIPSE_99 for row in vehicles]),
            ("vehicles' velocities", [row.velocity_nees < ELLIPSE_99 for row in vehicles]),
        ):
            out += _mean("ranging", "share inside the 99 % ellipse", f"{group} to 40 m", inside)
        return [*out, *self._identities(), *self._depths()]

    def _distances(self) -> Iterator[Figure]:
        name = "relative distance error, median"
        for group, low, high in (("0-40 m", 0.0, FAR_M), *_bands()):
            errors = [abs(row.error) for row in self.ranged if low <= row.range_m < high]
            if errors:
                goal = 0.05 if high - low == FAR_M else None
                yield Figure("ranging", name, group, float(np.median(errors)), "", len(errors), goal)

    def _identities(self) -> Iterator[Figure]:
        shortest, longest = GAP_FRAMES
        gaps = [row.is_same for row in self.seen if shortest <= row.frames <= longest]
        yield from _mean("ranging", "identity kept through a gap", "0.2 to 1 s unseen", gaps)
        pairs = [row for row in self.seen if row.frames <= longest]
        if pairs:
            lost = sum(not row.is_same for row in pairs)
            yield Figure("ranging", "identities changed", "sightings at most 1 s apart", lost, "", len(pairs))

    def _depths(self) -> Iterator[Figure]:
        road = [row for row in self.pixels if row.is_road]
        yield from _depth("road pixels to 40 m", road, 0.10)
        yield from _depth("all covered pixels to 40 m", self.pixels, 0.15)
        for number, (group, _, _) in enumerate(_bands()):
            yield from _depth(f"road, {group}", [row for row in road if row.band == number])
        for weather in dict.fromkeys(row.weather for row in self.pixels):
            yield from _depth(f"all, {weather}", [row for row in self.pixels if row.weather == weather])
        count = sum(row.number for row in self.pixels)
        if count:
            share = sum(row.within for row in self.pixels) / count
            yield Figure("depth", "share within two sigma", "all covered pixels to 40 m", share, "", count)


def _depth(group: str, rows: list[DepthSample], goal: float | None = None) -> Iterator[Figure]:
    count = sum(row.number for row in rows)
    if count:
        yield Figure("depth", "AbsRel", group, sum(row.error_sum for row in rows) / count, "", count, goal)


def _bands() -> list[tuple[str, float, float]]:
    edges = np.arange(0.0, FAR_M, BAND_M).tolist()
    return [(f"{low:.0f}-{low + BAND_M:.0f} m", low, low + BAND_M) for low in edges]


def _velocities(vehicles: list[TrackSample]) -> list[Figure]:
    moving = [row for row in vehicles if row.speed_mps >= MOVING_MPS]
    groups = [("vehicles to 40 m", vehicles), ("moving vehicles to 40 m", moving)]
    for name, low, high in _bands():
        groups.append((name, [row for row in vehicles if low <= row.range_m < high]))
    for name, low, high in _bands():
        groups.append((f"moving, {name}", [row for row in moving if low <= row.range_m < high]))
    groups += [(kind, [row for row in vehicles if row.kind == kind]) for kind in VEHICLES]
    groups = [(name, rows) for name, rows in groups if rows]
    out = []
    for name, rows in groups:
        rms = float(np.sqrt(np.mean([row.velocity_error_mps**2 for row in rows])))
        goal = 1.0 if rows is vehicles else None
        out.append(Figure("ranging", "velocity error, RMS", name, rms, "m/s", len(rows), goal))
    for name, rows in groups:
        out += _mean("ranging", "NEES of velocity, mean (2 is right)", name, [row.velocity_nees for row in rows])
    return out


def _mean(part: str, name: str, group: str, values: list[Any]) -> list[Figure]:
    return [Figure(part, name, group, float(np.mean(values)), "", len(values))] if values else []
