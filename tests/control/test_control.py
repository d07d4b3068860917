"""The PID, and the controller with the single-track vehicle along plans made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import ControlCommand, EgoState, Plan, Stamp, Trajectory, VehicleParameters
from control import ControlConfig, Controller
from control.lateral import wheel_angle, wheel_angle_limit
from control.longitudinal import LongitudinalController
from control.pid import Pid, PidGains
from tests.control.vehicle_model import VehicleModel, VehicleState

DT_S = 0.05
CAR = VehicleParameters(4.8, 1.9, 1.5, 2.9, 1.4, 1.22, 1800.0, ((0.0, 1.0), (8.0, 0.9), (30.0, 0.7)))


@dataclass(frozen=True)
class Path:
    """A path every 0.1 m from a curvature over arc length."""

    x: np.ndarray
    y: np.ndarray
    yaw: np.ndarray
    curvature: np.ndarray

    @classmethod
    def of(cls, curvature: np.ndarray) -> Path:
        yaw = np.concatenate([[0.0], np.cumsum(curvature[:-1] * 0.1)])
        middle = yaw + 0.05 * curvature
        x = np.concatenate([[0.0], np.cumsum(0.1 * np.cos(middle[:-1]))])
        y = np.concatenate([[0.0], np.cumsum(0.1 * np.sin(middle[:-1]))])
        return cls(x, y, yaw, curvature)

    def plan(self, stamp: Stamp, s: float, speed: Callable[[np.ndarray], np.ndarray]) -> Plan:
        """The next 7 s from arc length `s`, at speeds given over time from the drive's start."""
        t = np.arange(0, 7.01, 0.1)
        v = speed(stamp.time_s + t)
        at = np.clip(s + np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * 0.1)]), 0, 0.1 * (len(self.x) - 1))
        grid = 0.1 * np.arange(len(self.x))
        x, y, yaw, k = (np.interp(at, grid, values) for values in (self.x, self.y, self.yaw, self.curvature))
        return Plan(stamp, Trajectory.through((x, y, yaw), k, v, np.gradient(v, 0.1), t), None, s)

    def error(self, state: VehicleState) -> tuple[float, float]:
        i = int(np.argmin(np.hypot(self.x - state.x_m, self.y - state.y_m)))
        dx, dy = state.x_m - self.x[i], state.y_m - self.y[i]
        return 0.1 * i, float(-dx * np.sin(self.yaw[i]) + dy * np.cos(self.yaw[i]))


@dataclass
class Drive:
    time: np.ndarray
    cross: np.ndarray
    states: list[VehicleState]
    commands: list[ControlCommand]

    @property
    def speed(self) -> np.ndarray:
        return np.array([state.speed_mps for state in self.states])

    @property
    def accel(self) -> np.ndarray:
        return np.array([state.accel_mps2 for state in self.states])


def drive(
    path: Path,
    seconds: float,
    speed: Callable[[np.ndarray], np.ndarray],
    state: VehicleState,
    noise: Callable[[], np.ndarray] = lambda: np.zeros(3),
) -> Drive:
    model, controller, pending = VehicleModel(CAR), Controller(CAR), ControlCommand(0.0, 0.0, 0.0)
    rows, states, commands = [], [], []
    for frame in range(int(seconds / DT_S)):
        stamp = Stamp(frame, frame * DT_S)
        s, cross = path.error(state)
        dx, dy, dyaw = noise()
        ego = EgoState(
            stamp,
            state.x_m + dx,
            state.y_m + dy,
            state.yaw_rad + dyaw,
            state.speed_mps,
            state.accel_mps2,
            state.yaw_rate_radps,
            np.eye(4),
        )
        command = controller.step(path.plan(stamp, s, speed), ego)
        rows.append((stamp.time_s, cross))
        states.append(state)
        commands.append(command)
        state = model.step(state, pending, DT_S)
        pending = command
    time, cross_track = np.array(rows).T
    return Drive(time, cross_track, states, commands)


