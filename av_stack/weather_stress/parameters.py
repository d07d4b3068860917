"""CARLA's weather parameters, and the parsing of the options `--sweep` and `--until-failure`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean

PRESET = "preset"
"""Name of the axis whose values are CARLA's presets."""

ALL = "all"
VALUES_MAX = 101
"""Most values of one sweep."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """The range of a parameter that CARLA allows, `low` to `high`, and the default range of a search.

    `high` is None if CARLA sets no upper bound. If `search` is None, the option must give a range.
    """

    low: float
    high: float | None
    search: tuple[float, float] | None = None


PERCENT = Parameter(0.0, 100.0, (0.0, 100.0))
UNBOUNDED = Parameter(0.0, None)

PARAMETERS: Mapping[str, Parameter] = {
    "cloudiness": PERCENT,
    "precipitation": PERCENT,
    "precipitation_deposits": PERCENT,
    "wind_intensity": PERCENT,
    "sun_azimuth_angle": Parameter(-360.0, 360.0, (0.0, 360.0)),
    "sun_altitude_angle": Parameter(-90.0, 90.0, (45.0, -30.0)),
    "fog_density": PERCENT,
    "fog_distance": UNBOUNDED,
    "fog_falloff": UNBOUNDED,
    "wetness": PERCENT,
    "scattering_intensity": UNBOUNDED,
    "mie_scattering_scale": UNBOUNDED,
    "rayleigh_scattering_scale": UNBOUNDED,
    "dust_storm": PERCENT,
}
"""All of `carla.WeatherParameters`; angles in degrees, `fog_distance` in metres, most others in percent."""

Value = float | str
"""A value of a parameter, or the name of a preset."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter, or `preset`, and the values that a sweep gives it, in their order and each once."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """The parameter whose limit is searched, between two of its values."""

    name: str
    first: float
    second: float

    def value(self, fraction: float) -> float:
        """The value at a fraction of the way from `first` to `second`."""
        return self.first + fraction * (self.second - self.first)

    def from_end_near(self, value: float) -> Search:
        """The same range with its ends in the order that begins nearer to `value`."""
        is_turned = abs(self.second - value) < abs(self.first - value)
        return Search(self.name, self.second, self.first) if is_turned else self


def parse_sweep(text: str, presets: Sequence[str]) -> Axis:
    """The axis of `PARAMETER=FROM:TO:STEP`, `PARAMETER=A,B,C`, `preset=all` or `preset=A,B`. Raises ConfigError."""
    option = f"--sweep {text!r:.80}"
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals:
        raise ConfigError(f"{option}: expected PARAMETER=FROM:TO:STEP, for example fog_density=0:100:10")
    if name == PRESET:
        return Axis(name, _presets(option, values, presets))
    check_parameter(option, name, [*PARAMETERS, PRESET])
    numbers = _steps(option, values) if ":" in values else [_number(option, part) for part in values.split(",")]
    for number in numbers:
        check_range(option, name, number)
    return Axis(name, tuple(dict.fromkeys(numbers)))


def parse_axes(texts: Sequence[str], presets: Sequence[str]) -> tuple[Axis, ...]:
    """The axes of one `--sweep` or two. Raises ConfigError."""
    axes = tuple(parse_sweep(text, presets) for text in texts)
    if len(axes) > 2:
        raise ConfigError(f"--sweep: given {len(axes)} times; one gives curves, two give a heat map, more is not shown")
    if len({axis.name for axis in axes}) < len(axes):
        raise ConfigError(f"--sweep: {axes[0].name} is swept twice; two sweeps need two parameters")
    return axes


def parse_search(text: str) -> Search:
    """The search that the option text `PARAMETER` or `PARAMETER=LOW:HIGH` asks for. Raises ConfigError."""
    option = f"--until-failure {text!r:.80}"
    name, equals, values = (part.strip() for part in text.partition("="))
    check_parameter(option, name, list(PARAMETERS))
    if not equals:
        search = PARAMETERS[name].search
        if search is None:
            raise ConfigError(f"{option}: CARLA sets no upper bound for it; give a range, for example {name}=0:5")
        return Search(name, *search)
    ends = [_number(option, part) for part in values.split(":")]
    if len(ends) != 2:
        raise ConfigError(f"{option}: expected PARAMETER=LOW:HIGH, for example fog_density=0:80")
    for end in ends:
        check_range(option, name, end)
    if ends[0] == ends[1]:
        raise ConfigError(f"{option}: the range is empty; expected two different values")
    return Search(name, ends[0], ends[1])


def check_parameter(option: str, name: str, known: Sequence[str]) -> None:
    """Raise ConfigError unless the name is one of CARLA's parameters."""
    if name not in known:
        raise ConfigError(f"{option}: unknown parameter {name!r:.40}{did_you_mean(name, known)}; there are "
                          f"{', '.join(known)}")  # fmt: skip


def check_range(option: str, name: str, value: float) -> None:
    """Raise ConfigError for a value that CARLA does not allow."""
    low, high = PARAMETERS[name].low, PARAMETERS[name].high
    if value < low or (high is not None and value > high):
        allowed = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
        raise ConfigError(f"{option}: {value:g} is outside CARLA's range; {name} is {allowed}")


def _presets(option: str, text: str, presets: Sequence[str]) -> tuple[str, ...]:
    names = tuple(presets) if text == ALL else tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ConfigError(f"{option}: no preset; expected {PRESET}={ALL}, or names of presets with commas between")
    for name in names:
        if name not in presets:
            raise ConfigError(f"{option}: unknown preset {name!r:.40}{did_you_mean(name, presets)}; there are "
                              f"{', '.join(presets)}")  # fmt: skip
    return tuple(dict.fromkeys(names))


def _steps(option: str, text: str) -> list[float]:
    """The values of FROM:TO:STEP, with both ends; TO is left out where no whole number of steps leads to it."""
    parts = [_number(option, part) for part in text.split(":")]
    if len(parts) != 3:
        raise ConfigError(f"{option}: expected FROM:TO:STEP, for example 0:100:10")
    first, last, step = parts
    if step == 0.0:
        raise ConfigError(f"{option}: the step is 0")
    steps = (last - first) / step + 1e-9
    if steps < 0.0:
        raise ConfigError(f"{option}: the range is empty; steps of {step:g} do not lead from {first:g} to {last:g}")
    if steps >= VALUES_MAX:
        raise ConfigError(f"{option}: more than {VALUES_MAX} values; take a larger step")
    return [round(first + number * step, 9) for number in range(math.floor(steps) + 1)]


def _number(option: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{option}: {text.strip()!r:.40} is not a number")
    return number
