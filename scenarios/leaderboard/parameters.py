"""The parameters of Leaderboard scenarios: their shapes in XML, units, defaults and allowed values.

Each allowed range contains all values of the official route files and leaves room around them. A value outside is
most likely in another unit: 60 for a `flow_speed` in m/s, 0.5 for a gap in metres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Shape(str, Enum):
    """How a parameter is written; the value is the pattern of its XML element, without the tag."""

    NUMBER = 'value="number"'
    WORD = 'value="word"'
    INTERVAL = 'from="number" to="number"'
    LOCATION = 'x="number" y="number" z="number"'

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes that the shape consists of."""
        return _ATTRIBUTES[self]


_ATTRIBUTES = {
    Shape.NUMBER: ("value",),
    Shape.WORD: ("value",),
    Shape.INTERVAL: ("from", "to"),
    Shape.LOCATION: ("x", "y", "z"),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a scenario type.

    * `unit`: empty for words. `default`: None where the parameter is required.
    * `allowed`: smallest and largest number, for both ends of an interval; `words`: all allowed words, where limited.
    * `has_effect`: False where the official code reads the parameter and then never uses it.
    """

    name: str
    shape: Shape
    about: str
    unit: str = ""
    default: float | str | tuple[float, float] | None = None
    allowed: tuple[float, float] | None = None
    words: tuple[str, ...] = ()
    has_effect: bool = True

    @property
    def is_required(self) -> bool:
        return self.default is None

    @property
    def pattern(self) -> str:
        """The XML element as it has to be written."""
        return f"<{self.name} {self.shape.value}/>"

    @property
    def default_text(self) -> str:
        if self.default is None:
            return "required"
        if isinstance(self.default, tuple):
            return f"{self.default[0]:g} to {self.default[1]:g}"
        return self.default if isinstance(self.default, str) else f"{self.default:g}"

    @property
    def allowed_text(self) -> str:
        """The allowed words, or the allowed numbers with their unit; empty where every value is allowed."""
        if self.words:
            return ", ".join(self.words)
        return f"{self.allowed[0]:g} to {self.allowed[1]:g} {self.unit}".rstrip() if self.allowed else ""


def number(name: str, about: str, unit: str, default: float, low: float, high: float) -> Parameter:
    return Parameter(name, Shape.NUMBER, about, unit, default, (low, high))


def interval(name: str, about: str, default: tuple[float, float], low: float, high: float) -> Parameter:
    """A random distance in metres, drawn anew for each use."""
    return Parameter(name, Shape.INTERVAL, about, "m", default, (low, high))


def location(name: str, about: str) -> Parameter:
    return Parameter(name, Shape.LOCATION, about, "m")


def unused(parameter: Parameter) -> Parameter:
    """The same parameter for a type of scenario on which it has no effect."""
    return replace(parameter, has_effect=False)


def distance(default: float, about: str = "from the trigger to the obstacle") -> Parameter:
    return number("distance", about, "m", default, 10.0, 500.0)


def flow_speed(default: float) -> Parameter:
    return number("flow_speed", "speed of the stream", "m/s", default, 2.0, 30.0)


def gap(default: tuple[float, float]) -> Parameter:
    return interval("source_dist_interval", "distance between vehicles of the stream", default, 3.0, 300.0)


DIRECTION = Parameter(
    "direction", Shape.WORD, "side of the road, seen by the ego", default="right", words=("left", "right")
)
FROM_DIRECTION = Parameter(
    "direction",
    Shape.WORD,
    "arm of the junction that the vehicle comes from",
    default="right",
    words=("left", "right", "opposite"),
)
SPEED = number("speed", "highest speed of other traffic near the obstacle", "km/h", 60.0, 20.0, 130.0)
FREQUENCY = interval("frequency", "gap between oncoming vehicles (a distance, not a rate)", (20.0, 100.0), 5.0, 500.0)
FREQUENCY_VALUE = number("frequency", "gap between oncoming vehicles (a distance, not a rate)", "m", 100.0, 5.0, 500.0)
CROSSING_ANGLE = number("crossing_angle", "angle of the walk to a right angle across the road", "deg", 0.0, -90.0, 90.0)
START_FLOW = location("start_actor_flow", "where the stream starts")
END_FLOW = location("end_actor_flow", "where the stream ends")
