"""Reads CARLA Leaderboard 2 route files: `read_routes` for use, `survey` for a lint that goes on after a mistake."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from av_core.config import shortened
from av_core.errors import ConfigError
from scenarios.leaderboard.other_formats import refuse_other_formats
from scenarios.leaderboard.parameters import Parameter, Shape
from scenarios.leaderboard.routes import (
    Ignored,
    Interval,
    LeaderboardRoute,
    Location,
    ParameterValue,
    Problem,
    RouteFile,
    ScenarioInstance,
    Trigger,
    UnknownParameter,
    Waypoint,
)
from scenarios.leaderboard.types import TYPES
from scenarios.leaderboard.weather import WEATHER_NAMES, Weather, WeatherKeyframe
from scenarios.leaderboard.xml_elements import BYTES_MAX, Element, XmlError, read_elements

COORDINATE_MAX = 1e5
"""Largest number that is read, without its sign: 100 km, or as many degrees."""

PLACE = ("x", "y", "z")
POSE = (*PLACE, "yaw")

T = TypeVar("T")


def read_routes(path: Path) -> RouteFile:
    """The routes of a file. Raises ConfigError `FILE:LINE: what is wrong; what is allowed` at its first mistake.

    What the official code would ignore is no mistake: `RouteFile.ignored` and `ScenarioInstance.unknown` name it, and
    `lint.lint` reports it.
    """
    found = survey(read_bytes(path), str(path))
    if found.problems:
        first = min(found.problems, key=lambda problem: problem.line)
        raise ConfigError(f"{path}:{first.line}: {first.message}")
    return found


def read_bytes(path: Path) -> bytes:
    """The first bytes of a file: at most one more than is allowed, so that a too large file shows.

    Raises ConfigError where the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def survey(data: bytes, name: str) -> RouteFile:
    """The readable parts of a route file, and its problems. Raises ConfigError if it is no route file at all."""
    try:
        refuse_other_formats(data)
        root = read_elements(data)
        refuse_other_formats(data, root)
    except XmlError as error:
        raise ConfigError(f"{name}:{error.line}: {error}") from None
    return _Reader().file(root)


