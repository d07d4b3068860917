"""Test drives of the handling benchmark: the published models' car alone on a plane, in steps of 50 ms."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.dynamics.drives import Plane, spec_of
from benchmarks.handling import models
from embedded_carla.handling import Handling
from embedded_carla.types import Transform, VehicleControl
from embedded_carla.world.vehicles.fleet import VehicleFleet

TURN_STEPS = 60


def car(speed_mps: float = 0.0, handling: Handling = Handling.CARLA) -> VehicleFleet:
    """The published models' car, alone on a plane, at this speed."""
    fleet = VehicleFleet(Plane(), handling)
    fleet.add(spec_of(models.MODEL), Transform())
    fleet.set_velocity(0, (speed_mps, 0.0, 0.0))
    return fleet


def speed_mps(fleet: VehicleFleet) -> float:
    return math.hypot(*fleet.velocity[0, :2])


def turn(steer: float, at_mps: float, wetness: float = 0.0, handling: Handling = Handling.CARLA) -> tuple[float, float]:
    """(yaw rate in deg/s, speed in m/s) after 3 s with the speed held by the throttle."""
    fleet, integral = car(at_mps, handling), 0.0
    for _ in range(TURN_STEPS):
        error = at_mps - speed_mps(fleet)
        integral = min(max(integral + 0.1 * error, 0.0), 1.0)
        throttle = min(max(0.3 + 0.5 * error + integral, 0.0), 1.0)
        fleet.set_control(0, VehicleControl(throttle=throttle, steer=steer))
        fleet.step(models.STEP_S, wetness, wetness)
    return float(fleet.angular_velocity_degps[0, 2]), speed_mps(fleet)


def pedals(control: VehicleControl, from_mps: float, steps: int) -> list[float]:
    """Speeds in m/s at every step of 0.05 s, the first included."""
    fleet = car(from_mps)
    fleet.set_control(0, control)
    speeds = [from_mps]
    for _ in range(steps):
        fleet.step(models.STEP_S, 0.0)
        speeds.append(speed_mps(fleet))
    return speeds


def modelled(step: Callable[[float], float], from_mps: float, steps: int) -> list[float]:
    """A model's speeds in m/s at every step of 0.05 s, the first included."""
    speeds = [from_mps]
    for _ in range(steps):
        speeds.append(step(speeds[-1]))
    return speeds
