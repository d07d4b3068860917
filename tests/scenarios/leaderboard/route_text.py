"""Route files as text, for tests: one valid file to change, and a writer and a random generator of valid routes."""

from __future__ import annotations

from dataclasses import fields
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st

from scenarios.leaderboard.parameters import Parameter, Shape
from scenarios.leaderboard.routes import (
    Interval,
    LeaderboardRoute,
    Location,
    ParameterValue,
    RouteFile,
    ScenarioInstance,
    Trigger,
    Waypoint,
)
from scenarios.leaderboard.types import TYPES
from scenarios.leaderboard.weather import WEATHER_RANGES, Weather, WeatherKeyframe

VALID = """<routes>
  <route id="0" town="Town99">
    <weathers>
      <weather route_percentage="0" cloudiness="5"/>
      <weather route_percentage="100" cloudiness="90"/>
    </weathers>
    <waypoints>
      <position x="0" y="0" z="0"/>
      <position x="500" y="0" z="0"/>
    </waypoints>
    <scenarios>
      <scenario name="Accident_1" type="Accident">
        <trigger_point x="100" y="0" z="0" yaw="0"/>
        <distance value="60"/>
        <direction value="left"/>
        <speed value="50"/>
      </scenario>
      <scenario name="Parked_1" type="ParkedObstacleTwoWays">
        <trigger_point x="200" y="0" z="0" yaw="0.5"/>
        <frequency from="20" to="60"/>
      </scenario>
      <scenario name="Enter_1" type="EnterActorFlow">
        <trigger_point x="300" y="0" z="0" yaw="359"/>
        <start_actor_flow x="310" y="5" z="0"/>
        <end_actor_flow x="400" y="5" z="0"/>
        <flow_speed value="15"/>
      </scenario>
    </scenarios>
  </route>
</routes>
"""
"""A file in which the lint finds nothing."""


def changed(old: str, new: str) -> str:
    assert VALID.count(old) == 1, old
    return VALID.replace(old, new)


def line_of(text: str, part: str) -> int:
    """Line of the first place where `part` is."""
    return text[: text.index(part)].count("\n") + 1


# ---------------------------------------------------------------- writer


class _Lines:
    """Writes elements, one a line, with each one's `line` as the reader will give it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, tag: str, attributes: dict[str, object], *, is_open: bool = False) -> int:
        text = "".join(f" {name}={quoteattr(str(value))}" for name, value in attributes.items())
        self.lines.append(f"<{tag}{text}{'' if is_open else '/'}>")
        return len(self.lines)

    def close(self, tag: str) -> None:
        self.lines.append(f"</{tag}>")


def write(file: RouteFile) -> str:
    """The XML text of `file`, each element in a line of its own."""
    out = _Lines()
    out.add("routes", {}, is_open=True)
    for route in file.routes:
        _write_route(out, route)
    out.close("routes")
    return "\n".join(out.lines)


def _write_route(out: _Lines, route: LeaderboardRoute) -> None:
    out.add("route", {"id": route.route_id, "town": route.town}, is_open=True)
    if route.weather:
        out.add("weathers", {}, is_open=True)
        for keyframe in route.weather:
            values = {entry.name: getattr(keyframe.weather, entry.name) for entry in fields(Weather)}
            out.add("weather", {"route_percentage": keyframe.route_percentage, **values})
        out.close("weathers")
    out.add("waypoints", {}, is_open=True)
    for waypoint in route.waypoints:
        out.add("position", {"x": waypoint.x_m, "y": waypoint.y_m, "z": waypoint.z_m})
    out.close("waypoints")
    out.add("scenarios", {}, is_open=True)
    for scenario in route.scenarios:
        out.add("scenario", {"name": scenario.name, "type": scenario.type}, is_open=True)
        trigger = scenario.trigger
        out.add("trigger_point", {"x": trigger.x_m, "y": trigger.y_m, "z": trigger.z_m, "yaw": trigger.yaw_deg})
        for given in scenario.parameters:
            out.add(given.name, _attributes(given))
        out.close("scenario")
    out.close("scenarios")
    out.close("route")


def _attributes(given: ParameterValue) -> dict[str, object]:
    value = given.value
    if isinstance(value, Interval):
        return {"from": value.low, "to": value.high}
    if isinstance(value, Location):
        yaw: dict[str, object] = {} if value.yaw_deg is None else {"yaw": value.yaw_deg}
        return {"x": value.x_m, "y": value.y_m, "z": value.z_m, **yaw}
    return {"value": value}


# ---------------------------------------------------------------- random routes, in the lines that `write` gives them

COORDINATES = st.floats(-9e4, 9e4)
CHARACTERS = st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="\ufffe\uffff")
WORDS = st.text(CHARACTERS, min_size=1, max_size=12)


def _values(parameter: Parameter) -> st.SearchStrategy[float | str | Interval | Location]:
    low, high = parameter.allowed or (0.0, 1.0)
    numbers = st.floats(low, high)
    if parameter.shape is Shape.NUMBER:
        return numbers
    if parameter.shape is Shape.WORD:
        return st.sampled_from(parameter.words) if parameter.words else WORDS
    if parameter.shape is Shape.INTERVAL:
        return st.tuples(numbers, numbers).map(lambda ends: Interval(min(ends), max(ends)))
    return st.builds(Location, COORDINATES, COORDINATES, COORDINATES, st.none() | st.floats(-360, 360))


@st.composite
def route_files(draw: st.DrawFn) -> RouteFile:
    """A random valid file; its lines are those of `write`."""
    line = 1
    routes = []
    for route_id in draw(st.lists(WORDS, min_size=1, max_size=3, unique=True)):
        start = line = line + 1
        percentages = draw(st.lists(st.floats(0, 100), max_size=4, unique=True))
        line += 1 if percentages else 0
        weather = []
        for percentage in percentages:
            line += 1
            values = {name: draw(st.floats(low, high)) for name, (low, high) in WEATHER_RANGES.items()}
            weather.append(WeatherKeyframe(percentage, Weather(**values), line))
        line += 2 if percentages else 1
        waypoints = []
        for _ in range(draw(st.integers(2, 4))):
            line += 1
            waypoints.append(Waypoint(draw(COORDINATES), draw(COORDINATES), draw(COORDINATES), line))
        line += 2
        scenarios = []
        for type_name in draw(st.lists(st.sampled_from(sorted(TYPES)), max_size=4)):
            begin = line + 1
            place = [draw(COORDINATES) for _ in range(3)]
            trigger = Trigger(place[0], place[1], place[2], draw(st.floats(-360, 360)), line + 2)
            line += 2
            given = []
            for parameter in TYPES[type_name].parameters:
                if parameter.is_required or draw(st.booleans()):
                    line += 1
                    given.append(ParameterValue(parameter.name, draw(_values(parameter)), line))
            line += 1
            scenarios.append(ScenarioInstance(draw(WORDS), type_name, trigger, tuple(given), begin))
        line += 2
        routes.append(
            LeaderboardRoute(route_id, draw(WORDS), tuple(weather), tuple(waypoints), tuple(scenarios), start)
        )
    return RouteFile(tuple(routes))