class _Reader:
    """Reads elements; collects mistakes in `problems`, and elements that nothing reads in `ignored`."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.ignored: list[Ignored] = []

    def file(self, root: Element) -> RouteFile:
        routes = self._each(root, "route", self._route)
        if not _count(root, "route"):
            self._problem(root, "<routes> has no <route>; expected one or more")
        return RouteFile(routes, tuple(self.ignored), tuple(self.problems))

    # ---------------------------------------------------------------- route

    def _route(self, element: Element) -> LeaderboardRoute | None:
        self._ignore_attributes(element, ("id", "town"))
        route_id, town = self._text(element, "id"), self._text(element, "town")
        parts = ("weathers", "waypoints", "scenarios")
        found = {part: self._only(element, part) for part in parts}
        self._ignore_children(element, parts)
        weather: tuple[WeatherKeyframe, ...] = ()
        if (rows := found["weathers"]) is not None:
            weather = self._each(rows, "weather", self._keyframe)
            self._refuse_repeated_percentages(weather)
            if not _count(rows, "weather"):
                self._problem(rows, "<weathers> has no <weather>; expected one or more, or no <weathers> at all")
        waypoints = self._each(found["waypoints"], "position", self._waypoint)
        if _count(found["waypoints"], "position") < 2:
            self._problem(element, "the route has fewer than two <position> in <waypoints>; expected two or more")
        scenarios = self._each(found["scenarios"], "scenario", self._scenario)
        if found["scenarios"] is None:
            self._problem(element, "the route has no <scenarios>; expected the element, which may be empty")
        if route_id is None or town is None:
            return None
        return LeaderboardRoute(route_id, town, weather, waypoints, scenarios, element.line)

    def _keyframe(self, element: Element) -> WeatherKeyframe | None:
        self._ignore_attributes(element, ("route_percentage", *WEATHER_NAMES))
        percentage = self._number(element, "route_percentage")
        given = {name: self._number(element, name) for name in WEATHER_NAMES if name in element.attributes}
        values = {name: value for name, value in given.items() if value is not None}
        return None if percentage is None else WeatherKeyframe(percentage, Weather(**values), element.line)

    def _refuse_repeated_percentages(self, keyframes: Sequence[WeatherKeyframe]) -> None:
        first_line: dict[float, int] = {}
        for keyframe in keyframes:
            percentage = keyframe.route_percentage
            if percentage in first_line:
                where = f"route_percentage {percentage:g} is repeated (first in line {first_line[percentage]})"
                self.problems.append(Problem(keyframe.line, f"{where}; expected one <weather> for each"))
            first_line.setdefault(percentage, keyframe.line)

    def _waypoint(self, element: Element) -> Waypoint | None:
        self._ignore_attributes(element, PLACE)
        place = self._place(element)
        return None if place is None else Waypoint(place.x_m, place.y_m, place.z_m, element.line)

    # ---------------------------------------------------------------- scenario

    def _scenario(self, element: Element) -> ScenarioInstance | None:
        self._ignore_attributes(element, ("name", "type"))
        name, type_name = self._text(element, "name"), self._text(element, "type")
        trigger_element = self._only(element, "trigger_point")
        trigger = None
        if trigger_element is None:
            self._problem(element, f"the scenario has no <trigger_point>; expected one with {_listed(POSE)}")
        else:
            self._ignore_attributes(trigger_element, POSE)
            place, yaw_deg = self._place(trigger_element), self._number(trigger_element, "yaw")
            if place is not None and yaw_deg is not None:
                trigger = Trigger(place.x_m, place.y_m, place.z_m, yaw_deg, trigger_element.line)
        known: dict[str, ParameterValue] = {}
        unknown: list[UnknownParameter] = []
        unreadable: list[str] = []
        scenario_type = TYPES.get(type_name or "")
        seen: dict[str, Element] = {}
        for child in element.children:
            if child.tag == "trigger_point":
                continue
            if child.tag in seen:  # the last one counts
                self._ignore("repeated", seen[child.tag], element, ())
            seen[child.tag] = child
        for child in seen.values():
            parameter = scenario_type.parameter(child.tag) if scenario_type is not None else None
            if parameter is None:
                unknown.append(UnknownParameter(child.tag, child.line))
            elif (value := self._parameter(child, parameter)) is not None:
                known[child.tag] = ParameterValue(child.tag, value, child.line)
            else:
                unreadable.append(child.tag)
        if name is None or type_name is None or trigger is None:
            return None
        return ScenarioInstance(
            name, type_name, trigger, tuple(known.values()), element.line, tuple(unknown), tuple(unreadable)
        )

    def _parameter(self, element: Element, parameter: Parameter) -> float | str | Interval | Location | None:
        shape = parameter.shape
        if not set(shape.attributes) <= set(element.attributes):
            written = " ".join(f'{name}="…"' for name in list(element.attributes)[:6])
            self._problem(
                element,
                f"<{_short(element.tag)} {_short(written)}/> has the wrong shape; expected {parameter.pattern}",
            )
            return None
        self._ignore_attributes(element, POSE if shape is Shape.LOCATION else shape.attributes)
        self._ignore_children(element, ())
        if shape is Shape.WORD:
            return self._text(element, "value")
        if shape is Shape.NUMBER:
            return self._number(element, "value")
        if shape is Shape.INTERVAL:
            low, high = self._number(element, "from"), self._number(element, "to")
            return None if low is None or high is None else Interval(low, high)
        yaw_deg = self._number(element, "yaw") if "yaw" in element.attributes else None
        return self._place(element, yaw_deg)

    # ---------------------------------------------------------------- elements and attributes

    def _each(self, parent: Element | None, tag: str, read: Callable[[Element], T | None]) -> tuple[T, ...]:
        """The results of `read` for the children `tag`, without None; other children are ignored."""
        if parent is None:
            return ()
        self._ignore_children(parent, (tag,))
        found = [read(child) for child in parent.children if child.tag == tag]
        return tuple(entry for entry in found if entry is not None)

    def _only(self, parent: Element, tag: str) -> Element | None:
        """The first child `tag`; further ones are ignored."""
        found = [child for child in parent.children if child.tag == tag]
        for extra in found[1:]:
            self._ignore("repeated", extra, parent, ())
        return found[0] if found else None

    def _ignore_children(self, parent: Element, read: tuple[str, ...]) -> None:
        for child in parent.children:
            if child.tag not in read:
                self._ignore("element", child, parent, read)

    def _ignore_attributes(self, element: Element, read: tuple[str, ...]) -> None:
        for name in element.attributes:
            if name not in read:
                self.ignored.append(Ignored("attribute", name, element.tag, read, element.line))

    def _ignore(self, kind: str, element: Element, parent: Element, read: tuple[str, ...]) -> None:
        self.ignored.append(Ignored(kind, element.tag, parent.tag, read, element.line))

    def _text(self, element: Element, attribute: str) -> str | None:
        text = element.attributes.get(attribute, "").strip()
        if not text:
            self._problem(element, f'<{_short(element.tag)}> has no {attribute}; expected {attribute}="…"')
        return text or None

    def _place(self, element: Element, yaw_deg: float | None = None) -> Location | None:
        x_m, y_m, z_m = (self._number(element, name) for name in PLACE)
        return None if x_m is None or y_m is None or z_m is None else Location(x_m, y_m, z_m, yaw_deg)

    def _number(self, element: Element, attribute: str) -> float | None:
        text = element.attributes.get(attribute)
        if text is None:
            self._problem(element, f'<{_short(element.tag)}> has no {attribute}; expected {attribute}="number"')
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not abs(value) <= COORDINATE_MAX:
            where = f"{attribute} of <{_short(element.tag)}>"
            limit = f"a number from {-COORDINATE_MAX:.0f} to {COORDINATE_MAX:.0f}"
            self._problem(element, f"{where}: {shortened(text)} is not allowed; expected {limit}")
            return None
        return value

    def _problem(self, element: Element, message: str) -> None:
        self.problems.append(Problem(element.line, message))


def _count(parent: Element | None, tag: str) -> int:
    return sum(child.tag == tag for child in parent.children) if parent is not None else 0


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
