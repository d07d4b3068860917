"""CARLA's handling: what is fitted to the published models of its vehicles.

The models are those of carla_garage (PDM-Lite's ego model, fitted to a Lincoln MKZ 2020 of a CARLA server at 20 Hz) and
World on Rails, whose steering model carla_garage took over.
`docs/embedded-carla/dynamics.md` shows both beside this physics.
"""

from __future__ import annotations

from dataclasses import replace

from embedded_carla.handling import Handling
from embedded_carla.types import VehicleSpec

GRAVITY_MPS2 = 9.81
STEER_SHARE = 0.67
"""Angle of the single-track model's front wheel over the wheels' own: CARLA's cars turn less than their wheels say."""

BRAKE_MPS2 = 20.5
"""Deceleration of a full brake at walking pace. It falls with the speed, see `kernel.BRAKE_SHARE`."""

PULL = 0.80
"""Largest driving force over the weight."""

PEDAL_FREE = 0.3
"""Throttle up to which a car with four wheels is not driven."""


def pedal_free(spec: VehicleSpec) -> float:
    """The throttle up to which the vehicle is not driven."""
    return PEDAL_FREE if spec.handling is Handling.CARLA and spec.number_of_wheels >= 4 else 0.0


def handled(spec: VehicleSpec, handling: Handling) -> VehicleSpec:
    """The vehicle with this handling; `spec` is as the blueprint library has it, with TYRES."""
    if handling is Handling.TYRES or spec.number_of_wheels < 4:
        return replace(spec, handling=handling)
    weight_n = spec.mass_kg * GRAVITY_MPS2
    return replace(
        spec,
        handling=handling,
        brake_force_max_n=spec.mass_kg * BRAKE_MPS2,
        force_max_n=max(spec.force_max_n, PULL * weight_n),
    )
