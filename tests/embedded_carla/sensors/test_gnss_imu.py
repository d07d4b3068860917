"""Satellite receiver and inertial unit: agreement with the real wheel, physics of a car, statistics of the noise."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import carla
import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.scene import GroundHit
from embedded_carla.sensors.gnss import GnssNoise, geolocation, gnss_body
from embedded_carla.sensors.imu import ImuNoise, acceleration_at, compass_rad, imu_body
from embedded_carla.types import Float, SemanticTag, Transform, VehicleControl, VehicleSpec
from embedded_carla.world.vehicles.fleet import VehicleFleet

XODR = """<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="4" name="t" version="1">{geo}</header>
<road name="r" length="100" id="1" junction="-1"><planView><geometry s="0" x="0" y="0" hdg="0" length="100"><line/>
</geometry></planView><lanes><laneSection s="0"><center><lane id="0" type="none" level="false"/></center><right>
<lane id="-1" type="driving" level="false"><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane></right></laneSection>
</lanes></road></OpenDRIVE>"""
PLACES = [(0.0, 0.0, 0.0), (100.0, 200.0, 3.0), (-250.5, 13.25, -1.0), (4000.0, -7000.0, 120.0)]


def assert_agrees(town: carla.Map, geo: tuple[float, float]) -> None:
    for place in PLACES:
        expected = town.transform_to_geolocation(carla.Location(*place))
        latitude, longitude, altitude = geolocation(place, geo)
        assert latitude == pytest.approx(expected.latitude, abs=1e-11)
        assert longitude == pytest.approx(expected.longitude, abs=1e-11)
        assert altitude == pytest.approx(expected.altitude, abs=1e-6)


@pytest.mark.parametrize("geo", [(0.0, 0.0), (49.0, 8.0), (-33.5, -70.25), (42.0, 2.0)])
def test_geolocation_agrees_with_the_wheel(geo: tuple[float, float]) -> None:
    reference = f"<geoReference><![CDATA[+proj=tmerc +lat_0={geo[0]} +lon_0={geo[1]} +k=1 +x_0=0]]></geoReference>"
    assert_agrees(carla.Map("t", XODR.format(geo=reference)), geo)


@pytest.mark.parametrize("name", ["Town01", "Town02", "Town04", "Town10HD"])
def test_geolocation_agrees_on_real_maps(data_dir: Path, name: str) -> None:
    text = (data_dir / "maps" / f"{name}.xodr").read_text()
    latitude = re.search(r"\+lat_0=(\S+)", text)
    longitude = re.search(r"\+lon_0=(\S+)", text)
    assert latitude is not None
    assert longitude is not None
    assert_agrees(carla.Map(name, text), (float(latitude[1]), float(longitude[1])))


def test_a_quiet_receiver_reports_the_exact_place() -> None:
    body = gnss_body((10.0, 20.0, 1.5), (49.0, 8.0), GnssNoise(), np.random.default_rng(0))
    assert msgpack.unpackb(body) == pytest.approx(list(geolocation((10.0, 20.0, 1.5), (49.0, 8.0))), abs=1e-13)


def test_receiver_noise_has_the_statistics_it_was_given() -> None:
    attributes = {
        "noise_lat_bias": 1e-5, "noise_lon_bias": -2e-5, "noise_alt_bias": 0.3,
        "noise_lat_stddev": 5e-6, "noise_lon_stddev": 4e-6, "noise_alt_stddev": 0.5,
    }  # fmt: skip
    noise = GnssNoise.of(lambda name, default: attributes.get(name, default))
    rng = np.random.default_rng(3)
    fixes = np.array([msgpack.unpackb(gnss_body((0.0, 0.0, 0.0), (0.0, 0.0), noise, rng)) for _ in range(4000)])
    error = fixes - geolocation((0.0, 0.0, 0.0), (0.0, 0.0))
    np.testing.assert_allclose(error.std(axis=0), noise.stddev, rtol=0.05)
    assert (np.abs(error.mean(axis=0) - noise.bias) < 4 * np.array(noise.stddev) / math.sqrt(4000)).all()
    np.testing.assert_allclose(np.corrcoef(error.T), np.eye(3), atol=0.06)


def test_equal_seeds_give_equal_noise_and_others_do_not() -> None:
    noise = GnssNoise(stddev=(1e-6, 1e-6, 0.1))

    def fix(seed: int) -> bytes:
        return gnss_body((0.0, 0.0, 0.0), (0.0, 0.0), noise, np.random.default_rng(seed))

    assert fix(1) == fix(1)
    assert fix(1) != fix(2)


# ---------------------------------------------------------------- inertial unit

QUIET = ImuNoise()


class Flat:
    def below(self, points: Float) -> GroundHit:
        n = len(points)
        tags = np.full(n, SemanticTag.ROADS, dtype=np.uint8)
        return GroundHit(np.zeros(n), np.tile([0.0, 0.0, 1.0], (n, 1)), tags, np.zeros(n, dtype=np.int32))


def measured(fleet: VehicleFleet, arm: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> list[Any]:
    pose = Transform(*fleet.location[0], *fleet.rotation_deg[0])
    world_arm = pose.matrix()[:3, :3] @ arm
    turn = fleet.angular_velocity_degps[0]
    accel = acceleration_at(fleet.acceleration[0], turn, fleet.angular_acceleration_degps2[0], world_arm)
    return list(msgpack.unpackb(imu_body(pose, accel, turn, QUIET, np.random.default_rng(0))))


def car(yaw_deg: float = 0.0) -> VehicleFleet:
    spec = VehicleSpec(
        "vehicle.test.car", SemanticTag.CAR, "sedan", (2.4, 0.95, 0.75), 1600.0, 2.8, -1.4, 1.6, 0.55, 0.33, 60.0,
        110e3, 8000.0, 16000.0, 0.66, 55.0,
    )  # fmt: skip
    fleet = VehicleFleet(Flat())
    fleet.add(spec, Transform(yaw_deg=yaw_deg))
    return fleet


def run(fleet: VehicleFleet, seconds: float) -> None:
    for _ in range(round(seconds / 0.05)):
        fleet.step(0.05, 0.0)


def test_a_car_at_rest_feels_gravity_upwards() -> None:
    fleet = car(yaw_deg=70.0)
    run(fleet, 2.0)
    accel, gyro, compass = measured(fleet)
    assert accel == pytest.approx([0.0, 0.0, 9.81], abs=1e-9)
    assert gyro == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert compass == pytest.approx(math.radians(160.0))


def test_speeding_up_pushes_forward_and_a_right_bend_to_the_right() -> None:
    fleet = car(yaw_deg=30.0)
    fleet.set_control(0, VehicleControl(throttle=0.6))
    run(fleet, 3.0)
    accel, _, _ = measured(fleet)
    assert 1.0 < accel[0] < 5.0
    assert abs(accel[1]) < 0.05
    fleet.set_control(0, VehicleControl(throttle=0.3, steer=0.15))
    run(fleet, 2.0)
    accel, gyro, _ = measured(fleet)
    speed = float(np.hypot(*fleet.velocity[0, :2]))
    assert gyro[2] > 0.1
    assert accel[1] == pytest.approx(speed * gyro[2], rel=0.1)


def test_the_compass_turns_at_the_gyroscopes_rate() -> None:
    fleet = car()
    fleet.set_velocity(0, (8.0, 0.0, 0.0))
    fleet.set_control(0, VehicleControl(throttle=0.2, steer=0.2))
    run(fleet, 2.0)
    before = measured(fleet)
    run(fleet, 0.05)
    after = measured(fleet)
    assert (after[2] - before[2]) / 0.05 == pytest.approx((after[1][2] + before[1][2]) / 2, rel=0.02)


def test_a_unit_ahead_of_the_middle_feels_its_circle() -> None:
    """Constant turning: the arm adds w^2 r towards the middle; spinning up adds w' r across it."""
    still = np.zeros(3)
    inwards = acceleration_at(still, np.array([0.0, 0.0, 90.0]), still, np.array([2.0, 0.0, 0.0]))
    np.testing.assert_allclose(inwards, (-2.0 * (math.pi / 2) ** 2, 0.0, 0.0), atol=1e-12)
    across = acceleration_at(still, still, np.array([0.0, 0.0, 90.0]), np.array([2.0, 0.0, 0.0]))
    np.testing.assert_allclose(across, (0.0, math.pi, 0.0), atol=1e-12)


