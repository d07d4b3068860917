"""What `--sweep` and `--until-failure` accept: CARLA's parameters in CARLA's ranges, and one clear line otherwise."""

from __future__ import annotations

import carla
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from av_core.errors import ConfigError
from av_stack.weather_stress.parameters import PARAMETERS, Axis, Search, parse_axes, parse_search, parse_sweep
from scenarios.weather_course import KeyframeTable

PRESETS = ("ClearNoon", "HardRainNoon", "ClearNight")


def test_every_parameter_of_carla_is_there_and_no_other() -> None:
    theirs = {name for name in dir(carla.WeatherParameters) if name[0].islower() and not name.startswith("_")}
    assert set(PARAMETERS) == theirs


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_the_ranges_are_those_of_a_scenarios_weather(name: str) -> None:
    parameter = PARAMETERS[name]
    KeyframeTable.model_validate({"route_percent": 0.0, name: parameter.low})
    with pytest.raises(ValidationError):
        KeyframeTable.model_validate({"route_percent": 0.0, name: parameter.low - 0.1})
    high = 1e6 if parameter.high is None else parameter.high
    KeyframeTable.model_validate({"route_percent": 0.0, name: high})
    if parameter.high is not None:
        with pytest.raises(ValidationError):
            KeyframeTable.model_validate({"route_percent": 0.0, name: high + 0.1})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("fog_density=0:100:25", (0.0, 25.0, 50.0, 75.0, 100.0)),
        ("fog_density=0:100:30", (0.0, 30.0, 60.0, 90.0)),
        ("sun_altitude_angle=10:-10:-10", (10.0, 0.0, -10.0)),
        ("wetness= 50, 0, 50", (50.0, 0.0)),
        ("mie_scattering_scale=0:0.3:0.1", (0.0, 0.1, 0.2, 0.3)),
        ("preset=all", PRESETS),
        ("preset=ClearNight,ClearNoon", ("ClearNight", "ClearNoon")),
    ],
)
def test_a_sweep_has_its_values(text: str, values: tuple[float | str, ...]) -> None:
    assert parse_sweep(text, PRESETS) == Axis(text.partition("=")[0], values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fog_densty=0:1:1", "did you mean fog_density"),
        ("fog_density", "expected PARAMETER=FROM:TO:STEP"),
        ("fog_density=0:100", "expected FROM:TO:STEP"),
        ("fog_density=0:120:60", "120 is outside CARLA's range; fog_density is from 0 to 100"),
        ("fog_distance=-1", "fog_distance is at least 0"),
        ("fog_density=50:0:10", "the range is empty"),
        ("fog_density=0:50:0", "the step is 0"),
        ("fog_density=0:100:0.5", "more than 101 values"),
        ("fog_density=", "is not a number"),
        ("fog_density=nan", "is not a number"),
        ("preset=", "no preset"),
        ("preset=ClearNon", "did you mean ClearNoon"),
    ],
)
def test_a_wrong_sweep_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_sweep(text, PRESETS)


def test_two_sweeps_need_two_parameters() -> None:
    assert [axis.name for axis in parse_axes(["wetness=0", "preset=all"], PRESETS)] == ["wetness", "preset"]
    with pytest.raises(ConfigError, match="wetness is swept twice"):
        parse_axes(["wetness=0", "wetness=1"], PRESETS)
    with pytest.raises(ConfigError, match="given 3 times"):
        parse_axes(["wetness=0", "cloudiness=1", "preset=all"], PRESETS)


@given(st.floats(-200.0, 200.0), st.floats(-200.0, 200.0), st.floats(-300.0, 300.0))
def test_every_value_of_a_sweep_is_between_its_ends(first: float, last: float, step: float) -> None:
    try:
        axis = parse_sweep(f"sun_azimuth_angle={first!r}:{last!r}:{step!r}", PRESETS)
    except ConfigError:
        return
    assert axis.values[0] == pytest.approx(first, abs=1e-9)
    for value in axis.values:
        assert isinstance(value, float)
        assert min(first, last) - 1e-6 <= value <= max(first, last) + 1e-6


def test_a_search_has_a_range() -> None:
    assert parse_search("fog_density") == Search("fog_density", 0.0, 100.0)
    assert parse_search("sun_altitude_angle") == Search("sun_altitude_angle", 45.0, -30.0)
    assert parse_search("fog_falloff=0:5") == Search("fog_falloff", 0.0, 5.0)


def test_a_search_begins_near_the_scenarios_own_weather() -> None:
    search = parse_search("sun_altitude_angle=-20:40")
    assert search.from_end_near(45.0) == Search("sun_altitude_angle", 40.0, -20.0)
    assert search.from_end_near(-90.0) == search
    assert search.from_end_near(45.0).value(0.25) == 25.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rain", "unknown parameter 'rain'"),
        ("fog_falloff", "CARLA sets no upper bound for it; give a range"),
        ("wetness=0:50:10", "expected PARAMETER=LOW:HIGH"),
        ("wetness=50", "expected PARAMETER=LOW:HIGH"),
        ("wetness=50:50", "the range is empty"),
        ("wetness=50:101", "101 is outside CARLA's range"),
        ("preset=all", "unknown parameter 'preset'"),
    ],
)
def test_a_wrong_search_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_search(text)
