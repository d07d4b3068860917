"""The ego's low beam as the server has it, in drives through the wheel; test_drive.py has the other lights."""

from __future__ import annotations

import pytest

from av_core.types import SensorFrame, StepResult, Truth
from av_stack.run import Options, run
from av_stack.world.carla_world import connect
from av_stack.world.spec import Address
from scenarios.judge import Judge
from scenarios.model import TrafficTable, load_scenario


@pytest.mark.parametrize(
    ("weather", "is_lit"),
    [("ClearNoon", False), ("ClearNight", True), ("SoftRainNoon", True), ("clear_noon_fog", True)],
)
def test_low_beam_is_on_where_it_is_dark_foggy_or_raining(city_server: Address, weather: str, is_lit: bool) -> None:
    """A second client asks the server for the lights of the only vehicle."""
    carla, client = connect(city_server)
    town = load_scenario("town_drive")
    alone = {"weather": weather, "timeout_s": 0.5, "walkers": (), "traffic": TrafficTable(vehicles=0)}
    shown: list[int] = []
    wanted: list[int] = []
    low_beam = int(carla.VehicleLightState.LowBeam) | int(carla.VehicleLightState.Position)

    def look(_frame: SensorFrame, step: StepResult, _truth: Truth, _judge: Judge) -> None:
        (state,) = client.get_world().get_vehicles_light_states().values()
        shown.append(int(state))
        wanted.append(low_beam * is_lit | int(carla.VehicleLightState.Brake) * step.command.lights.brake)

    run(town.model_copy(update=alone), Options(address=city_server, oracles=("detection", "lights")), look)
    assert len(shown) >= 10
    assert shown == wanted
