"""Chooses which lights of the ego are on: position and low beam, brake lights, indicators, hazard lights."""

from __future__ import annotations

from av_core.types import Indicator, VehicleLights

BRAKE_MIN = 0.01
"""Minimum brake command at which the brake lights are on."""


def choose_lights(brake: float, indicator: Indicator, is_view_poor: bool, is_stopping_safely: bool) -> VehicleLights:
    """The lights for a brake command in [0, 1] and the plan's indicator.

    * `is_view_poor`: it is dark, foggy or raining; position lights and low beam are on then.
    * `is_stopping_safely`: the ego stops because it cannot drive on; the hazard lights replace the indicator then.
    """
    return VehicleLights(
        position=is_view_poor,
        low_beam=is_view_poor,
        brake=brake >= BRAKE_MIN,
        left_indicator=indicator is Indicator.LEFT and not is_stopping_safely,
        right_indicator=indicator is Indicator.RIGHT and not is_stopping_safely,
        hazard=is_stopping_safely,
    )
