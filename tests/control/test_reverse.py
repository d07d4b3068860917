"""The ego drives backwards along a path that it came."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.trajectory import Trajectory
from av_core.types import Plan, Stamp
from control import Controller
from tests.control.vehicle_model import VehicleModel, VehicleState
from tests.planning.closed_loop import CAR, DT_S, ego_state


def way_back(radius_m: float, length_m: float = 12.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, y, heading and curvature from the end of a left turn back to its start at the origin."""
    angle = np.linspace(length_m / radius_m, 0.0, 61)
    return radius_m * np.sin(angle), radius_m * (1.0 - np.cos(angle)), angle, np.full(61, 1.0 / radius_m)


@pytest.mark.parametrize("radius_m", [7.0, -7.0, 500.0])
@pytest.mark.parametrize("beside_m", [0.0, 0.3])
def test_the_ego_keeps_to_the_way_back(radius_m: float, beside_m: float) -> None:
    x, y, yaw, curvature = way_back(radius_m)
    state = VehicleState(x[0] - beside_m * np.sin(yaw[0]), y[0] + beside_m * np.cos(yaw[0]), yaw[0])
    model, controller = VehicleModel(CAR), Controller(CAR)
    speed = np.ones(61)
    plan_times = np.linspace(0.0, 15.0, 61)
    for frame in range(400):
        ahead = np.flatnonzero((x - state.x_m) * np.cos(state.yaw_rad) + (y - state.y_m) * np.sin(state.yaw_rad) < 0.0)
        if len(ahead) < 3:
            break
        rest = slice(int(ahead[0]), None)
        count = len(x[rest])
        trajectory = Trajectory.through(
            (x[rest], y[rest], yaw[rest]), curvature[rest], speed[:count], np.zeros(count), plan_times[:count]
        )
        ego = ego_state(state, Stamp(frame, frame * DT_S))
        command = controller.step(Plan(ego.stamp, trajectory, None, reverses=True), ego)
        assert command.reverse
        state = model.step(state, command, DT_S)
    assert len(ahead) < 3, "it gets back"
    assert state.speed_mps < 0.0
    assert np.hypot(x - state.x_m, y - state.y_m).min() < 0.15
    assert abs(state.yaw_rad - float(yaw[-1])) < 0.1
