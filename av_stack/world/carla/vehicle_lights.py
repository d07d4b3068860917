"""The lights of vehicles as CARLA's flags."""

from __future__ import annotations

import carla

from av_core.types import VehicleLights


def light_state_of(lights: VehicleLights) -> carla.VehicleLightState:
    """CARLA's flags for the lights that are on."""
    state = carla.VehicleLightState
    flags = (
        (lights.position, state.Position),
        (lights.low_beam, state.LowBeam),
        (lights.brake, state.Brake),
        (lights.left_indicator or lights.hazard, state.LeftBlinker),
        (lights.right_indicator or lights.hazard, state.RightBlinker),
    )
    return state(sum(int(flag) for is_on, flag in flags if is_on))
