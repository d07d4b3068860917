"""The GNSS receiver: latitude, longitude and altitude with bias and white noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgpack
import numpy as np

from embedded_carla.types import Vector3

EARTH_RADIUS_M = 6378137.0
SCALE = 0.9996


@dataclass(frozen=True, slots=True)
class GnssNoise:
    """Bias and standard deviation, each (latitude deg, longitude deg, altitude m)."""

    bias: Vector3 = (0.0, 0.0, 0.0)
    stddev: Vector3 = (0.0, 0.0, 0.0)

    @staticmethod
    def of(number: Callable[[str, float], float]) -> GnssNoise:
        """From a blueprint's attributes; `number(name, default)` reads one."""
        bias, stddev = (
            (number(f"noise_lat_{k}", 0.0), number(f"noise_lon_{k}", 0.0), number(f"noise_alt_{k}", 0.0))
            for k in ("bias", "stddev")
        )
        return GnssNoise(bias, stddev)


def geolocation(location: Vector3, geo: tuple[float, float]) -> Vector3:
    """(latitude_deg, longitude_deg, altitude_m) of a world location; `geo` is (latitude, longitude) of the origin.

    Equals `carla.Map.transform_to_geolocation` of CARLA 0.9.16: the inverse spherical transverse Mercator projection
    (J. P. Snyder, *Map Projections: A Working Manual*, 1987, eq. 8-6 to 8-8) with scale 0.9996, whatever projection the
    map names. CARLA 0.9.16 does not mirror y, so latitude grows with CARLA's y, which points south.
    """
    x, y, z = location
    latitude_0, longitude_0 = math.radians(geo[0]), math.radians(geo[1])
    east, north = x / (SCALE * EARTH_RADIUS_M), y / (SCALE * EARTH_RADIUS_M) + latitude_0
    latitude = math.asin(math.sin(north) / math.cosh(east))
    longitude = longitude_0 + math.atan2(math.sinh(east), math.cos(north))
    return (math.degrees(latitude), math.degrees(longitude), z)


def gnss_body(location: Vector3, geo: tuple[float, float], noise: GnssNoise, rng: np.random.Generator) -> bytes:
    """The message body of a receiver at `location` (world frame, m); draws three normal numbers from `rng`."""
    exact = np.array(geolocation(location, geo))
    fix = exact + noise.bias + rng.standard_normal(3) * noise.stddev
    body: bytes = msgpack.packb(fix.tolist())
    return body
