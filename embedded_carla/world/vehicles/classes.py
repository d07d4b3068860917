"""Parameters by class of vehicle: tyres, brakes, rolling resistance.

Cornering stiffness is that of a whole axle with its compliances, over the axle's load. Cars usually have rear side-slip
gradients of about 3 deg/g and understeer of 2 to 3 deg/g (Milliken, *Race Car Vehicle Dynamics*, ch. 5; Heissing and
Ersoy, *Chassis Handbook*, ch. 7). Lorries' tyres are half as stiff for their load, and their peak friction is lower
(Gillespie, *Fundamentals of Vehicle Dynamics*, ch. 6 and 10; Wong, *Theory of Ground Vehicles*, ch. 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from embedded_carla.handling import Handling
from embedded_carla.types import SemanticTag, VehicleSpec


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a vehicle class: `grip` is the peak friction on a dry road.

    Stiffness is lateral force over load, per radian of slip.
    """

    grip: float
    front_stiffness_per_rad: float
    rear_stiffness_per_rad: float
    rolling_resistance: float
    brake_front_share: float  # share of the largest braking force


CARLA_TRAITS = Traits(3.5, 20.0, 20.0, 0.012, 0.5)
"""Traits of all four-wheelers under CARLA's handling, from its blueprints' tire_friction and lat_stiff_value."""

_CAR = Traits(1.0, 10.8, 19.4, 0.012, 0.68)
_VAN = Traits(0.92, 10.0, 15.0, 0.012, 0.65)
_LORRY = Traits(0.70, 6.5, 9.0, 0.007, 0.60)
_BUS = Traits(0.70, 7.0, 10.0, 0.008, 0.60)
_MOTORCYCLE = Traits(1.0, 15.0, 18.0, 0.015, 0.92)
_BICYCLE = Traits(0.85, 13.0, 15.0, 0.006, 0.75)

_BY_TAG = {SemanticTag.MOTORCYCLE: _MOTORCYCLE, SemanticTag.BICYCLE: _BICYCLE, SemanticTag.BUS: _BUS}


def traits_of(spec: VehicleSpec) -> Traits:
    """The traits of the vehicle's class and handling. A pick-up has a car's tyres, whatever its label is."""
    if spec.handling is Handling.CARLA and spec.number_of_wheels >= 4:
        return CARLA_TRAITS
    if spec.shape == "van":
        return _VAN
    if spec.shape == "truck":
        return _LORRY
    return _BY_TAG.get(spec.tag, _CAR)
