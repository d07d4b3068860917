"""Converts weather parameters to light, sky and fog in linear units; pure functions of numbers.

Not a physical model: simple laws with the right direction and plausible size, so that a picture darkens, greys, reddens
or fades as CARLA's would. Radiances are relative to a sunlit white wall of about 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.look import LightLook
from embedded_carla.types import WeatherParameters

F64 = NDArray[np.float64]
RAYLEIGH_EARTH = 0.0331  # CARLA's default for Earth
DAY_EXPOSURE = 0.62  # exposure on a clear day
DUST_COLOUR = np.array([0.62, 0.42, 0.22])


@dataclass(frozen=True, slots=True, eq=False)
class Atmosphere:
    """Light, sky and fog parameters for the shaders.

    Colours are (3,) linear radiance; densities 1/m; fractions 0 to 1.
    """

    sun_direction: F64
    sun_colour: F64
    sky_ambient: F64
    ground_ambient: F64
    zenith: F64
    horizon: F64
    halo: float
    halo_exponent: float
    glow: F64
    fog_colour: F64
    fog_density: float
    fog_start_m: float
    fog_falloff: float
    haze_density: float
    exposure: float
    night: float
    cloud: float
    rain: float
    wetness: float
    puddles: float
    dust: float
    sway_m: float
    wind_mps: float
    fogginess: float


def displayed(radiance: F64, exposure: float) -> F64:
    """Tone mapping of linear radiance to display values 0 to 1, as in shaders/shading.glsl."""
    x = np.maximum(radiance, 0.0) * exposure
    s = np.sqrt(x)
    return np.clip((5.72871 * x - 0.08034 * s) / (5.79049 * x - 0.57977 * s + 1.0), 0.0, 1.0)


def _smooth(low: float, high: float, x: float) -> float:
    t = float(np.clip((x - low) / (high - low), 0.0, 1.0))
    return t * t * (3.0 - 2.0 * t)


def _mix(a: F64, b: F64, share: float) -> F64:
    return a + (b - a) * share


def _share(percent: float) -> float:
    return float(np.clip(percent / 100.0, 0.0, 1.0))


def sun_direction(weather: WeatherParameters) -> F64:
    """(3,) unit vector towards the sun; azimuth 0 is +x, 90 is +y."""
    altitude, azimuth = np.radians(weather.sun_altitude_angle), np.radians(weather.sun_azimuth_angle)
    return np.array([np.cos(altitude) * np.cos(azimuth), np.cos(altitude) * np.sin(azimuth), np.sin(altitude)])


def _sky(weather: WeatherParameters, day: float, low: float, cloud: float) -> tuple[F64, F64]:
    """Zenith and horizon radiance; `low` is 1 when the sun is at the horizon."""
    blue = 1.0 - np.exp(-weather.rayleigh_scattering_scale / RAYLEIGH_EARTH)
    deep = 1.0 - np.exp(-weather.rayleigh_scattering_scale / (3.0 * RAYLEIGH_EARTH))
    zenith = _mix(np.array([0.34, 0.38, 0.42]), np.array([0.02, 0.17, 0.62]), blue)
    zenith = _mix(zenith, np.array([0.05, 0.20, 0.95]), deep * 0.6)
    horizon = _mix(_mix(np.array([0.80, 0.84, 0.86]), zenith, 0.36), np.array([0.45, 0.62, 0.95]), deep * 0.5)
    horizon = _mix(horizon, np.array([0.95, 0.48, 0.20]), 0.75 * low)
    zenith = _mix(zenith, np.array([0.20, 0.24, 0.36]), 0.6 * low)
    grey = np.array([0.62, 0.65, 0.69])
    dim = 1.0 - 0.35 * cloud * _share(weather.precipitation)
    zenith, horizon = _mix(zenith, grey * 0.85, 0.8 * cloud) * dim, _mix(horizon, grey, 0.8 * cloud) * dim
    night_zenith, night_horizon = np.array([0.0020, 0.0028, 0.0058]), np.array([0.0085, 0.0075, 0.0085])
    strength = day * (1.0 - 0.42 * (1.0 - _smooth(2.0, 24.0, weather.sun_altitude_angle)))
    return zenith * strength + night_zenith, horizon * strength + night_horizon


@lru_cache(maxsize=16)
def seen_as(air: Atmosphere, look: LightLook) -> Atmosphere:
    """The atmosphere as a renderer of this look shows it; `air` itself for the default look. Cached by identity."""
    if look == LightLook():
        return air
    return replace(
        air, sun_colour=air.sun_colour * look.sun, sky_ambient=air.sky_ambient * np.array(look.sky),
        ground_ambient=air.ground_ambient * np.array(look.ground), haze_density=air.haze_density * look.haze,
    )  # fmt: skip


@lru_cache(maxsize=16)
def atmosphere(weather: WeatherParameters, gain: float = 1.0, adapts: bool = True) -> Atmosphere:
    """The Atmosphere for `weather`; cached, so the same arguments give the same object while they are in use.

    `gain` multiplies the exposure. The exposure is the weather's with `adapts`, otherwise that of a clear day.
    """
    altitude = weather.sun_altitude_angle
    cloud, rain = _share(weather.cloudiness), _share(weather.precipitation)
    dust = _share(weather.dust_storm)
    day = _smooth(-9.0, 6.0, altitude)
    low = (1.0 - _smooth(2.0, 24.0, altitude)) * day
    direct = _smooth(-1.5, 14.0, altitude) * (1.0 - 0.94 * cloud**1.3) * (1.0 - 0.85 * dust)
    sun_tint = _mix(np.array([1.0, 0.95, 0.86]), np.array([1.0, 0.50, 0.20]), low)
    zenith, horizon = _sky(weather, day, low, cloud)
    mie = max(0.0, weather.mie_scattering_scale)
    sun_colour = 3.1 * direct * sun_tint
    ambient = (0.55 * zenith + 0.45 * horizon) * (1.35 + 0.35 * cloud) + np.array([0.013, 0.014, 0.018])
    brown = DUST_COLOUR * (0.03 + 0.97 * day)
    fog_colour = _mix(_mix(horizon, np.full(3, horizon.mean()), 0.5), brown, dust)
    scatter = max(0.0, weather.scattering_intensity) / 100.0
    haze = 0.00025 + 0.0006 * rain + 0.0012 * min(mie, 3.0) + 0.0025 * min(scatter, 3.0) + 0.05 * dust**1.5
    glow = sun_tint * day * (1.0 - 0.8 * cloud) * (0.06 + 0.9 * scatter + 0.5 * min(mie, 3.0))
    exposure = DAY_EXPOSURE + 0.25 * cloud * day + 0.34 * low + 2.7 * (1.0 - _smooth(-14.0, 0.0, altitude))
    return Atmosphere(
        sun_direction=sun_direction(weather),
        sun_colour=sun_colour,
        sky_ambient=_mix(ambient, brown, 0.6 * dust),
        ground_ambient=(
            _mix(ambient, brown, 0.6 * dust) * 0.35 + sun_colour * 0.05 * max(0.0, float(np.sin(np.radians(altitude))))
        ),
        zenith=_mix(zenith, brown, 0.85 * dust),
        horizon=_mix(horizon, brown, 0.9 * dust),
        halo=(0.35 + 5.0 * min(mie, 3.0)) * (1.0 - dust),
        halo_exponent=float(np.clip(40.0 / (1.0 + 8.0 * mie), 4.0, 40.0)),
        glow=glow,
        fog_colour=fog_colour,
        fog_density=0.045 * _share(weather.fog_density) ** 1.5,
        fog_start_m=max(0.0, weather.fog_distance),
        fog_falloff=0.06 * max(0.0, weather.fog_falloff),
        haze_density=float(haze),
        exposure=gain * (exposure if adapts else DAY_EXPOSURE),
        night=1.0 - _smooth(-4.0, 3.0, altitude),
        cloud=cloud,
        rain=rain,
        wetness=max(_share(weather.wetness), 0.6 * rain),
        puddles=_share(weather.precipitation_deposits),
        dust=dust,
        sway_m=0.45 * _share(weather.wind_intensity),
        wind_mps=12.0 * _share(weather.wind_intensity),
        fogginess=max(_share(weather.fog_density), 0.8 * dust),
    )
