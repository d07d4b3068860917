"""Structs of the wire, there and back."""

from __future__ import annotations

import struct
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_carla.errors import CommandError
from embedded_carla.types import Transform, VehicleControl, WalkerControl, WeatherParameters
from embedded_carla.wire import codec

share = st.floats(0.0, 1.0)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


places = st.floats(-codec.FARTHEST_M, codec.FARTHEST_M)
angles = st.floats(-codec.MOST_DEG, codec.MOST_DEG)


@given(st.builds(Transform, places, places, places, angles, st.floats(-179.9, 180.0), angles))
def test_transforms_come_back(pose: Transform) -> None:
    assert codec.transform_from_wire(codec.transform_to_wire(pose)) == pose


@given(angles)
def test_a_yaw_comes_back_within_half_a_turn(yaw_deg: float) -> None:
    back = codec.transform_from_wire(codec.transform_to_wire(Transform(yaw_deg=yaw_deg))).yaw_deg
    assert -180.0 < back <= 180.0
    turns = (yaw_deg - back) / 360.0
    assert abs(turns - round(turns)) < 1e-4


@given(
    st.builds(
        VehicleControl, share, st.floats(-1.0, 1.0), share, st.booleans(), st.booleans(), st.booleans(),
        st.integers(-1, 8),
    )
)  # fmt: skip
def test_vehicle_controls_come_back(control: VehicleControl) -> None:
    assert codec.vehicle_control_from_wire(astuple(control)) == control


@given(st.builds(WeatherParameters, *([st.floats(-codec.MOST_WEATHER, codec.MOST_WEATHER)] * 14)))
def test_weather_comes_back(weather: WeatherParameters) -> None:
    assert codec.weather_from_wire(codec.weather_to_wire(weather)) == weather


@given(
    st.builds(
        codec.EpisodeSettings, synchronous_mode=st.booleans(), no_rendering_mode=st.booleans(),
        fixed_delta_seconds=st.none() | st.floats(0.001, 10.0), max_substeps=st.integers(1, 100),
    )
)  # fmt: skip
def test_settings_come_back(settings: codec.EpisodeSettings) -> None:
    assert codec.settings_from_wire(codec.settings_to_wire(settings)) == settings


@given(
    st.builds(
        codec.ActorDescription, st.integers(0, 2**32 - 1), st.text(),
        st.lists(st.tuples(st.text(), st.integers(1, 5), st.text()), max_size=5).map(tuple),
    )
)  # fmt: skip
def test_descriptions_come_back(description: codec.ActorDescription) -> None:
    assert codec.description_from_wire(codec.description_to_wire(description)) == description


@given(st.tuples(places, places, places), st.floats(-100.0, 100.0), st.booleans())
def test_walker_controls_come_back(direction: Any, speed: float, jump: bool) -> None:
    assert codec.walker_control_from_wire([direction, speed, jump]) == WalkerControl(direction, speed, jump)


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        (codec.transform_from_wire, Transform),
        (codec.vehicle_control_from_wire, VehicleControl),
        (codec.walker_control_from_wire, WalkerControl),
        (codec.weather_from_wire, WeatherParameters),
        (codec.settings_from_wire, codec.EpisodeSettings),
        (codec.description_from_wire, codec.ActorDescription),
    ],
)
@given(value=junk)
def test_anything_else_is_read_or_refused_as_a_command(read: Any, kind: type, value: Any) -> None:
    try:
        made = read(value)
    except CommandError:
        return
    assert isinstance(made, kind)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "1", None, True])
def test_a_float_that_is_none_is_named(bad: Any) -> None:
    with pytest.raises(CommandError, match="throttle"):
        codec.vehicle_control_from_wire([bad, 0.0, 0.0, False, False, False, 0])


def test_controls_are_cut_to_their_ranges() -> None:
    control = codec.vehicle_control_from_wire([7, -3, -1, 0, 0, 0, 0])
    assert (control.throttle, control.steer, control.brake) == (1.0, -1.0, 0.0)


def test_a_token_is_24_bytes_with_the_clients_own_host() -> None:
    token = codec.token(7, 2001)
    assert struct.unpack("<IHBB16s", token) == (7, 2001, 1, 0, bytes(16))
