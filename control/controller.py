"""The controller: combines steering and pedals into the command that follows a plan."""

from __future__ import annotations

from av_core.types import ControlCommand, EgoState, Plan, VehicleParameters
from control.config import ControlConfig
from control.lateral import LateralController
from control.longitudinal import LongitudinalController


class Controller:
    """Lateral and longitudinal control; call `step` once per simulation step of `config.step_s`, in order of time."""

    def __init__(self, vehicle: VehicleParameters, config: ControlConfig | None = None) -> None:
        config = config or ControlConfig()
        self._lateral = LateralController(vehicle, config.lateral, config.step_s)
        self._longitudinal = LongitudinalController(config.longitudinal, config.step_s)

    def step(self, plan: Plan, ego: EgoState) -> ControlCommand:
        """The command for the next simulation step."""
        steer = self._lateral.step(plan, ego)
        throttle, brake = self._longitudinal.step(plan, ego)
        return ControlCommand(throttle=throttle, brake=brake, steer=steer)
