"""The weathers of a study: points along its axes, and the scenario in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from av_core.errors import ConfigError
from av_stack.weather_stress.parameters import PRESET, Axis, Value
from av_stack.world.carla.weather import weather_presets, weather_values
from scenarios.model import Scenario
from scenarios.weather_course import KeyframeTable
from sim_configs.load import load_weather

Point = tuple[tuple[str, Value], ...]
"""A weather, as its differences from the scenario's own: pairs of a parameter, or `preset`, and its value."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A scenario with one of its seeds, in its own weather; its drives are compared with each other.

    Equal only to itself.
    """

    scenario: Scenario

    @property
    def name(self) -> str:
        return f"{self.scenario.name}_seed_{self.scenario.seed}"

    @property
    def weather(self) -> Mapping[str, float]:
        """All parameters of the scenario's own weather."""
        return _parameters(self.scenario.weather_keyframes[0])

    def at(self, point: Point) -> Scenario:
        """The scenario in the weather of a point; parameters that the point lacks are those of its own weather."""
        values = dict(self.weather)
        for name, value in sorted(point, key=lambda each: each[0] != PRESET):
            if isinstance(value, str):
                values = weather_values(value)
            else:
                values[name] = value
        return self.scenario.model_copy(update={"weather_keyframes": (KeyframeTable(route_percent=0.0, **values),)})

    def is_own(self, point: Point) -> bool:
        """Whether the weather of a point is the scenario's own."""
        return self.at(point).weather_keyframes == self.scenario.weather_keyframes


def units(scenarios: Sequence[Scenario], seeds: int) -> list[Unit]:
    """Each scenario with its own seed and the `seeds` - 1 that follow. Raises ConfigError for one without pairs."""
    found = []
    for scenario in scenarios:
        check_can_be_paired(scenario)
        own = KeyframeTable(route_percent=0.0, **_own_weather(scenario))
        for number in range(seeds):
            found.append(
                Unit(scenario.model_copy(update={"weather_keyframes": (own,), "seed": scenario.seed + number}))
            )
    return found


def check_can_be_paired(scenario: Scenario) -> None:
    """Raise ConfigError if a drive of the scenario cannot be repeated in another weather."""
    if len(scenario.weather_keyframes) > 1:
        raise ConfigError(f"{scenario.name}: its own weather changes along the route; expected one weather throughout")
    if scenario.handling != "carla":
        raise ConfigError(
            f"{scenario.name}: with handling: {scenario.handling} the weather changes the grip of the tyres, so that "
            "the drives in two weathers are not the same; expected handling: carla"
        )


def points(axes: Sequence[Axis]) -> list[Point]:
    """Every combination of the axes' values."""
    return [
        tuple(zip((axis.name for axis in axes), values, strict=True))
        for values in product(*(axis.values for axis in axes))
    ]


def label(point: Point) -> str:
    """The weather in a few words; also part of a folder's name."""
    words = [str(value) if name == PRESET else f"{name}_{value:g}" for name, value in point]
    return "_".join(words) or "own"


def _own_weather(scenario: Scenario) -> Mapping[str, float]:
    if scenario.weather_keyframes:
        return _parameters(scenario.weather_keyframes[0])
    return weather_values(load_weather(scenario.weather, weather_presets()))


def _parameters(keyframe: KeyframeTable) -> dict[str, float]:
    """All parameters of the weather at a keyframe."""
    return keyframe.model_dump(exclude={"route_percent"})
