"""The values of a scenario's parameters, with the defaults of its type."""

from __future__ import annotations

from typing import Any

from av_core.config import shortened
from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from scenarios.leaderboard.parameters import Parameter
from scenarios.leaderboard.routes import Interval, ParameterValue, ScenarioInstance
from scenarios.leaderboard.types import TYPES


def values_of(scenario: ScenarioInstance) -> dict[str, Any]:
    """The values of all parameters by name: numbers, words, pairs of numbers for intervals, and Locations.

    Raises ConfigError for an unknown type, a required parameter that is missing, and a word that is not allowed.
    """
    known = TYPES.get(scenario.type)
    if known is None:
        raise ConfigError(f"unknown scenario type {shortened(scenario.type)}{did_you_mean(scenario.type, TYPES)}")
    return {entry.name: _value(entry, scenario.parameter(entry.name)) for entry in known.parameters}


def _value(parameter: Parameter, given: ParameterValue | None) -> object:
    if given is None:
        if parameter.default is None and parameter.is_required:
            raise ConfigError(f"expected {parameter.pattern}")
        return parameter.default
    if parameter.words and given.value not in parameter.words:
        raise ConfigError(
            f"{parameter.name} {shortened(given.value)} is not allowed; allowed are {', '.join(parameter.words)}"
        )
    return (given.value.low, given.value.high) if isinstance(given.value, Interval) else given.value