def constant(speed_mps: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda t: np.full(np.shape(t), speed_mps)


# ---------------------------------------------------------------- PID


def test_pid_removes_a_steady_disturbance() -> None:
    pid, x = Pid(-10, 10, 10, 0.1), 0.0
    for _ in range(2000):
        x += 0.01 * (pid.step(1.0 - x, PidGains(2.0, 1.0), 0.01) - 3.0)
    assert x == pytest.approx(1.0, abs=1e-3)


def test_pid_does_not_wind_up() -> None:
    def settle(seconds_blocked: float) -> float:
        pid = Pid(-1, 1, 5, 0.1)
        for _ in range(int(seconds_blocked / 0.01)):
            pid.step(5.0, PidGains(1.0, 1.0), 0.01)
        x, peak = 0.0, 0.0
        for _ in range(3000):
            x += 0.01 * pid.step(1.0 - x, PidGains(1.0, 1.0), 0.01)
            peak = max(peak, x)
        return peak

    assert settle(100.0) == pytest.approx(settle(1.0), abs=0.05)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.floats(0, 10), st.floats(0, 10), st.floats(0, 1))
def test_pid_output_stays_within_limits(errors: list[float], p: float, i: float, d: float) -> None:
    pid = Pid(-2.0, 3.0, 1.0, 0.1)
    for error in errors:
        assert -2.0 <= pid.step(error, PidGains(p, i, d), 0.05) <= 3.0
        assert abs(pid.integral) <= 1.0


def test_pid_derivative_is_filtered() -> None:
    pid = Pid(-1e3, 1e3, 0.0, 0.2)
    pid.step(0.0, PidGains(0.0, 0.0, 1.0), 0.01)
    kick = pid.step(1.0, PidGains(0.0, 0.0, 1.0), 0.01)
    assert kick < 0.06 * 100.0
    with pytest.raises(ValueError, match="below"):
        Pid(1.0, 1.0, 1.0, 0.1)


# ---------------------------------------------------------------- vehicle model


@pytest.mark.parametrize("speed", [2.0, 6.0, 12.0])
def test_model_turns_with_its_steady_state_radius(speed: float) -> None:
    """Stiffness in front 11 and behind 13 per load give K_us = (1/11 - 1/13) / g."""
    curvature = min(0.05, 2.5 / speed**2)
    understeer = (1 / 11 - 1 / 13) / 9.81 if speed > 4.0 else 0.0
    angle = wheel_angle(curvature, speed, CAR.wheelbase_m, understeer)
    model, state = VehicleModel(CAR), VehicleState(0, 0, 0, speed)
    for _ in range(200):
        steer = angle / wheel_angle_limit(CAR, state.speed_mps)
        throttle = 0.05 + 0.4 * (speed - state.speed_mps)
        state = model.step(state, ControlCommand(max(0.0, throttle), 0.0, steer), DT_S)
    assert state.yaw_rate_radps / state.speed_mps == pytest.approx(curvature, rel=0.1)


def test_model_brakes_to_a_stand_and_stays() -> None:
    model, state = VehicleModel(CAR), VehicleState(0, 0, 0, 10.0)
    for _ in range(100):
        state = model.step(state, ControlCommand(0.0, 1.0, 0.3), DT_S)
    again = model.step(state, ControlCommand(0.0, 1.0, 0.3), DT_S)
    assert state.speed_mps == 0.0
    assert (again.x_m, again.y_m) == (state.x_m, state.y_m)
    assert 10.0**2 / 2 / 9.0 < state.x_m < 10.0**2 / 2 / 5.5


# ---------------------------------------------------------------- steering


@pytest.mark.parametrize("speed", [3.0, 8.0, 14.0, 28.0])
def test_a_lateral_step_dies_out_without_swinging(speed: float) -> None:
    path = Path.of(np.zeros(6000))
    run = drive(path, 14.0, constant(speed), VehicleState(0, 0.8, 0, speed))
    assert run.cross.min() > -0.12
    assert np.abs(run.cross[run.time > 9.0]).max() < 0.05