@given(yaw_deg=st.floats(-180, 180), pitch_deg=st.floats(-60, 60), roll_deg=st.floats(-60, 60))
@settings(deadline=None, derandomize=True)
def test_at_rest_any_attitude_reads_one_gravity(yaw_deg: float, pitch_deg: float, roll_deg: float) -> None:
    pose = Transform(0.0, 0.0, 0.0, pitch_deg, yaw_deg, roll_deg)
    accel, _, compass = msgpack.unpackb(imu_body(pose, np.zeros(3), np.zeros(3), QUIET, np.random.default_rng(0)))
    assert np.linalg.norm(accel) == pytest.approx(9.81)
    np.testing.assert_allclose(pose.matrix()[:3, :3] @ accel, (0.0, 0.0, 9.81), atol=1e-9)
    assert math.cos(compass - math.radians(yaw_deg + 90.0)) == pytest.approx(1.0)


@pytest.mark.parametrize(("yaw_deg", "expected_deg"), [(-90.0, 0.0), (0.0, 90.0), (90.0, 180.0), (180.0, 270.0)])
def test_compass_points(yaw_deg: float, expected_deg: float) -> None:
    error = math.degrees(compass_rad(Transform(yaw_deg=yaw_deg))) - expected_deg
    assert (error + 180) % 360 - 180 == pytest.approx(0.0, abs=1e-9)


def test_inertial_noise_has_the_statistics_it_was_given() -> None:
    attributes = {f"noise_accel_stddev_{a}": v for a, v in zip("xyz", (0.001, 0.002, 0.15), strict=True)}
    attributes |= {f"noise_gyro_stddev_{a}": v for a, v in zip("xyz", (0.001, 0.05, 0.02), strict=True)}
    attributes |= {f"noise_gyro_bias_{a}": v for a, v in zip("xyz", (0.1, -0.2, 0.0), strict=True)}
    noise = ImuNoise.of(lambda name, default: attributes.get(name, default))
    rng = np.random.default_rng(8)
    rows = []
    for _ in range(4000):
        accel, gyro, _ = msgpack.unpackb(imu_body(Transform(), np.zeros(3), np.zeros(3), noise, rng))
        rows.append([*accel, *gyro])
    sample = np.array(rows)
    stddev = np.array([*noise.accel_stddev, *noise.gyro_stddev])
    np.testing.assert_allclose(sample.std(axis=0), stddev, rtol=0.05)
    mean = np.array([0.0, 0.0, 9.81, *noise.gyro_bias])
    assert (np.abs(sample.mean(axis=0) - mean) < 4 * stddev / math.sqrt(4000)).all()
