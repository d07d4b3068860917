"""Limits of what a client may set in a vehicle's physics: checks every field of CARLA's VehiclePhysicsControl.

The bounds are far outside of any road vehicle; within them the physics stays finite.
"""

from __future__ import annotations

from typing import Any

from embedded_carla.wire import codec

MOST_POINTS, MOST_GEARS, MOST_WHEELS = 64, 32, 16
_CURVE = ((-1.0e6, 1.0e6), (-1.0e6, 1.0e6))
_GEAR = ("forward_gears", ((-100.0, 100.0), (0.0, 100.0), (0.0, 100.0)))
_WHEEL = (
    ("tire_friction", 0.0, 100.0),
    ("damping_rate", 0.0, 1.0e6),
    ("max_steer_angle", 0.0, 180.0),
    ("radius", 1.0, 1000.0),
    ("max_brake_torque", 0.0, 1.0e7),
    ("max_handbrake_torque", 0.0, 1.0e7),
    ("lat_stiff_max_load", 0.0, 1.0e6),
    ("lat_stiff_value", 0.0, 1.0e6),
    ("long_stiff_value", 0.0, 1.0e6),
)
_NUMBERS = (
    (1, "max_rpm", 1.0, 1.0e6),
    (2, "moi", 1.0e-3, 1.0e6),
    (3, "damping_rate_full_throttle", 0.0, 1.0e6),
    (4, "damping_rate_zero_throttle_clutch_engaged", 0.0, 1.0e6),
    (5, "damping_rate_zero_throttle_clutch_disengaged", 0.0, 1.0e6),
    (7, "gear_switch_time", 0.0, 1.0e3),
    (8, "clutch_strength", 0.0, 1.0e6),
    (9, "final_ratio", -1.0e3, 1.0e3),
    (11, "mass", 1.0, 1.0e6),
    (12, "drag_coefficient", 0.0, 1.0e3),
)


def checked(control: Any) -> tuple[Any, ...]:
    """Return `control` as plain numbers in wire order. Raises CommandError naming the field that is out of bounds."""
    v = list(codec.items(control, 17, "physics control")[:17])
    for place, name, low, high in _NUMBERS:
        v[place] = codec.number(v[place], name, low, high)
    for place, name in ((0, "torque_curve"), (14, "steering_curve")):
        points = codec.items(v[place], 0, name, MOST_POINTS)
        v[place] = [_row(point, name, _CURVE) for point in points]
    v[10] = [_row(gear, *_GEAR) for gear in codec.items(v[10], 0, "forward_gears", MOST_GEARS)]
    v[13] = codec.vector_from_wire(v[13], "center_of_mass", codec.MOST_DEG)
    v[15] = [_wheel(wheel) for wheel in codec.items(v[15], 2, "wheels", MOST_WHEELS)]
    v[6], v[16] = bool(v[6]), bool(v[16])
    return tuple(v)


def _row(value: Any, what: str, bounds: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    row = codec.items(value, len(bounds), what)
    return tuple(codec.number(cell, what, low, high) for cell, (low, high) in zip(row, bounds, strict=False))


def _wheel(value: Any) -> tuple[Any, ...]:
    row = codec.items(value, len(_WHEEL) + 1, "wheel")
    numbers = tuple(codec.number(cell, name, low, high) for cell, (name, low, high) in zip(row, _WHEEL, strict=False))
    return (*numbers, codec.vector_from_wire(row[len(_WHEEL)], "wheel position"))
