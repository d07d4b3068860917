"""What the physics needs to know of each vehicle, as one record per vehicle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import VehicleSpec

AIR_DENSITY_KGPM3 = 1.2
LATERAL_SHARE = (0.86, 0.90)  # lateral over longitudinal friction, lower in front
ROLLOVER_SHARE = 0.9  # lateral friction stays below this part of the static stability factor: nothing tips over
HALF_TRACK_MIN_M = 0.3

BANK_RECORD = np.dtype(
    [
        (name, np.float64)
        for name in (
            "mass_kg",
            "yaw_inertia_kgm2",
            "wheelbase_m",
            "front_m",  # from the centre of mass to the axle, forward positive
            "rear_m",
            "front_load",  # static share of the weight
            "rear_load",
            "transfer_kg",  # load from axle to axle per longitudinal acceleration
            "side_transfer_m",  # centre of mass's height over the track: load from side to side
            "front_side",  # lateral over longitudinal friction
            "rear_side",
            "drag_per_m",  # deceleration per squared speed
            "force_max_n",
            "power_w",
            "brake_force_max_n",
            "top_speed_mps",
            "steer_max_rad",
            "wheel_radius_m",
            "half_track_m",
        )
    ]
)


def yaw_inertia_kgm2(spec: VehicleSpec) -> float:
    """Moment of inertia about the vertical axis of a homogeneous box of the vehicle's size."""
    return spec.mass_kg * (spec.extent[0] ** 2 + spec.extent[1] ** 2) / 3.0


def record_of(spec: VehicleSpec) -> NDArray[np.void]:
    """The record of one vehicle, shape ()."""
    rear_m = -spec.rear_axle_x_m
    front_m = spec.wheelbase_m - rear_m
    stability = math.inf if spec.number_of_wheels < 4 else spec.track_m / (2 * spec.cog_height_m)
    front_side, rear_side = (min(s, s / LATERAL_SHARE[1] * ROLLOVER_SHARE * stability) for s in LATERAL_SHARE)
    half_track_m = max(spec.track_m / 2, HALF_TRACK_MIN_M)
    values: dict[str, Any] = {
        "mass_kg": spec.mass_kg,
        "yaw_inertia_kgm2": yaw_inertia_kgm2(spec),
        "wheelbase_m": spec.wheelbase_m,
        "front_m": front_m,
        "rear_m": -rear_m,
        "front_load": rear_m / spec.wheelbase_m,
        "rear_load": front_m / spec.wheelbase_m,
        "transfer_kg": spec.mass_kg * spec.cog_height_m / spec.wheelbase_m,
        "side_transfer_m": 0.0 if spec.number_of_wheels < 4 else spec.cog_height_m / (2 * half_track_m),
        "front_side": front_side,
        "rear_side": rear_side,
        "drag_per_m": 0.5 * AIR_DENSITY_KGPM3 * spec.drag_area_m2 / spec.mass_kg,
        "force_max_n": spec.force_max_n,
        "power_w": spec.power_w,
        "brake_force_max_n": spec.brake_force_max_n,
        "top_speed_mps": spec.top_speed_mps,
        "steer_max_rad": math.radians(spec.steer_max_deg),
        "wheel_radius_m": spec.wheel_radius_m,
        "half_track_m": half_track_m,
    }
    assert BANK_RECORD.names is not None
    return np.array(tuple(values[name] for name in BANK_RECORD.names), dtype=BANK_RECORD)
