"""Test drives of the dynamics benchmark: one vehicle alone on a plane, in steps of 10 ms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.scene import GroundHit
from embedded_carla.types import Float, SemanticTag, Transform, VehicleControl, VehicleSpec
from embedded_carla.world.vehicles.fleet import VehicleFleet

STEP_S = 0.01
STEP_AT_S = 2.0
GRAVITY_MPS2 = 9.81
Curve = dict[str, NDArray[np.float64]]
"""Named columns of equal length; each name ends with the unit."""


@dataclass(frozen=True, slots=True)
class Found:
    figures: dict[str, float]
    curve: Curve


class Plane:
    """Inclined ground plane that rises by `east` and `south` metres per metre."""

    def __init__(self, east: float = 0.0, south: float = 0.0) -> None:
        self._slope = np.array([east, south])

    def below(self, points: Float) -> GroundHit:
        n = len(points)
        normal = np.array([*-self._slope, 1.0]) / math.hypot(1.0, *self._slope)
        tags = np.full(n, SemanticTag.ROADS, dtype=np.uint8)
        return GroundHit(points[:, :2] @ self._slope, np.tile(normal, (n, 1)), tags, np.zeros(n, dtype=np.int32))


def spec_of(type_id: str) -> VehicleSpec:
    return next(b.vehicle for b in vehicle_blueprints() if b.type_id == type_id and b.vehicle is not None)


def vehicle(spec: VehicleSpec, speed_mps: float = 0.0, ground: Plane | None = None) -> VehicleFleet:
    fleet = VehicleFleet(ground or Plane())
    fleet.add(spec, Transform())
    fleet.set_velocity(0, (speed_mps, 0.0, 0.0))
    return fleet


def forward_mps(fleet: VehicleFleet) -> float:
    yaw = math.radians(fleet.rotation_deg[0, 1])
    return float(fleet.velocity[0, 0] * math.cos(yaw) + fleet.velocity[0, 1] * math.sin(yaw))


def launch(spec: VehicleSpec, most_s: float = 60.0) -> Curve:
    """Acceleration test: full throttle from rest on a dry road."""
    fleet, rows = vehicle(spec), []
    fleet.set_control(0, VehicleControl(throttle=1.0))
    for i in range(round(most_s / STEP_S) + 1):
        rpm = fleet.engine_radps[0] * 60.0 / math.tau
        rows.append((i * STEP_S, forward_mps(fleet), float(fleet.gear[0]), rpm))
        fleet.step(STEP_S, 0.0)
    return dict(zip(("time_s", "speed_mps", "gear", "engine_rpm"), np.array(rows).T, strict=True))


def brake(spec: VehicleSpec, kmh: float, wetness: float, deposits: float) -> Curve:
    """Braking test: full brake to rest, without the delays of driver and brake."""
    fleet = vehicle(spec, kmh / 3.6)
    rows: list[tuple[float, float, float]] = []
    fleet.set_control(0, VehicleControl(brake=1.0))
    while True:
        rows.append((len(rows) * STEP_S, float(fleet.location[0, 0]), forward_mps(fleet)))
        if rows[-1][2] <= 0.0:
            return dict(zip(("time_s", "distance_m", "speed_mps"), np.array(rows).T, strict=True))
        fleet.step(STEP_S, wetness, deposits)


def _steer(fleet: VehicleFleet, angle_rad: float) -> float:
    """The steer value of the control that turns the front wheels by `angle_rad`."""
    return angle_rad / (math.radians(fleet.spec(0).steer_max_deg) * fleet.steer_share(0))


class _Driver:
    """Keeps the speed constant by the throttle (PI controller), so that the tyres carry the loads of a real test."""

    def __init__(self, speed_mps: float) -> None:
        self._speed_mps = speed_mps
        self._integral = 0.0

    def step(self, fleet: VehicleFleet, angle_rad: float) -> None:
        error = self._speed_mps - forward_mps(fleet)
        self._integral = min(max(self._integral + 0.2 * error * STEP_S, 0.0), 1.0)
        throttle = min(max(0.5 * error + self._integral, 0.0), 1.0)
        fleet.set_control(0, VehicleControl(throttle=throttle, steer=min(_steer(fleet, angle_rad), 1.0)))
        fleet.step(STEP_S, 0.0)


def _yaw_rate(fleet: VehicleFleet) -> float:
    return math.radians(fleet.angular_velocity_degps[0, 2])


def circle_kmh(spec: VehicleSpec) -> float:
    return min(80.0, 0.7 * 3.6 * spec.top_speed_mps)


def circle(spec: VehicleSpec) -> Found:
    """Steady-state circular test at constant speed with increasing steering angle (ISO 4138, constant-speed method).

    The understeer angle is the front wheel angle minus the Ackermann angle (wheelbase over radius); the understeer
    gradient is its slope up to 0.3 g. The test ends at the first circle whose speed or yaw rate does not settle.
    """
    speed, rows = circle_kmh(spec) / 3.6, []
    for wanted_g in np.arange(0.04, 1.3, 0.04).tolist():
        angle = spec.wheelbase_m * wanted_g * GRAVITY_MPS2 / speed**2 + math.radians(2.5) * wanted_g
        rates = _circling(spec, speed, angle)
        if rates is None:
            break
        lateral_g = speed * rates / GRAVITY_MPS2
        ackermann = math.atan(spec.wheelbase_m * rates / speed)
        rows.append((lateral_g, math.degrees(angle), math.degrees(angle - ackermann)))
    curve = dict(zip(("lateral_g", "wheel_deg", "understeer_deg"), np.array(rows).T, strict=True))
    linear = curve["lateral_g"] <= 0.3
    gradient = float(np.polyfit(curve["lateral_g"][linear], curve["understeer_deg"][linear], 1)[0])
    characteristic = 3.6 * math.sqrt(GRAVITY_MPS2 * spec.wheelbase_m / math.radians(gradient))
    figures = {
        "understeer_deg_per_g": gradient,
        "characteristic_kmh": characteristic,
        "largest_lateral_g": _most_g(spec),
    }
    return Found(figures, curve)


def _most_g(spec: VehicleSpec) -> float:
    """Largest lateral acceleration, g, while the steering angle increases slowly, as on a skid pad."""
    speed, most = circle_kmh(spec) / 3.6, 0.0
    fleet, driver = vehicle(spec, speed), _Driver(speed)
    for i in range(round(12.0 / STEP_S)):
        driver.step(fleet, math.radians(1.0) * i * STEP_S)
        yaw = math.radians(fleet.rotation_deg[0, 1])
        aside = fleet.acceleration[0, 1] * math.cos(yaw) - fleet.acceleration[0, 0] * math.sin(yaw)
        most = max(most, float(abs(aside)) / GRAVITY_MPS2)
    return most


def _circling(spec: VehicleSpec, speed_mps: float, angle_rad: float) -> float | None:
    """Yaw rate of the steady circle, rad/s; None if speed or yaw rate do not settle."""
    fleet, driver = vehicle(spec, speed_mps), _Driver(speed_mps)
    for _ in range(round(7.0 / STEP_S)):
        driver.step(fleet, angle_rad)
    before = _yaw_rate(fleet)
    for _ in range(round(1.0 / STEP_S)):
        driver.step(fleet, angle_rad)
    rate = _yaw_rate(fleet)
    is_steady = abs(rate - before) < 0.01 * abs(rate) and abs(forward_mps(fleet) - speed_mps) < 0.02 * speed_mps
    return rate if is_steady else None


def step_steer(spec: VehicleSpec, turns: Curve, lateral_g: float = 0.3) -> Found:
    """Step steer test at the speed of the circles `turns`, to a steady lateral acceleration of `lateral_g` (ISO 7401).

    The response time runs from half of the steering step to 90 % of the steady yaw rate.
    """
    speed = circle_kmh(spec) / 3.6
    angle = math.radians(float(np.interp(lateral_g, turns["lateral_g"], turns["wheel_deg"])))
    fleet, driver, rows = vehicle(spec, speed), _Driver(speed), []
    for i in range(round(6.0 / STEP_S)):
        rows.append((i * STEP_S, math.degrees(fleet.steer_rad[0]), fleet.angular_velocity_degps[0, 2]))
        driver.step(fleet, angle if i * STEP_S >= STEP_AT_S else 0.0)
    curve = dict(zip(("time_s", "wheel_deg", "yaw_rate_degps"), np.array(rows).T, strict=True))
    steady = float(curve["yaw_rate_degps"][-1])
    begun = float(curve["time_s"][np.argmax(curve["wheel_deg"] >= 0.5 * curve["wheel_deg"][-1])])
    ninety = float(curve["time_s"][np.argmax(curve["yaw_rate_degps"] >= 0.9 * steady)])
    overshoot = 100.0 * (float(curve["yaw_rate_degps"].max()) / steady - 1.0)
    figures = {"circle_kmh": 3.6 * speed, "yaw_response_s": ninety - begun, "yaw_overshoot_percent": overshoot}
    return Found(figures, curve)


def roll_down(spec: VehicleSpec, slope_deg: float) -> float:
    """Acceleration along the slope, m/s^2, of a vehicle that rolls down in neutral, from 0.5 to 1.5 s after a push."""
    grade = math.tan(math.radians(slope_deg))
    fleet = vehicle(spec, 0.3, ground=Plane(east=-grade))
    fleet.set_control(0, VehicleControl(manual_gear_shift=True, gear=0))
    for _ in range(50):
        fleet.step(STEP_S, 0.0)
    before = forward_mps(fleet)
    for _ in range(100):
        fleet.step(STEP_S, 0.0)
    return (forward_mps(fleet) - before) / math.cos(math.radians(slope_deg))


def stand_across(spec: VehicleSpec, slope_deg: float) -> float:
    """Roll angle, deg, at rest on a road that falls to the right by `slope_deg`."""
    fleet = vehicle(spec, ground=Plane(south=-math.tan(math.radians(slope_deg))))
    fleet.set_control(0, VehicleControl(brake=1.0))
    for _ in range(300):
        fleet.step(STEP_S, 0.0)
    return float(fleet.rotation_deg[0, 2])