@pytest.mark.parametrize(("radius", "speed"), [(6.0, 3.5), (-8.0, 4.2), (12.0, 5.0), (30.0, 8.5), (-100.0, 15.0)])
def test_turns_into_and_out_of_a_bend(radius: float, speed: float) -> None:
    """Curvature that jumps, as in OpenDRIVE arcs without clothoids, at about 2.3 m/s2 lateral acceleration."""
    arc = int(abs(radius) * 1.57 * 10)
    path = Path.of(np.concatenate([np.zeros(300), np.full(arc, 1 / radius), np.zeros(500)]))
    run = drive(path, (30 + arc / 10 + 30) / speed, constant(speed), VehicleState(0, 0, 0, speed))
    assert np.sqrt(np.mean(run.cross**2)) <= 0.15
    assert np.abs(run.cross).max() <= 0.4


def test_s_curve_and_circle_for_long() -> None:
    s = np.arange(0, 400, 0.1)
    bend = drive(Path.of(0.05 * np.sin(s / 12)), 40, constant(6.5), VehicleState(0, 0, 0, 6.5))
    assert np.abs(bend.cross).max() < 0.2
    circle = drive(Path.of(np.full(900, 0.05)), 15, constant(5.5), VehicleState(0, 0, 0, 5.5))
    assert np.abs(circle.cross[circle.time > 8]).max() < 0.08


def test_pose_noise_does_not_shake_the_steering() -> None:
    rng = np.random.default_rng(1)
    run = drive(
        Path.of(np.zeros(4000)),
        30,
        constant(10.0),
        VehicleState(0, 0, 0, 10.0),
        noise=lambda: rng.normal(0, [0.07, 0.07, 0.005]),
    )
    steer = np.array([command.steer for command in run.commands])
    assert np.abs(run.cross).max() < 0.15
    assert np.std(steer) * CAR.steer_max_rad < np.radians(1.5)


# ---------------------------------------------------------------- pedals


def test_speed_step_stays_within_comfort() -> None:
    def ramp(t: np.ndarray) -> np.ndarray:
        return np.clip(1.0 * (t - 1.0), 0.0, 10.0)

    run = drive(Path.of(np.zeros(4000)), 20, ramp, VehicleState(0, 0, 0))
    assert run.speed[-1] == pytest.approx(10.0, abs=0.1)
    assert run.speed.max() < 10.4
    assert np.abs(run.speed - ramp(run.time)).max() < 0.5
    assert np.abs(run.accel).max() < 3.0
    assert np.percentile(np.abs(np.diff(run.accel)) / DT_S, 99) < 8.0


def test_stands_without_creeping() -> None:
    run = drive(Path.of(np.zeros(100)), 5, constant(0.0), VehicleState(0, 0, 0))
    assert run.states[-1].x_m < 0.01
    assert all(command.brake > 0.2 and command.throttle == 0.0 for command in run.commands)


def test_the_last_of_a_stop_is_braked_whatever_the_integrator_remembers() -> None:
    config = ControlConfig().longitudinal
    longitudinal = LongitudinalController(config, DT_S)
    time = np.arange(0, 7.01, 0.1)
    flat = np.zeros_like(time)

    def step(planned_mps: np.ndarray, speed_mps: float) -> tuple[float, float]:
        accel = np.gradient(planned_mps, 0.1)
        trajectory = Trajectory.through((flat, flat, flat), flat, planned_mps, accel, time)
        plan = Plan(Stamp(0, 0.0), trajectory, None, 0.0)
        return longitudinal.step(plan, EgoState(Stamp(0, 0.0), 0.0, 0.0, 0.0, speed_mps, 0.0, 0.0, np.eye(4)))

    for _ in range(60):  # three seconds slower than planned, as behind a brake that is stronger than thought
        step(np.full_like(time, 2.0), 1.4)
    speed = 0.4
    for _ in range(24):  # what the planner leaves of the speed dies away; nothing but the brake slows the vehicle
        throttle, brake = step(max(0.9 * speed - 0.15, 0.1 * speed) * np.exp(-time / 0.15), speed)
        speed = max(0.0, speed + DT_S * (7.0 * throttle - config.brake_decel_mps2[0][1] * brake))
    assert speed == 0.0
    assert brake == config.hold_brake


