"""Sensors on the world, on walkers, on other sensors; the IMU's gravity; how many rays a LiDAR fires."""

from __future__ import annotations

from typing import Any

import carla
import numpy as np
import pytest

from tests.embedded_carla.sensors.sensor_rig import Rig, ahead, matrix


def test_a_sensor_is_where_its_parents_carry_it(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    car = rig.spawn("vehicle.tesla.model3", start)
    on_car = carla.Transform(carla.Location(x=1.0, z=1.5), carla.Rotation(yaw=30.0))
    on_sensor = carla.Transform(carla.Location(x=0.5, y=0.2), carla.Rotation(pitch=10.0))
    first = rig.mount("sensor.other.gnss", on_car, car)
    second = rig.mount("sensor.other.imu", on_sensor, first.actor)
    fixed = rig.mount("sensor.other.imu", ahead(start, 5.0, up_m=3.0))
    car.set_target_velocity(start.get_forward_vector() * 5.0)
    for _ in range(5):
        rig.world.tick()
        below, above, still = first.next(), second.next(), fixed.next()
    carried = matrix(car.get_transform()) @ matrix(on_car)
    assert np.abs(matrix(below.transform) - carried).max() < 2e-3
    assert np.abs(matrix(above.transform) - carried @ matrix(on_sensor)).max() < 2e-3
    assert still.accelerometer.z == pytest.approx(9.81, abs=1e-3)
    assert still.gyroscope.length() == 0.0


def test_a_sensor_on_a_walker_and_one_on_another_sensor_feel_their_carrier(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    walker = rig.spawn("walker.pedestrian.0001", ahead(start, 8.0, up_m=0.6))
    car = rig.spawn("vehicle.tesla.model3", start)
    for _ in range(5):
        rig.world.tick()
    at_head = rig.mount("sensor.other.imu", carla.Transform(carla.Location(z=0.8)), walker)
    roof = rig.mount("sensor.other.gnss", carla.Transform(carla.Location(z=1.6)), car)
    nested = rig.mount("sensor.other.imu", carla.Transform(), roof.actor)
    walker.apply_control(carla.WalkerControl(start.get_forward_vector(), 1.5))
    car.apply_control(carla.VehicleControl(throttle=1.0))
    felt, pushed = [], []
    for _ in range(12):
        rig.world.tick()
        felt.append(at_head.next().accelerometer.x)
        pushed.append(nested.next().accelerometer.x)
    assert max(np.abs(felt)) > 0.5  # it set off
    assert max(pushed) > 1.0


def test_imu_gravity_is_what_is_set(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    imu = rig.mount("sensor.other.imu", ahead(start, 0.0, up_m=3.0))
    rig.world.set_imui_sensor_gravity(1.62)
    assert rig.world.get_imui_sensor_gravity() == pytest.approx(1.62, abs=1e-5)
    rig.world.tick()
    moon = imu.next().accelerometer.z
    rig.world.set_imui_sensor_gravity(9.81)
    assert moon == pytest.approx(1.62, abs=1e-4)


@pytest.mark.parametrize(
    ("turns_hz", "fov", "expected_deg"), [("10", "360", 180.0), ("20", "360", 0.0), ("10", "90", 45.0)]
)
def test_a_lidar_fires_and_turns_by_its_frequency_and_the_step(
    rig: Rig, turns_hz: str, fov: str, expected_deg: float
) -> None:
    start = ahead(rig.world.get_map().get_spawn_points()[40], 0.0, up_m=2.0)
    lidar = rig.mount(
        "sensor.lidar.ray_cast", start, channels="8", points_per_second="80000", range="50", upper_fov="-20",
        lower_fov="-60", rotation_frequency=turns_hz, horizontal_fov=fov, dropoff_general_rate="0",
        dropoff_intensity_limit="0", dropoff_zero_intensity="0",
    )  # fmt: skip
    rig.world.tick()
    cloud = lidar.next()
    assert [cloud.get_point_count(c) for c in range(8)] == [500] * 8  # 80000 / s * 0.05 s / 8, all on the ground
    assert np.degrees(cloud.horizontal_angle) == pytest.approx(expected_deg, abs=1e-3)
    x, y, z, intensity = np.frombuffer(cloud.raw_data, np.float32).reshape(-1, 4).T
    assert np.allclose(intensity, np.exp(-0.004 * np.sqrt(x * x + y * y + z * z)), atol=1e-5)
    spread = np.ptp(np.degrees(np.arctan2(y, x)))
    assert spread == pytest.approx(float(fov) * float(turns_hz) * 0.05 if turns_hz == "10" else 360.0, abs=2.0)


def test_ignored_vehicles_are_not_seen(rig: Rig) -> None:
    start = rig.world.get_map().get_spawn_points()[40]
    target = rig.spawn("vehicle.audi.tt", ahead(start, 8.0))
    camera = rig.mount(
        "sensor.camera.instance_segmentation", ahead(start, 0.0, up_m=1.5), image_size_x="96", image_size_y="54"
    )

    def cars() -> int:
        rig.world.tick()
        image: Any = camera.next()
        return int((np.frombuffer(image.raw_data, np.uint8).reshape(-1, 4)[:, 2] == 14).sum())

    assert cars() > 50
    camera.actor.set_ignored_vehicles([target.id])
    assert cars() == 0
