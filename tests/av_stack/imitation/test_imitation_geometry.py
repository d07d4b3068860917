"""The points that the imitation learns, also for shifted cameras, and the plan that its answer means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from av_core.frames import vehicle_to_image, vehicle_to_map
from av_core.types import CameraModel, EgoState, Float, Plan, Pose2D, Stamp, Trajectory, VehicleParameters
from av_stack.imitation.following import PathFollower, plan_along
from av_stack.imitation.geometry import beside, mounted_beside, path_points, seen_from
from control import ControlConfig
from perception.imitation.samples import PATH_AHEAD_M, TARGET_S
from planning import find_route
from tests.planning.lanes_by_hand import chain

AHEAD = np.array(PATH_AHEAD_M)
CAMERA = CameraModel("front", 256, 144, math.radians(90.0), 3.0, 0.1, 1.7, math.radians(4.0))
STAMP = Stamp(0, 0.0)
CAR = VehicleParameters(4.8, 1.9, 1.5, 2.9, 1.4, 1.22, 1800.0)


def bend(straight_m: float, radius_m: float, s_m: Float) -> Float:
    """(N, 2) A straight stretch and then a bend to the left, at arc lengths (N,)."""
    turned = np.maximum(s_m - straight_m, 0.0) / radius_m
    x = np.minimum(s_m, straight_m) + radius_m * np.sin(turned)
    return np.stack([x, radius_m * (1.0 - np.cos(turned))], axis=1)


@pytest.mark.parametrize(("left_m", "turned_deg"), [(1.0, 0.0), (-1.0, 0.0), (0.0, 5.0), (0.7, -5.0)])
def test_a_shifted_camera_sees_what_one_on_a_car_beside_would_see(left_m: float, turned_deg: float) -> None:
    turned_rad = math.radians(turned_deg)
    ego = Pose2D(12.0, -7.0, 0.9)
    thing = np.array([24.0, 4.0])
    other = beside(ego, left_m, turned_rad)
    seen = [
        vehicle_to_image(np.append(seen_from(thing[None], pose)[0], 0.5), camera)[0]
        for pose, camera in ((ego, mounted_beside(CAMERA, "view1", left_m, turned_rad)), (other, CAMERA))
    ]
    assert np.allclose(seen[0], seen[1], atol=1e-6)
    unshifted, _ = vehicle_to_image(np.append(seen_from(thing[None], ego)[0], 0.5), CAMERA)
    assert np.hypot(*(unshifted - seen[0])) > 5.0


def test_the_path_of_a_plan_that_stops_goes_on_along_the_route() -> None:
    graph = chain([("straight", 60.0, 0.0), ("straight", 60.0, 0.0)])
    route = find_route(graph, Pose2D(5.0, 0.0, 0.0), Pose2D(100.0, 0.0, 0.0))
    start_x, start_y, yaw = (float(value) for value in route.curve.pose_at(10.0))
    stop_m = 6.0

    def plan(length_m: float, left_m: float) -> Plan:
        s = np.linspace(0.0, length_m, 21)
        x, y = np.transpose(vehicle_to_map(np.stack([s, left_m * s / stop_m], axis=1), Pose2D(start_x, start_y, yaw)))
        flat = np.zeros(21)
        path = Trajectory.through((x, y, np.full(21, yaw)), flat, flat, flat, np.linspace(0.0, 2.0, 21))
        return Plan(STAMP, path, None, route_s_m=10.0)

    here = Pose2D(start_x, start_y, yaw)
    long = seen_from(path_points(plan(40.0, 0.0), route), here)
    stopping = seen_from(path_points(plan(stop_m, 0.0), route), here)
    standing = seen_from(path_points(plan(1e-9, 0.0), route), here)
    for points in (long, stopping, standing):
        assert np.allclose(points, np.stack([AHEAD, 0.0 * AHEAD], axis=1), atol=0.05)
    beside_route = seen_from(path_points(plan(stop_m, 1.0), route), here)
    assert beside_route[2, 1] == pytest.approx(5.0 / stop_m, abs=0.05), "within the plan"
    assert 0.05 < beside_route[4, 1] < 0.9, "on its way back"
    assert abs(beside_route[6, 1]) < 0.01, "on the route"


@pytest.mark.parametrize(("straight_m", "radius_m"), [(0.0, 8.0), (5.0, 8.0), (10.0, 12.0), (0.0, 60.0)])
def test_a_plan_follows_the_points_smoothly(straight_m: float, radius_m: float) -> None:
    plan = plan_along(STAMP, bend(straight_m, radius_m, AHEAD), 8.0, 8.0)
    curve = plan.trajectory.curve
    near = curve.s_m < 15.0
    wanted = bend(straight_m, radius_m, curve.s_m[near])
    assert np.hypot(curve.x_m[near] - wanted[:, 0], curve.y_m[near] - wanted[:, 1]).max() < 0.2
    assert curve.yaw_rad[0] == pytest.approx(0.0, abs=0.02), "it does not swing out before the bend"
    assert curve.curvature_1pm.min() > -0.01
    assert curve.curvature_1pm.max() < 1.05 / radius_m
    assert curve.length_m == pytest.approx(24.0, abs=0.2)


def test_a_plan_begins_beside_the_car_where_the_path_does() -> None:
    path = np.stack([AHEAD, np.full(len(AHEAD), -0.8)], axis=1)
    at = plan_along(STAMP, path, 5.0, 5.0).trajectory.curve.project(0.0, 0.0)
    assert float(at.d_m) == pytest.approx(0.8)


def test_the_target_speed_becomes_a_motion() -> None:
    path = np.stack([AHEAD, 0.0 * AHEAD], axis=1)
    faster = plan_along(STAMP, path, 4.0, 7.0).trajectory
    assert faster.at(0.0).speed_mps == pytest.approx(4.0)
    assert faster.at(TARGET_S).speed_mps == pytest.approx(7.0, abs=0.05)
    assert faster.at(3.0).speed_mps == pytest.approx(7.0)
    stopping = plan_along(STAMP, path, 1.0, 0.2).trajectory
    assert stopping.at(0.0).accel_mps2 == pytest.approx(-2.0)
    assert stopping.at(0.6).speed_mps == 0.0
    assert stopping.curve.length_m == pytest.approx(0.25, abs=0.05)
    emergency = plan_along(STAMP, path, 10.0, 0.0).trajectory
    assert emergency.at(0.0).accel_mps2 == pytest.approx(-10.0 / TARGET_S)


def test_the_follower_makes_up_for_a_car_that_is_slower_than_its_pedals_say() -> None:
    control = ControlConfig()
    follower = PathFollower(CAR, control)
    path = np.stack([AHEAD, 0.0 * AHEAD], axis=1)
    speed_mps = 6.0
    for tick in range(120):
        ego = EgoState(Stamp(tick, tick * control.step_s), 0.0, 0.0, 0.0, speed_mps, 0.0, 0.0, np.zeros((4, 4)))
        command = follower.step(ego, path, 8.0)
        pedals_mps2 = 5.0 * max(command.throttle - 0.3, 0.0) / 0.7 - 8.0 * command.brake
        speed_mps += (pedals_mps2 - 1.0) * control.step_s  # it climbs: 1 m/s2 that no table knows
    assert speed_mps == pytest.approx(8.0, abs=0.15)
