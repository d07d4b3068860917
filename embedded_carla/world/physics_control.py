"""CARLA's VehiclePhysicsControl against the parameters that the physics here has.

The parts that have a meaning in both (mass, drag, steering angle and curve, brake torque, wheel radius, friction) act;
the rest (gear box, torque curve, suspension) is kept and given back, so that what a script sets it reads again.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

from embedded_carla import codec
from embedded_carla.errors import CommandError
from embedded_carla.types import Transform, VehicleSpec
from embedded_carla.world.vehicles import STEER_POINTS

NOMINAL_FRICTION = 3.5  # CARLA's usual tyre friction, which stands for a dry road's grip of 1
_FRONTAL_SHARE = 0.85  # frontal area over width times height
_MAX_RPM, _IDLE_RPM = 6000.0, 800.0
_FINAL_RATIO = 4.0
_GEARS = [(4.0, 0.5, 0.65), (2.5, 0.5, 0.65), (1.6, 0.5, 0.65), (1.15, 0.5, 0.65), (0.85, 0.5, 0.65)]
_STEERING_CURVE = [(0.0, 1.0), (20.0, 0.9), (60.0, 0.8), (120.0, 0.7)]


def _frontal_area_m2(spec: VehicleSpec) -> float:
    return _FRONTAL_SHARE * 4.0 * spec.extent[1] * spec.extent[2]


def to_wire(spec: VehicleSpec, pose: Transform, applied: Any) -> Any:
    """What `get_physics_control` answers: what was `applied` last, else the model's own values."""
    if applied is not None:
        return applied
    peak_nm = spec.force_max_n * spec.wheel_radius_m / (_GEARS[0][0] * _FINAL_RATIO)
    brake_nm = spec.brake_force_max_n * spec.wheel_radius_m / spec.number_of_wheels
    front_x, half_track = spec.rear_axle_x_m + spec.wheelbase_m, spec.track_m / 2
    wheels = []
    for x, y, is_front in (
        (front_x, -half_track, True),
        (front_x, half_track, True),
        (spec.rear_axle_x_m, -half_track, False),
        (spec.rear_axle_x_m, half_track, False),
    ):
        place = pose @ Transform(x, y, spec.wheel_radius_m)
        wheels.append(
            (
                NOMINAL_FRICTION, 0.25, spec.steer_max_deg if is_front else 0.0, 100 * spec.wheel_radius_m, brake_nm,
                0.0 if is_front else 2 * brake_nm, 3.0, 20.0, 3000.0,
                (100 * place.x, 100 * place.y, 100 * place.z),
            )
        )  # fmt: skip
    return (
        [(0.0, 0.8 * peak_nm), (0.4 * _MAX_RPM, peak_nm), (_MAX_RPM, 0.7 * peak_nm)],
        _MAX_RPM, 1.0, 0.15, 2.0, 0.35, True, 0.2, 10.0, _FINAL_RATIO, _GEARS, spec.mass_kg,
        spec.drag_area_m2 / _frontal_area_m2(spec), (0.0, 0.0, -0.2), _STEERING_CURVE, wheels, True,
    )  # fmt: skip


def changed_spec(spec: VehicleSpec, control: Any) -> VehicleSpec:
    """`spec` with what `control` says of mass, drag and wheels; CommandError for an impossible value."""
    v = codec.items(control, 17, "physics control")
    wheels = [codec.items(w, 10, "wheel") for w in codec.items(v[15], 2, "wheels")]
    mass, drag = codec.number(v[11], "mass"), codec.number(v[12], "drag coefficient")
    steer = max(codec.number(w[2], "max_steer_angle") for w in wheels)
    radius_m = codec.number(wheels[0][3], "wheel radius") / 100
    brake_nm = sum(codec.number(w[4], "max_brake_torque") for w in wheels)
    for name, value in (("mass", mass), ("max_steer_angle", steer), ("wheel radius", radius_m)):
        if value <= 0.0:
            raise CommandError(f"physics control: {name} is {value:g}; it must be more than 0")
    return replace(
        spec,
        mass_kg=mass,
        drag_area_m2=max(drag, 0.0) * _frontal_area_m2(spec),
        steer_max_deg=min(steer, 85.0),
        wheel_radius_m=radius_m,
        brake_force_max_n=max(brake_nm / radius_m * spec.number_of_wheels / len(wheels), 0.0),
    )


def axle_friction(control: Any) -> tuple[float, float]:
    """Mean tyre friction of the front and the rear wheels, relative to CARLA's usual one."""
    numbers = [codec.number(wheel[0], "tire_friction") for wheel in control[15]]
    front, rear = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    means = (sum(some) / len(some) / NOMINAL_FRICTION for some in (front, rear))
    return max(next(means), 0.0), max(next(means), 0.0)


def steering_curve(control: Any) -> list[tuple[float, float]]:
    """Points of km/h and share of the largest steering angle; CommandError unless the speeds rise."""
    rows = [codec.items(row, 2, "steering curve") for row in codec.items(control[14], 1, "steering curve")]
    points = [(codec.number(row[0], "steering curve"), codec.number(row[1], "steering curve")) for row in rows]
    if any(b[0] <= a[0] for a, b in pairwise(points)) or len(points) > STEER_POINTS:
        raise CommandError(f"physics control: the steering curve needs at most {STEER_POINTS} points at rising speeds")
    return points


def engine_rpm(wheel_spin_radps: float) -> tuple[float, int]:
    """(revolutions per minute, gear) that the gear box has at this turn of the wheels; gear -1 backwards."""
    turn_rpm = abs(wheel_spin_radps) * _FINAL_RATIO * 60.0 / math.tau
    gear = next((i for i, (ratio, _, up) in enumerate(_GEARS) if turn_rpm * ratio <= up * _MAX_RPM), len(_GEARS) - 1)
    rpm = min(max(turn_rpm * _GEARS[gear][0], _IDLE_RPM), _MAX_RPM)
    return rpm, gear + 1 if wheel_spin_radps >= 0.0 else -1
