"""The weather along the ego's route: keyframes of a scenario, and the orders that change it as the ego drives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from av_core.config import Strict
from av_core.orders import SetWeather
from scenarios.leaderboard.weather import Weather, WeatherKeyframe, weather_at

EVERY_M = 1.0
"""Distance driven between two changes of the weather; in the official code, routes have points 1 m apart."""

DUSK_DEG = 12.0
"""Angle of the sun above or below the horizon within which the kind of light changes."""

LIGHT_STEP_DEG = 2.0
"""Step of the sun's altitude, within this angle, that counts as another kind of light."""

Percent = Annotated[float, Field(ge=0.0, le=100.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
_DEFAULT = Weather()


class KeyframeTable(Strict):
    """The weather at `route_percent` of the ego's route, in CARLA's parameters, with a route file's defaults.

    Angles are in degrees, `fog_distance` in metres.
    """

    route_percent: Percent
    cloudiness: Percent = _DEFAULT.cloudiness
    precipitation: Percent = _DEFAULT.precipitation
    precipitation_deposits: Percent = _DEFAULT.precipitation_deposits
    wetness: Percent = _DEFAULT.wetness
    wind_intensity: Percent = _DEFAULT.wind_intensity
    sun_azimuth_angle: Annotated[float, Field(ge=-360.0, le=360.0)] = _DEFAULT.sun_azimuth_angle
    sun_altitude_angle: Annotated[float, Field(ge=-90.0, le=90.0)] = _DEFAULT.sun_altitude_angle
    fog_density: Percent = _DEFAULT.fog_density
    fog_distance: NotNegative = _DEFAULT.fog_distance
    fog_falloff: NotNegative = _DEFAULT.fog_falloff
    scattering_intensity: NotNegative = _DEFAULT.scattering_intensity
    mie_scattering_scale: NotNegative = _DEFAULT.mie_scattering_scale
    rayleigh_scattering_scale: NotNegative = _DEFAULT.rayleigh_scattering_scale
    dust_storm: Percent = _DEFAULT.dust_storm

    def keyframe(self) -> WeatherKeyframe:
        values = self.model_dump()
        return WeatherKeyframe(values.pop("route_percent"), Weather(**values), line=0)


def start_weather(keyframes: Sequence[KeyframeTable]) -> dict[str, float]:
    """CARLA's parameters at the start of the route, by name."""
    return asdict(weather_at([table.keyframe() for table in keyframes], 0.0))


def kinds_of_weather(keyframes: Sequence[KeyframeTable]) -> tuple[dict[str, float], ...]:
    """One weather for each kind of light, fog and wetness along the route; empty if the weather does not change.

    A server that draws in software compiles shaders for each kind, which takes seconds. So each is shown once before
    the drive.
    """
    course = [table.keyframe() for table in keyframes]
    found: dict[tuple[float, bool, bool], dict[str, float]] = {}
    for percent in range(101) if len(course) > 1 else ():
        weather = weather_at(course, float(percent))
        light = min(max(weather.sun_altitude_angle, -DUSK_DEG), DUSK_DEG) // LIGHT_STEP_DEG
        is_wet = max(weather.wetness, weather.precipitation, weather.precipitation_deposits) > 0.0
        found.setdefault((light, weather.fog_density > 0.0, is_wet), asdict(weather))
    return tuple(found.values())


class WeatherCourse:
    """Changes the weather as the ego comes along a route of `length_m`; call `step` at each tick."""

    def __init__(self, keyframes: Sequence[KeyframeTable], length_m: float) -> None:
        self._keyframes = [table.keyframe() for table in keyframes]
        self._length_m = length_m
        self._last_m = 0.0
        self._last = start_weather(keyframes)

    def step(self, route_m: float) -> Iterator[SetWeather]:
        """The order to change the weather, if it has to change now that the ego is `route_m` along its route."""
        if len(self._keyframes) < 2 or route_m < self._last_m + EVERY_M:
            return
        self._last_m = route_m
        values = asdict(weather_at(self._keyframes, 100.0 * route_m / self._length_m))
        if values != self._last:
            self._last = values
            yield SetWeather(values)
