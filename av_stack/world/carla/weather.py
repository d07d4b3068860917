"""CARLA's weather: the names of its presets, and its parameters from a name or from values."""

from __future__ import annotations

from collections.abc import Mapping

import carla

from av_core.errors import ConfigError
from scenarios.leaderboard.weather import WEATHER_NAMES


def weather_presets() -> tuple[str, ...]:
    """The names of CARLA's weather presets."""
    return tuple(name for name in dir(carla.WeatherParameters) if name[0].isupper())


def named_weathers() -> tuple[str, ...]:
    """CARLA's presets without `Default`, which stands for the map's own weather."""
    return tuple(name for name in weather_presets() if name != "Default")


def weather_of(weather: str | Mapping[str, float]) -> carla.WeatherParameters:
    """The parameters of a preset, or those given by name. Raises ConfigError for an unknown preset."""
    if isinstance(weather, str):
        if weather not in weather_presets():
            raise ConfigError(f"no weather preset {weather}; CARLA's are {', '.join(weather_presets())}")
        preset: carla.WeatherParameters = getattr(carla.WeatherParameters, weather)
        return preset
    return carla.WeatherParameters(**weather)


def weather_values(weather: str | Mapping[str, float]) -> dict[str, float]:
    """All parameters of a weather by name. Raises ConfigError for the preset Default, which has none of its own."""
    if weather == "Default":
        raise ConfigError("the weather Default is the map's own, whose parameters are not known; take another one")
    parameters = weather_of(weather)
    return {name: float(getattr(parameters, name)) for name in WEATHER_NAMES}
