"""The weather along a route: keyframes at percentages of the route, interpolated as the official code does.

`tests/scenarios/leaderboard/official_weather.py` computes the values that the tests compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

UNIT_RANGE = (0.0, 1.0)
PERCENT_RANGE = (0.0, 100.0)


@dataclass(frozen=True, slots=True)
class Weather:
    """The weather parameters of CARLA 0.9.16, under CARLA's names; angles in degrees, `fog_distance` in metres.

    The defaults are those of a route without weather.
    """

    cloudiness: float = 50.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wetness: float = 0.0
    wind_intensity: float = 0.0
    sun_azimuth_angle: float = 0.0
    sun_altitude_angle: float = 70.0
    fog_density: float = 0.0
    fog_distance: float = 0.0
    fog_falloff: float = 0.0
    scattering_intensity: float = 0.0
    mie_scattering_scale: float = 0.0
    rayleigh_scattering_scale: float = 0.0331
    dust_storm: float = 0.0


WEATHER_NAMES = tuple(field.name for field in fields(Weather))

WEATHER_RANGES = {
    **dict.fromkeys(
        ("cloudiness", "precipitation", "precipitation_deposits", "wetness", "wind_intensity", "fog_density"),
        PERCENT_RANGE,
    ),
    "dust_storm": PERCENT_RANGE,
    "sun_azimuth_angle": (-360.0, 360.0),
    "sun_altitude_angle": (-90.0, 90.0),
    "scattering_intensity": UNIT_RANGE,
    "mie_scattering_scale": (0.0, 5.0),
    "rayleigh_scattering_scale": (0.0, 2.0),
}
"""The values that CARLA's documentation gives for each parameter; the others have no upper end."""

NOT_INTERPOLATED = ("dust_storm",)
"""Parameters that the official code sets to 0 once it interpolates between two or more keyframes."""


@dataclass(frozen=True, slots=True)
class WeatherKeyframe:
    """The weather at `route_percentage` of the route; `line` is its place in the file."""

    route_percentage: float
    weather: Weather
    line: int


def weather_at(keyframes: Sequence[WeatherKeyframe], route_percentage: float) -> Weather:
    """The weather at a percentage of the route: linear between keyframes, constant before the first and after the last.

    Without keyframes it is the default; a single keyframe holds everywhere. The reader refuses two keyframes at one
    percentage. (Where the first of several is not at 0 or the last not at 100, the official code ends with an error
    although its documentation promises what is done here.)
    """
    if not keyframes:
        return Weather()
    if len(keyframes) == 1:
        return keyframes[0].weather
    ordered = sorted(keyframes, key=lambda keyframe: keyframe.route_percentage)
    percentage = min(max(route_percentage, ordered[0].route_percentage), ordered[-1].route_percentage)
    before, after = next(pair for pair in pairwise(ordered) if percentage <= pair[1].route_percentage)
    part = (percentage - before.route_percentage) / (after.route_percentage - before.route_percentage)
    values = {}
    for name in WEATHER_NAMES:
        if name not in NOT_INTERPOLATED:
            start = getattr(before.weather, name)
            values[name] = start + (getattr(after.weather, name) - start) * part
    return Weather(**values, **dict.fromkeys(NOT_INTERPOLATED, 0.0))
