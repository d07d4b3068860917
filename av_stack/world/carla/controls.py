"""Control commands in CARLA's terms, whose steering is positive to the right."""

from __future__ import annotations

import carla

from av_core.types import ControlCommand


def vehicle_control(command: ControlCommand) -> carla.VehicleControl:
    """Pedals and steering of a command, for CARLA."""
    return carla.VehicleControl(
        throttle=float(command.throttle),
        steer=-float(command.steer),
        brake=float(command.brake),
        reverse=command.reverse,
    )


def command_of(control: carla.VehicleControl) -> ControlCommand:
    """CARLA's control as a command, without lights."""
    return ControlCommand(throttle=control.throttle, brake=control.brake, steer=-control.steer, reverse=control.reverse)
