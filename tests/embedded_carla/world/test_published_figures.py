"""Models of each class against what was measured on such vehicles; sources in docs/embedded-carla/dynamics.md."""

from __future__ import annotations

import math

import pytest

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.types import Transform, VehicleControl
from embedded_carla.world.vehicles.fleet import VehicleFleet
from tests.embedded_carla.world.analytic_ground import flat

DT = 0.02
SPECS = {b.type_id: b.vehicle for b in vehicle_blueprints() if b.vehicle is not None}


def on_the_plane(type_id: str, kmh: float = 0.0) -> VehicleFleet:
    fleet = VehicleFleet(flat())
    fleet.add(SPECS[type_id], Transform())
    fleet.set_velocity(0, (kmh / 3.6, 0.0, 0.0))
    return fleet


@pytest.mark.parametrize(
    ("type_id", "published_m"),
    [
        ("vehicle.seat.leon", 23.2),  # VW Golf
        ("vehicle.kawasaki.ninja", 25.3),  # BMW R 1200 GS
        ("vehicle.mercedes.sprinter", 28.0),
        ("vehicle.carlamotors.european_hgv", 36.2),  # DAF XF
    ],
)
def test_full_braking_from_80_kmh_as_the_adac_measured(type_id: str, published_m: float) -> None:
    fleet = on_the_plane(type_id, 80.0)
    fleet.set_control(0, VehicleControl(brake=1.0))
    for _ in range(500):
        fleet.step(DT, 0.0)
    assert fleet.velocity[0, 0] == 0.0
    assert fleet.location[0, 0] == pytest.approx(published_m, rel=0.13)


@pytest.mark.parametrize(
    ("type_id", "kmh", "published_s"),
    [
        ("vehicle.lincoln.mkz_2020", 96.6, 7.4),
        ("vehicle.tesla.model3", 100.0, 5.6),
        ("vehicle.nissan.micra", 100.0, 13.7),
        ("vehicle.yamaha.yzf", 96.6, 3.08),
    ],
)
def test_full_throttle_takes_the_time_that_road_tests_took(type_id: str, kmh: float, published_s: float) -> None:
    fleet, seconds = on_the_plane(type_id), 0.0
    fleet.set_control(0, VehicleControl(throttle=1.0))
    while fleet.velocity[0, 0] < kmh / 3.6 and seconds < 60.0:
        fleet.step(DT, 0.0)
        seconds += DT
    assert seconds == pytest.approx(published_s, rel=0.15)


def test_a_car_reaches_the_lateral_acceleration_of_the_skid_pad() -> None:
    fleet, most_g = on_the_plane("vehicle.lincoln.mkz_2020", 80.0), 0.0
    for i in range(600):
        yaw = math.radians(fleet.rotation_deg[0, 1])
        fleet.set_control(0, VehicleControl(throttle=0.4, steer=min(0.02 * i * DT, 1.0)))
        fleet.step(DT, 0.0)
        aside = fleet.acceleration[0, 1] * math.cos(yaw) - fleet.acceleration[0, 0] * math.sin(yaw)
        most_g = max(most_g, float(aside) / 9.81)
    assert most_g == pytest.approx(0.85, abs=0.04)
