"""Scenarios whose type or parameters the official code skips, ignores or takes in another unit than was meant."""

from __future__ import annotations

from collections.abc import Iterator

from av_core.config import shortened
from av_core.suggest import did_you_mean
from scenarios.leaderboard.parameters import Parameter
from scenarios.leaderboard.routes import Interval, Location, ParameterValue, Problem, ScenarioInstance, UnknownParameter
from scenarios.leaderboard.types import TYPES, ScenarioType

YAW_MAX_DEG = 720.0

_OTHER_UNIT = {"m/s": ("km/h", 1.0 / 3.6), "km/h": ("m/s", 3.6)}
"""For each unit, the unit that it is mistaken for, and the factor that converts from that unit to this one."""


def scenario_problems(scenario: ScenarioInstance) -> Iterator[Problem]:
    if abs(scenario.trigger.yaw_deg) > YAW_MAX_DEG:
        yield Problem(
            scenario.trigger.line,
            f"yaw {scenario.trigger.yaw_deg:g} is not allowed; expected {-YAW_MAX_DEG:g} to {YAW_MAX_DEG:g} degrees",
        )
    kind = TYPES.get(scenario.type)
    if kind is None:
        yield Problem(
            scenario.line,
            f"unknown scenario type {shortened(scenario.type)}{did_you_mean(scenario.type, TYPES)}; the official code "
            "skips it (av-stack scenarios types lists all)",
        )
        return
    given_names = {given.name for given in scenario.parameters}
    for unknown in scenario.unknown:
        yield Problem(unknown.line, _explain_unknown(unknown, kind, given_names))
    for given in scenario.parameters:
        parameter = kind.parameter(given.name)
        assert parameter is not None  # the reader puts others among the unknown
        if not parameter.has_effect:
            yield Problem(given.line, f"{given.name} has no effect on {kind.name}; the official code does not use it")
        for message in _explain_value(given, parameter, kind):
            yield Problem(given.line, message)
    for parameter in kind.parameters:
        if parameter.is_required and parameter.name not in given_names.union(scenario.unreadable):
            yield Problem(
                scenario.line,
                f"{kind.name} needs the parameter {parameter.name}, without which the official code skips it; "
                f"expected {parameter.pattern}",
            )


def _explain_unknown(unknown: UnknownParameter, kind: ScenarioType, given_names: set[str]) -> str:
    names = [parameter.name for parameter in kind.parameters]
    allowed = f"it has {', '.join(names)}" if names else "it has none"
    name = shortened(unknown.name)
    hint = did_you_mean(unknown.name, [entry for entry in names if entry not in given_names])
    return f"{kind.name} has no parameter {name}{hint}, so it has no effect; {allowed}"


def _explain_value(given: ParameterValue, parameter: Parameter, kind: ScenarioType) -> Iterator[str]:
    """What is wrong with a value, one message each."""
    value, name = given.value, f"{given.name} of {kind.name}"
    if isinstance(value, str):
        if parameter.words and value not in parameter.words:
            hint = did_you_mean(value, parameter.words)
            yield f"{name}: {shortened(value)} is not allowed{hint}; expected one of {parameter.allowed_text}"
    elif isinstance(value, Location):
        if value.yaw_deg is not None:
            yield f"{name}: yaw has no effect; read are x, y, z"
    elif isinstance(value, Interval):
        for attribute, end in (("from", value.low), ("to", value.high)):
            yield from _explain_number(f"{name}: {attribute}=", end, parameter)
        if value.low > value.high:
            yield f"{name}: from {value.low:g} is larger than to {value.high:g}; expected from <= to"
    else:
        yield from _explain_number(f"{name}: ", value, parameter)


def _explain_number(start: str, value: float, parameter: Parameter) -> Iterator[str]:
    if parameter.allowed is None or parameter.allowed[0] <= value <= parameter.allowed[1]:
        return
    low, high = parameter.allowed
    hint = ""
    if parameter.unit in _OTHER_UNIT:
        other, factor = _OTHER_UNIT[parameter.unit]
        if low <= value * factor <= high:
            hint = f" (if {value:g} {other} is meant: {value * factor:.3g} {parameter.unit})"
    yield f"{start}{value:g} {parameter.unit} is not plausible{hint}; expected {parameter.allowed_text}"
