"""The ego's low beam as the server has it, in drives through the wheel; test_drive.py has the other lights."""

from __future__ import annotations

import time

import carla
import pytest

from av_core.types import SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.run import Options, run
from av_stack.world.carla.client import connect
from av_stack.world.spec import Address
from scenarios.judging.judge import Judge
from scenarios.model import TrafficTable, load_scenario


@pytest.mark.parametrize(
    ("weather", "is_lit"),
    [("ClearNoon", False), ("ClearNight", True), ("SoftRainNoon", True), ("clear_noon_fog", True)],
)
def test_low_beam_is_on_where_it_is_dark_foggy_or_raining(city_server: Address, weather: str, is_lit: bool) -> None:
    """A second client asks the server for the lights of the only vehicle."""
    client = connect(city_server)
    town = load_scenario("town_drive")
    alone = {"weather": weather, "timeout_s": 0.5, "walkers": (), "traffic": TrafficTable(vehicles=0)}
    shown: list[int] = []
    wanted: list[int] = []
    low_beam = int(carla.VehicleLightState.LowBeam) | int(carla.VehicleLightState.Position)

    def look(_frame: SensorFrame, step: AgentStep, _truth: Truth, _judge: Judge) -> None:
        assert step.command is not None
        wanted.append(low_beam * is_lit | int(carla.VehicleLightState.Brake) * step.command.lights.brake)
        shown.append(_state_once(client, wanted[-1]))

    run(town.model_copy(update=alone), Options(address=city_server, oracles=("detection", "lights")), look)
    assert len(shown) >= 10
    assert shown == wanted


def _state_once(client: carla.Client, wanted: int) -> int:
    """The light state of the only vehicle, once it is `wanted`, or 2 s later.

    The drive's client does not wait for an answer when it sets the lights, so another client may ask too early.
    """
    deadline_s = time.monotonic() + 2.0
    while True:
        (state,) = client.get_world().get_vehicles_light_states().values()
        if int(state) == wanted or time.monotonic() > deadline_s:
            return int(state)