def test_a_start_that_is_given_up_ends_at_once() -> None:
    """As in traffic: each plan of the stop begins a little below the measured speed, which the jerk limit keeps up."""
    controller, model = Controller(CAR), VehicleModel(CAR)
    state, pending = VehicleState(0.0, 0.0, 0.0, 0.0), ControlCommand(0.0, 0.0, 0.0)
    time = np.arange(0, 7.01, 0.1)
    flat = np.zeros_like(time)
    for frame in range(44):
        stamp, speed = Stamp(frame, frame * DT_S), state.speed_mps
        stopping_mps = max(speed - 0.15 - 0.1 * speed, 0.0) * np.exp(-time / 0.2)
        planned_mps = speed + 0.1 + 4.2 * time if frame < 14 else stopping_mps
        trajectory = Trajectory.through((flat, flat, flat), flat, planned_mps, np.gradient(planned_mps, 0.1), time)
        ego = EgoState(stamp, 0.0, 0.0, 0.0, speed, state.accel_mps2, 0.0, np.eye(4))
        command = controller.step(Plan(stamp, trajectory, None, 0.0), ego)
        assert command.throttle == 0.0 or frame < 20
        state, pending = model.step(state, pending, DT_S), command
    assert state.speed_mps == 0.0, "1.5 s after the start is given up"


def test_a_braking_that_is_given_up_ends_at_once() -> None:
    """As behind a track that vanishes: each plan begins near the measured speed, brakes hard, and then drives on."""
    controller, model = Controller(CAR), VehicleModel(CAR)
    state, pending = VehicleState(0.0, 0.0, 0.0, 8.0), ControlCommand(0.0, 0.0, 0.0)
    time = np.arange(0, 7.01, 0.1)
    flat = np.zeros_like(time)
    braked_for = 27
    for frame in range(braked_for + 40):
        stamp, speed = Stamp(frame, frame * DT_S), state.speed_mps
        planned_mps = np.maximum(speed - 0.1 - 6.0 * time, 0.0) if frame < braked_for else speed + 0.15 + 2.8 * time
        trajectory = Trajectory.through((flat, flat, flat), flat, planned_mps, np.gradient(planned_mps, 0.1), time)
        ego = EgoState(stamp, 0.0, 0.0, 0.0, speed, state.accel_mps2, 0.0, np.eye(4))
        command = controller.step(Plan(stamp, trajectory, None, 0.0), ego)
        state, pending = model.step(state, pending, DT_S), command
    assert state.speed_mps > 2.0, "2 s after the braking is given up"


def test_emergency_braking_reaches_eight() -> None:
    def hard(t: np.ndarray) -> np.ndarray:
        return np.clip(15.0 - 8.0 * (t - 2.0), 0.0, 15.0)

    run = drive(Path.of(np.zeros(4000)), 6, hard, VehicleState(0, 0, 0, 15.0))
    assert run.accel.min() < -7.0
    assert run.speed[-1] == 0.0
    assert run.states[-1].x_m < 30.0 + 15.0**2 / 16.0 + 5.0


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-50, 50),
    st.floats(-50, 50),
    st.floats(-4, 4),
    st.floats(0, 40),
    st.floats(0, 35),
    st.floats(-0.3, 0.3),
    st.integers(1, 20),
)
def test_any_command_is_finite_and_within_limits(
    x: float, y: float, yaw: float, speed: float, wanted: float, curvature: float, points: int
) -> None:
    controller = Controller(CAR)
    path = Path.of(np.full(300, curvature))
    for frame in range(5):
        stamp = Stamp(frame, frame * DT_S)
        whole, cut = path.plan(stamp, 0.0, constant(wanted)).trajectory, slice(0, points)
        rest = [values[cut] for values in (whole.speed_mps, whole.accel_mps2, whole.time_s)]
        plan = Plan(stamp, Trajectory(whole.curve.part(cut), *rest), None)
        ego = EgoState(stamp, x, y, yaw, speed, 0.0, 0.0, np.eye(4))
        command = controller.step(plan, ego)
        assert 0.0 <= command.throttle <= 1.0
        assert 0.0 <= command.brake <= 1.0
        assert -1.0 <= command.steer <= 1.0
        assert command.throttle == 0.0 or command.brake == 0.0


def test_config_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="steer_gain"):
        ControlConfig.model_validate({"lateral": {"steer_gain": 1.0}})
