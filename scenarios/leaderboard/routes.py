"""What a Leaderboard route file holds, in typed form. Places are in CARLA's frame: metres, degrees clockwise."""

from __future__ import annotations

from dataclasses import dataclass

from scenarios.leaderboard.weather import WeatherKeyframe


@dataclass(frozen=True, slots=True)
class Location:
    """A place; `yaw_deg` is None where the file gives none."""

    x_m: float
    y_m: float
    z_m: float
    yaw_deg: float | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """The pose at which a scenario starts: when the ego's place on the route comes within 2 m of it."""

    x_m: float
    y_m: float
    z_m: float
    yaw_deg: float
    line: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that numbers are drawn from: `low` is the attribute `from`, `high` the attribute `to`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter of the scenario's type, as the shape of `types.TYPES` demands."""

    name: str
    value: float | str | Interval | Location
    line: int


@dataclass(frozen=True, slots=True)
class UnknownParameter:
    """A parameter that the scenario's type does not have; nothing reads it."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class ScenarioInstance:
    """One scenario of a route. `type` may be unknown; then `parameters` is empty.

    `unreadable` names the parameters whose values could not be read; a problem of the file says why.
    """

    name: str
    type: str
    trigger: Trigger
    parameters: tuple[ParameterValue, ...]
    line: int
    unknown: tuple[UnknownParameter, ...] = ()
    unreadable: tuple[str, ...] = ()

    def parameter(self, name: str) -> ParameterValue | None:
        """The parameter of that name, or None where the file gives none and the default applies."""
        return next((entry for entry in self.parameters if entry.name == name), None)


@dataclass(frozen=True, slots=True)
class Waypoint:
    x_m: float
    y_m: float
    z_m: float
    line: int


@dataclass(frozen=True, slots=True)
class LeaderboardRoute:
    """One route: the ego drives through two or more `waypoints`. `weather` is in the order of the file."""

    route_id: str
    town: str
    weather: tuple[WeatherKeyframe, ...]
    waypoints: tuple[Waypoint, ...]
    scenarios: tuple[ScenarioInstance, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Ignored:
    """Something in the file that nothing reads: `kind` is "element", "attribute" or "repeated" (element)."""

    kind: str
    name: str
    parent: str
    read: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A place of the file that cannot be used, and why."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class RouteFile:
    """The routes of a file, in its order.

    * `ignored`: elements and attributes that nothing reads.
    * `problems`: parts of the file that could not be read; the routes lack them.
    """

    routes: tuple[LeaderboardRoute, ...]
    ignored: tuple[Ignored, ...] = ()
    problems: tuple[Problem, ...] = ()
