"""Parameters of the vehicle physics, as one record per vehicle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.handling import Handling
from embedded_carla.types import VehicleSpec
from embedded_carla.world.vehicles.classes import traits_of

AIR_DENSITY_KGPM3 = 1.2
LATERAL_SHARE = (0.86, 0.90)  # lateral over longitudinal friction (front, rear); lower in front
ROLLOVER_SHARE = 0.9  # lateral friction stays below this share of the static stability factor, so nothing tips over
HALF_TRACK_MIN_M = 0.3
HAND_BRAKE_SHARE = 0.5  # of the largest braking force, at the rear axle
SHAPE = 1.35  # C of the tyres' Magic Formula; the kernel has the same
PEAK = math.tan(math.pi / (2.0 * SHAPE))  # B times the slip at which a tyre gives its largest force

BANK_RECORD = np.dtype(
    [
        (name, np.float64)
        for name in (
            "mass_kg",
            "yaw_inertia_kgm2",
            "wheelbase_m",
            "front_axle_m",  # from the origin, forward positive
            "rear_axle_m",
            "centre_m",  # centre of mass, from the origin
            "front_m",  # from the centre of mass to the axle
            "rear_m",
            "front_load",  # static share of the weight
            "rear_load",
            "drive_front",  # share of the driving force
            "transfer_kg",  # load shifted between the axles per longitudinal acceleration
            "side_transfer_m",  # height of the centre of mass over the track: load shifted between the sides
            "grip",  # friction of the tyres over that of a car's
            "front_side",  # lateral over longitudinal friction
            "rear_side",
            "front_tyre",  # B of the Magic Formula
            "rear_tyre",
            "understeer_s2",  # steering angle per lateral acceleration, beyond what the geometry needs: rad s^2/m
            "peak_slip_rad",  # slip at which the front tyres give most; the driver steers no further into a slide
            "rolling",  # resistance over load
            "drag_per_m",  # deceleration per squared speed
            "brake_front_n",  # at full brake
            "brake_rear_n",
            "hand_brake_front_n",
            "hand_brake_rear_n",
            "steer_max_rad",
            "rear_steer_share",  # the rear wheels' angle over the front wheels'
            "wheel_radius_m",
            "front_radius_m",
            "rear_radius_m",
            "half_track_m",
            "feels_water",  # 1 if a wet road takes grip, else 0
            "brake_fades",  # 1 if the brakes pull less at speed, as CARLA's do, else 0
        )
    ]
)


@dataclass(frozen=True, slots=True)
class Axle:
    """Both wheels of an axle as one: mean angle and radius, torques of both together."""

    steer_max_deg: float
    radius_m: float
    brake_nm: float
    hand_brake_nm: float


@dataclass(frozen=True, slots=True)
class Chassis:
    """Parameters beside its spec that a client can change on a vehicle.

    `centre_m` is the position of the centre of mass forward of the origin, `lifted_m` its height above the model's own.
    """

    front: Axle
    rear: Axle
    centre_m: float = 0.0
    lifted_m: float = 0.0


def chassis_of(spec: VehicleSpec) -> Chassis:
    """The model's own chassis."""
    share, torque_nm = traits_of(spec).brake_front_share, spec.brake_force_max_n * spec.wheel_radius_m
    return Chassis(
        Axle(spec.steer_max_deg, spec.wheel_radius_m, share * torque_nm, 0.0),
        Axle(0.0, spec.wheel_radius_m, (1.0 - share) * torque_nm, HAND_BRAKE_SHARE * torque_nm),
    )


def yaw_inertia_kgm2(spec: VehicleSpec) -> float:
    """Moment of inertia about the vertical axis of a homogeneous box of the vehicle's size."""
    return spec.mass_kg * (spec.extent[0] ** 2 + spec.extent[1] ** 2) / 3.0


def record_of(spec: VehicleSpec, chassis: Chassis | None = None) -> NDArray[np.void]:
    """The BANK_RECORD of one vehicle, shape ()."""
    traits, chassis = traits_of(spec), chassis or chassis_of(spec)
    front, rear = chassis.front, chassis.rear
    front_axle_m, centre_m = spec.rear_axle_x_m + spec.wheelbase_m, chassis.centre_m
    front_m, rear_m = front_axle_m - centre_m, spec.rear_axle_x_m - centre_m
    height_m = max(spec.cog_height_m + chassis.lifted_m, 0.05)
    stability = math.inf if spec.number_of_wheels < 4 else spec.track_m / (2 * height_m)
    most = ROLLOVER_SHARE * stability / (LATERAL_SHARE[1] * traits.grip)
    is_carla = spec.handling is Handling.CARLA and spec.number_of_wheels >= 4
    front_side, rear_side = (1.0, 1.0) if is_carla else (share * min(1.0, most) for share in LATERAL_SHARE)
    half_track_m = max(spec.track_m / 2, HALF_TRACK_MIN_M)
    front_tyre = traits.front_stiffness_per_rad / (SHAPE * front_side * traits.grip)
    values: dict[str, Any] = {
        "mass_kg": spec.mass_kg,
        "yaw_inertia_kgm2": yaw_inertia_kgm2(spec),
        "wheelbase_m": spec.wheelbase_m,
        "front_axle_m": front_axle_m,
        "rear_axle_m": spec.rear_axle_x_m,
        "centre_m": centre_m,
        "front_m": front_m,
        "rear_m": rear_m,
        "front_load": -rear_m / spec.wheelbase_m,
        "rear_load": front_m / spec.wheelbase_m,
        # All wheels are driven, by load: traction control hides most of what front or rear drive would do otherwise.
        "drive_front": 0.0 if spec.number_of_wheels < 4 else -rear_m / spec.wheelbase_m,
        "transfer_kg": spec.mass_kg * height_m / spec.wheelbase_m,
        "side_transfer_m": 0.0 if spec.number_of_wheels < 4 else height_m / (2 * half_track_m),
        "grip": traits.grip,
        "front_side": front_side,
        "rear_side": rear_side,
        "front_tyre": front_tyre,
        "rear_tyre": traits.rear_stiffness_per_rad / (SHAPE * rear_side * traits.grip),
        "understeer_s2": max(1.0 / traits.front_stiffness_per_rad - 1.0 / traits.rear_stiffness_per_rad, 0.0) / 9.81,
        "peak_slip_rad": PEAK / front_tyre,
        "rolling": traits.rolling_resistance,
        "drag_per_m": 0.5 * AIR_DENSITY_KGPM3 * spec.drag_area_m2 / spec.mass_kg,
        "brake_front_n": front.brake_nm / front.radius_m,
        "brake_rear_n": rear.brake_nm / rear.radius_m,
        "hand_brake_front_n": front.hand_brake_nm / front.radius_m,
        "hand_brake_rear_n": rear.hand_brake_nm / rear.radius_m,
        "steer_max_rad": math.radians(front.steer_max_deg),
        "rear_steer_share": rear.steer_max_deg / front.steer_max_deg if front.steer_max_deg > 0.0 else 0.0,
        "wheel_radius_m": (front.radius_m + rear.radius_m) / 2,
        "front_radius_m": front.radius_m,
        "rear_radius_m": rear.radius_m,
        "half_track_m": half_track_m,
        "feels_water": float(spec.handling is Handling.TYRES),
        "brake_fades": float(is_carla),
    }
    assert BANK_RECORD.names is not None
    return np.array(tuple(values[name] for name in BANK_RECORD.names), dtype=BANK_RECORD)
