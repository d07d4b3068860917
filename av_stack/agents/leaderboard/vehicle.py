"""The parameters of the vehicle that every agent drives in CARLA Leaderboard 2: a Lincoln MKZ of 2020.

An agent cannot measure them with the sensors that it has there.
"""

from __future__ import annotations

from av_core.types import VehicleParameters

REAR_AXLE_X_M = -1.425
"""x of the rear axle in the frame of CARLA's actor."""

MKZ_2020 = VehicleParameters(
    length_m=4.892,
    width_m=1.838,
    height_m=1.492,
    wheelbase_m=2.850,
    rear_axle_to_centre_m=1.425,
    steer_max_rad=0.8186,
    mass_kg=1710.0,
    steer_curve=((0.0, 1.0), (20.0 / 3.6, 0.9), (60.0 / 3.6, 0.8), (120.0 / 3.6, 0.7)),
)
"""The same values as `vehicle_parameters` reads from CARLA."""
