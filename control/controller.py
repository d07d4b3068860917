"""The controller: combines steering and pedals into the command that follows a plan."""

from __future__ import annotations

from dataclasses import replace

from av_core.types import ControlCommand, EgoState, Plan, VehicleParameters
from control.config import ControlConfig
from control.lateral import LateralController
from control.longitudinal import LongitudinalController
from control.reverse import ReverseSteering


class Controller:
    """Lateral and longitudinal control; call `step` once per simulation step of `config.step_s`, in order of time.

    The pedals are controlled in the same way forwards and backwards; the steering backwards is in `control.reverse`.
    """

    def __init__(self, vehicle: VehicleParameters, config: ControlConfig | None = None) -> None:
        config = config or ControlConfig()
        self._lateral = LateralController(vehicle, config.lateral, config.step_s)
        self._longitudinal = LongitudinalController(config.longitudinal, config.step_s)
        self._reverse = ReverseSteering(vehicle, config.lateral, config.step_s)

    def step(self, plan: Plan, ego: EgoState) -> ControlCommand:
        """The command for the next simulation step."""
        steer = (self._reverse if plan.reverses else self._lateral).step(plan, ego)
        along = replace(ego, speed_mps=-ego.speed_mps) if plan.reverses else ego
        throttle, brake = self._longitudinal.step(plan, along)
        return ControlCommand(throttle=throttle, brake=brake, steer=steer, reverse=plan.reverses)
