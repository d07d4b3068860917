"""The evaluator's terms and the stack's: sensors, their data, and a map made of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from av_core.frames import map_to_geodetic
from av_core.types import GeoReference, Pose2D, Stamp
from av_stack.agents.leaderboard.plan_route import geo_reference, map_of_plan, route_on_plan
from av_stack.agents.leaderboard.sensor_data import GNSS, IMU, MAP, RESERVED, SPEED, sensor_frame, sensor_specs
from av_stack.agents.leaderboard.vehicle import REAR_AXLE_X_M
from sim_configs.load import load_rig

REACH_MAX_M = 3.0
"""The evaluator refuses sensors that are farther from the vehicle's middle."""

CAMERAS_MAX, RADARS_MAX = 8, 4


@pytest.mark.parametrize("rig", ["compact", "full"])
@pytest.mark.parametrize("with_map", [False, True])
def test_the_rigs_keep_the_evaluators_rules(rig: str, with_map: bool) -> None:
    specs = sensor_specs(load_rig(rig), REAR_AXLE_X_M, with_map)
    names = [spec["id"] for spec in specs]
    assert len(set(names)) == len(names)
    assert (MAP in names) == with_map
    radars = [spec for spec in specs if spec["type"] == "sensor.other.radar"]
    cameras = sum(spec["type"] == "sensor.camera.rgb" for spec in specs)
    assert cameras + len(radars) == len(names) - len(RESERVED) + (not with_map)
    assert cameras <= CAMERAS_MAX
    assert len(radars) == RADARS_MAX
    for radar in load_rig(rig).radars:
        assert (radar.range_m, radar.points_per_second) == (100.0, 1500), "the evaluator gives no other"
    for spec in specs:
        if "x" in spec:
            assert np.hypot(np.hypot(spec["x"], spec["y"]), spec["z"]) <= REACH_MAX_M


def test_data_arrive_in_the_stacks_frames() -> None:
    rig = load_rig("compact")
    picture = np.zeros((360, 640, 4), dtype=np.uint8)
    picture[:, :, 0], picture[:, :, 3] = 200, 255
    data: dict[str, tuple[int, Any]] = {
        "front": (7, picture),
        GNSS: (7, np.array([49.0, 8.0, 120.0])),
        IMU: (7, np.array([1.0, 2.0, 9.8, 0.1, 0.2, 0.3, np.pi / 2])),
        SPEED: (7, {"speed": 5.5}),
    }
    # the evaluator's columns are depth, altitude, azimuth (to the right) and velocity
    data |= {radar.name: (7, np.array([[20.0, 0.02, 0.3, -4.0]], np.float32)) for radar in rig.radars}
    frame = sensor_frame(rig, data, Stamp(3, 0.1))
    assert frame.cameras["front"].bgr.shape == (360, 640, 3)
    assert frame.cameras["front"].bgr[0, 0].tolist() == [200, 0, 0]
    assert set(frame.radars) == {radar.name for radar in rig.radars}
    for sweep in frame.radars.values():
        assert sweep.stamp == frame.stamp
        assert sweep.points[0] == pytest.approx([20.0, -0.3, 0.02, -4.0])
    assert frame.imu.accel_mps2 == (1.0, -2.0, 9.8)
    assert frame.imu.gyro_radps == (-0.1, 0.2, -0.3)
    assert frame.imu.yaw_rad == pytest.approx(0.0), "a compass that points east"
    assert (frame.gnss.latitude_deg, frame.wheel_speed_mps) == (49.0, 5.5)


def test_the_plan_becomes_a_lane_through_its_points() -> None:
    plan = [
        Pose2D(0.0, 0.0, 0.0),
        Pose2D(100.0, 0.0, 0.0),
        Pose2D(110.0, 10.0, np.pi / 2),
        Pose2D(110.0, 60.0, np.pi / 2),
    ]
    route = route_on_plan(map_of_plan(plan, GeoReference(0.0, 0.0)), plan)
    assert route.length_m == pytest.approx(100.0 + 5.0 * np.pi + 50.0, abs=1.0)
    for pose in plan:
        assert route.curve.distance_m(np.array([pose.x_m]), np.array([pose.y_m]))[0] < 0.5


def test_the_origin_follows_from_fixes_at_a_known_place() -> None:
    origin, place = GeoReference(49.0, 8.0), Pose2D(350.0, -120.0, 0.0)
    latitude, longitude = map_to_geodetic((place.x_m, place.y_m), origin)
    found = geo_reference(np.array([[float(latitude), float(longitude)]] * 3), place)
    assert found.latitude_deg == pytest.approx(origin.latitude_deg, abs=1e-8)
    assert found.longitude_deg == pytest.approx(origin.longitude_deg, abs=1e-8)
