"""Which lights are on."""

from __future__ import annotations

from av_core.types import Indicator, VehicleLights
from control.lights import choose_lights


def test_nothing_is_on_in_clear_daylight() -> None:
    assert choose_lights(0.0, Indicator.OFF, False, False) == VehicleLights()


def test_a_poor_view_takes_low_beam_and_position_lights() -> None:
    assert choose_lights(0.0, Indicator.OFF, True, False) == VehicleLights(position=True, low_beam=True)


def test_the_brake_lights_follow_the_brake() -> None:
    assert choose_lights(0.2, Indicator.OFF, False, False).brake
    assert not choose_lights(0.001, Indicator.OFF, False, False).brake


def test_hazard_lights_replace_the_indicator_in_a_safe_stop() -> None:
    turning = choose_lights(0.0, Indicator.LEFT, False, False)
    assert (turning.left_indicator, turning.right_indicator, turning.hazard) == (True, False, False)
    assert choose_lights(0.0, Indicator.RIGHT, False, False).right_indicator
    stopping = choose_lights(0.0, Indicator.LEFT, False, True)
    assert (stopping.left_indicator, stopping.right_indicator, stopping.hazard) == (False, False, True)
