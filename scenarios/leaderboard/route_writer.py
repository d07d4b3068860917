"""Writes Leaderboard 2 route files: `to_xml` gives the text that `route_xml` and the official parser read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from xml.sax.saxutils import quoteattr

from scenarios.leaderboard.routes import Interval, LeaderboardRoute, Location, ParameterValue, ScenarioInstance
from scenarios.leaderboard.weather import Weather

_Values = Mapping[str, object]


def to_xml(routes: Iterable[LeaderboardRoute]) -> str:
    """The XML text of `routes`, one element a line; it reads back as the same routes, except for their lines."""
    text = ['<?xml version="1.0" encoding="UTF-8"?>', "<routes>"]
    for route in routes:
        text += _route(route)
    return "\n".join([*text, "</routes>", ""])


def _route(route: LeaderboardRoute) -> Iterable[str]:
    yield f"  <route{_attributes({'id': route.route_id, 'town': route.town})}>"
    if route.weather:
        yield "    <weathers>"
        for keyframe in route.weather:
            weather, usual = keyframe.weather, Weather()
            values = {field.name: getattr(weather, field.name) for field in fields(Weather)}
            given = {name: value for name, value in values.items() if value != getattr(usual, name)}
            yield f"      <weather{_attributes({'route_percentage': keyframe.route_percentage, **given})}/>"
        yield "    </weathers>"
    yield "    <waypoints>"
    for waypoint in route.waypoints:
        yield f"      <position{_attributes({'x': waypoint.x_m, 'y': waypoint.y_m, 'z': waypoint.z_m})}/>"
    yield "    </waypoints>"
    yield "    <scenarios>"
    for scenario in route.scenarios:
        yield from _scenario(scenario)
    yield "    </scenarios>"
    yield "  </route>"


def _scenario(scenario: ScenarioInstance) -> Iterable[str]:
    trigger = scenario.trigger
    pose = {"x": trigger.x_m, "y": trigger.y_m, "z": trigger.z_m, "yaw": trigger.yaw_deg}
    yield f"      <scenario{_attributes({'name': scenario.name, 'type': scenario.type})}>"
    yield f"        <trigger_point{_attributes(pose)}/>"
    for given in scenario.parameters:
        yield f"        <{given.name}{_attributes(_parameter(given))}/>"
    yield "      </scenario>"


def _parameter(given: ParameterValue) -> _Values:
    value = given.value
    if isinstance(value, Interval):
        return {"from": value.low, "to": value.high}
    if isinstance(value, Location):
        yaw: _Values = {} if value.yaw_deg is None else {"yaw": value.yaw_deg}
        return {"x": value.x_m, "y": value.y_m, "z": value.z_m, **yaw}
    return {"value": value}


def _attributes(values: _Values) -> str:
    return "".join(f" {name}={quoteattr(_text(value))}" for name, value in values.items())


def _text(value: object) -> str:
    """A number without needless digits; every float reads back as itself."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
