"""Measurements in the folders of data sets: values over time, and positions on the Earth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from av_core.types import Float, GeoReference, GnssFix, ImuSample, LaneGraph, SensorFrame, Stamp
from av_stack.foreign.source import no_fix

EQUATOR_M, FLATTENING = 6378137.0, 1.0 / 298.257223563
"""Equatorial radius and flattening of the Earth's ellipsoid, WGS 84."""

ECCENTRICITY2 = FLATTENING * (2.0 - FLATTENING)


@dataclass(frozen=True, slots=True)
class Series:
    """Values (N, K) that were measured at the times (N,), s, which increase."""

    times_s: Float
    values: Float

    def between(self, after_s: float, until_s: float) -> Float:
        """The values (M, K) later than the first time, up to and including the second time."""
        first, end = np.searchsorted(self.times_s, (after_s, until_s), side="right")
        return self.values[first:end]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the vehicle is: latitude, longitude (degrees), altitude (m), and its heading from east, to the left."""

    latitude_deg: float
    longitude_deg: float
    altitude_m: float
    yaw_rad: float

    @property
    def is_known(self) -> bool:
        return all(map(math.isfinite, (self.latitude_deg, self.longitude_deg, self.yaw_rad)))

    @property
    def graph(self) -> LaneGraph:
        """A map without lanes, whose origin is here."""
        return LaneGraph("", {}, (), GeoReference(self.latitude_deg, self.longitude_deg, is_on_earth=True))


NOWHERE = Place(math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Motion:
    """Specific force and turn rate in the vehicle frame, and the speed ahead; NaN where it was not measured."""

    accel_mps2: Float
    gyro_radps: Float
    speed_mps: float


def measured_frame(pictured: SensorFrame, place: Place, motion: Motion) -> SensorFrame:
    """The sensor frame of one picture and the measurements that belong to it."""
    stamp = pictured.stamp
    return SensorFrame(stamp, pictured.cameras, _fix(place, stamp), _imu(place, motion, stamp), motion.speed_mps)


def _fix(place: Place, stamp: Stamp) -> GnssFix:
    if not place.is_known:
        return no_fix(stamp)
    return GnssFix(stamp, place.latitude_deg, place.longitude_deg, place.altitude_m)


def _imu(place: Place, motion: Motion, stamp: Stamp) -> ImuSample:
    x, y, z = motion.accel_mps2.tolist()
    roll, pitch, yaw = motion.gyro_radps.tolist()
    return ImuSample(stamp, (x, y, z), (roll, pitch, yaw), place.yaw_rad)


def mean_of(values: Float, columns: int) -> Float:
    """The mean (K,) of values (M, K); NaN where there are none."""
    return values.mean(axis=0) if len(values) else np.full(columns, math.nan)


def placed_on_earth(position_m: Float, ahead: Float) -> Place:
    """The place at an Earth-centred, Earth-fixed position (3,), heading into the direction `ahead` (3,).

    (Bowring, "Transformation from spatial to geographical coordinates", 1976; exact to 1 mm near the ground.)
    """
    if not (np.isfinite(position_m).all() and np.isfinite(ahead).all()):
        return NOWHERE
    x, y, z = position_m.tolist()
    polar_m, across_m = EQUATOR_M * (1.0 - FLATTENING), math.hypot(x, y)
    angle = math.atan2(z * EQUATOR_M, across_m * polar_m)
    second2 = ECCENTRICITY2 / (1.0 - ECCENTRICITY2)
    latitude = math.atan2(
        z + second2 * polar_m * math.sin(angle) ** 3,
        across_m - ECCENTRICITY2 * EQUATOR_M * math.cos(angle) ** 3,
    )
    longitude = math.atan2(y, x)
    sin, cos = math.sin(latitude), math.cos(latitude)
    altitude_m = across_m * cos + z * sin - EQUATOR_M * math.sqrt(1.0 - ECCENTRICITY2 * sin**2)
    east = np.array([-math.sin(longitude), math.cos(longitude), 0.0])
    north = np.array([-sin * math.cos(longitude), -sin * math.sin(longitude), cos])
    yaw = math.atan2(float(north @ ahead), float(east @ ahead))
    return Place(math.degrees(latitude), math.degrees(longitude), altitude_m, yaw)
