"""Weather keyframes that the official code refuses, or that do not mean what they seem to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scenarios.leaderboard.routes import Problem
from scenarios.leaderboard.weather import NOT_INTERPOLATED, WEATHER_RANGES, WeatherKeyframe


def weather_problems(keyframes: Sequence[WeatherKeyframe]) -> Iterator[Problem]:
    for number, keyframe in enumerate(keyframes):
        percentage, line = keyframe.route_percentage, keyframe.line
        if not 0.0 <= percentage <= 100.0:
            yield Problem(line, f"route_percentage {percentage:g} is not allowed; expected 0 to 100")
        if number and percentage < keyframes[number - 1].route_percentage:
            yield Problem(line, f"route_percentage {percentage:g} is out of order; it is sorted before the row above")
        yield from _value_problems(keyframe, is_interpolated=len(keyframes) > 1)
    if len(keyframes) > 1:
        yield from _end_problems(keyframes)


def _value_problems(keyframe: WeatherKeyframe, *, is_interpolated: bool) -> Iterator[Problem]:
    for name, (low, high) in WEATHER_RANGES.items():
        value = getattr(keyframe.weather, name)
        if not low <= value <= high:
            yield Problem(keyframe.line, f"{name} {value:g} is not allowed; expected {low:g} to {high:g}")
    if is_interpolated:
        for name in NOT_INTERPOLATED:
            if getattr(keyframe.weather, name):
                yield Problem(keyframe.line, f"{name} has no effect where there are two or more weathers")


def _end_problems(keyframes: Sequence[WeatherKeyframe]) -> Iterator[Problem]:
    ordered = sorted(keyframes, key=lambda keyframe: keyframe.route_percentage)
    for end, keyframe, needed in (("first", ordered[0], 0.0), ("last", ordered[-1], 100.0)):
        if 0.0 <= keyframe.route_percentage <= 100.0 and keyframe.route_percentage != needed:
            yield Problem(
                keyframe.line,
                f"the {end} of several weathers is at {keyframe.route_percentage:g} %; the official code ends with an "
                f"error unless it is at {needed:g} %",
            )
