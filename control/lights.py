"""Chooses which lights of the ego are on: position and low beam, brake lights, indicators, hazard lights."""

from __future__ import annotations

from av_core.types import Indicator, VehicleLights

BRAKE_MIN = 0.01
"""Brake command from which the brake lights are on."""


def choose_lights(brake: float, indicator: Indicator, is_view_poor: bool, is_stopping_safely: bool) -> VehicleLights:
    """The lights for a brake command in [0, 1] and a planned manoeuvre.

    `is_view_poor`: it is dark, foggy or raining. `is_stopping_safely`: the ego stops because it cannot drive on; hazard
    lights then replace the indicator.
    """
    return VehicleLights(
        position=is_view_poor,
        low_beam=is_view_poor,
        brake=brake >= BRAKE_MIN,
        left_indicator=indicator is Indicator.LEFT and not is_stopping_safely,
        right_indicator=indicator is Indicator.RIGHT and not is_stopping_safely,
        hazard=is_stopping_safely,
    )
