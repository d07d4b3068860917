"""Ackermann control: drives a vehicle to a target steering angle and speed instead of by pedals.

The structure and the default gains are CARLA's: two PID controllers, each run once a step. The speed PID changes the
target acceleration; the acceleration PID changes the pedal position. The steering angle moves towards its target at no
more than the given rate.

Two things differ from CARLA. The controller starts with the vehicle's present speed as its last measurement, so that a
moving vehicle gets no jolt. It also adds back the steering that the vehicle's steering curve takes away with speed, so
that the wheels reach the requested angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from embedded_carla.types import VehicleControl
from embedded_carla.world.actors import Actor
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.vehicles.handling import STEER_SHARE
from embedded_carla.world.vehicles.loose_controls import LooseControls

MAX_ACCEL_MPS2, MAX_DECEL_MPS2 = 3.0, 8.0  # used where the client gives no acceleration
STANDSTILL_MPS = 0.1
_NO_RATE_RADPS = 1e-3  # a smaller steering rate means no limit
_NO_LIMIT_MPS2 = 1e-4  # a smaller acceleration means the default limits
_SMOOTHING = 0.2  # weight of the newest measurement in the smoothed acceleration


@dataclass(frozen=True, slots=True)
class AckermannControl:
    """Targets that a client sends; `jerk_mps3` is ignored.

    A steering rate of zero means no limit. An acceleration of zero means the limits `MAX_ACCEL_MPS2` and
    `MAX_DECEL_MPS2`.
    """

    steer_rad: float = 0.0  # positive to the right
    steer_rate_radps: float = 0.0
    speed_mps: float = 0.0  # negative drives backwards
    acceleration_mps2: float = 0.0
    jerk_mps3: float = 0.0


@dataclass(frozen=True, slots=True)
class AckermannSettings:
    """Gains of the speed and acceleration PIDs; the defaults are CARLA's."""

    speed_kp: float = 0.15
    speed_ki: float = 0.0
    speed_kd: float = 0.25
    accel_kp: float = 0.01
    accel_ki: float = 0.0
    accel_kd: float = 0.01


@dataclass(slots=True)
class _Pid:
    """PID controller whose output is the change per step, within [-1, 1]; its derivative acts on the measurement."""

    integral: float = 0.0
    last: float = 0.0

    def run(self, gains: tuple[float, float, float], target: float, measured: float, dt_s: float) -> float:
        kp, ki, kd = gains
        error = target - measured
        self.integral = _cut(self.integral + ki * error * dt_s, 1.0)
        change = kp * error + self.integral - kd * (measured - self.last) / dt_s
        self.last = measured
        return _cut(change, 1.0)


def _cut(value: float, bound: float) -> float:
    return min(max(value, -bound), bound)


@dataclass(slots=True)
class AckermannController:
    """Ackermann controller of one vehicle: `step` turns the target into pedals and a steering angle."""

    settings: AckermannSettings = field(default_factory=AckermannSettings)
    target: AckermannControl = field(default_factory=AckermannControl)
    steer_rad: float = 0.0
    speed_mps: float = 0.0
    acceleration_mps2: float = 0.0
    accel_target_mps2: float = 0.0
    pedal: float = 0.0  # throttle above zero, brake below (the other way round in reverse)
    is_reverse: bool = False
    _speed_pid: _Pid = field(default_factory=_Pid)
    _accel_pid: _Pid = field(default_factory=_Pid)

    def reset(self, speed_mps: float, steer_rad: float) -> None:
        """Restart at this speed and steering angle; the gains are kept."""
        self.speed_mps, self.steer_rad = speed_mps, steer_rad
        self.acceleration_mps2 = self.accel_target_mps2 = self.pedal = 0.0
        self.is_reverse = speed_mps < -STANDSTILL_MPS
        self._speed_pid, self._accel_pid = _Pid(last=speed_mps), _Pid()

    def step(self, speed_mps: float, steer_max_rad: float, dt_s: float) -> tuple[float, float, float]:
        """Return (throttle, brake, steering angle in rad) for the next step; `is_reverse` tells the gear."""
        measured = (speed_mps - self.speed_mps) / dt_s
        self.acceleration_mps2 += _SMOOTHING * (measured - self.acceleration_mps2)
        self.speed_mps = speed_mps
        self._steer(steer_max_rad, dt_s)
        if abs(speed_mps) < STANDSTILL_MPS and abs(self.target.speed_mps) < STANDSTILL_MPS:
            self.pedal = self.accel_target_mps2 = 0.0
            return 0.0, 1.0, self.steer_rad
        self._drive(dt_s)
        push = -self.pedal if self.is_reverse else self.pedal
        return max(push, 0.0), max(-push, 0.0), self.steer_rad

    def _steer(self, steer_max_rad: float, dt_s: float) -> None:
        wanted = _cut(self.target.steer_rad, steer_max_rad)
        rate = abs(self.target.steer_rate_radps)
        step = math.inf if rate < _NO_RATE_RADPS else rate * dt_s
        self.steer_rad += _cut(wanted - self.steer_rad, step)

    def _drive(self, dt_s: float) -> None:
        speed, wanted, s = self.speed_mps, self.target.speed_mps, self.settings
        if abs(speed) < STANDSTILL_MPS:
            self.is_reverse = wanted < 0.0
        elif speed * wanted < 0.0:
            wanted = 0.0  # stop before the direction changes
        limit = abs(self.target.acceleration_mps2)
        free = limit < _NO_LIMIT_MPS2
        change = self._speed_pid.run((s.speed_kp, s.speed_ki, s.speed_kd), wanted, speed, dt_s)
        low, high = (-MAX_DECEL_MPS2, MAX_ACCEL_MPS2) if free else (-limit, limit)
        self.accel_target_mps2 = min(max(self.accel_target_mps2 + change, low), high)
        gains = (s.accel_kp, s.accel_ki, s.accel_kd)
        self.pedal = _cut(self.pedal + self._accel_pid.run(
            gains, self.accel_target_mps2, self.acceleration_mps2, dt_s), 1.0)  # fmt: skip


class AckermannDrivers:
    """The vehicles of an episode under Ackermann control; a vehicle's gains are kept until it is destroyed."""

    def __init__(
        self, fleet: VehicleFleet, loose_controls: LooseControls, set_pedals: Callable[[Actor, VehicleControl], None]
    ) -> None:
        self._fleet, self._loose_controls, self._set_pedals = fleet, loose_controls, set_pedals
        self._controllers: dict[int, AckermannController] = {}
        self._driven: dict[int, Actor] = {}

    def controller(self, actor: Actor) -> AckermannController:
        return self._controllers.setdefault(actor.actor_id, AckermannController())

    def drive(self, actor: Actor, target: AckermannControl) -> None:
        """Follow `target` until another target or pedals are given."""
        controller = self.controller(actor)
        if actor.actor_id not in self._driven:
            controller.reset(self._speed_mps(actor), float(self._fleet.steer_rad[actor.slot]) / STEER_SHARE)
            self._driven[actor.actor_id] = actor
        controller.target = target
        self._loose_controls.note((actor.actor_id,))

    def release(self, actor: Actor) -> None:
        """End Ackermann control of this vehicle: a client gives pedals from now on."""
        self._driven.pop(actor.actor_id, None)

    def release_all(self, ids: Sequence[int]) -> None:
        """`release` for many actor ids."""
        if self._driven:
            for actor_id in ids:
                self._driven.pop(actor_id, None)

    def forget(self, actor: Actor) -> None:
        """Drop a destroyed vehicle together with its gains."""
        self.release(actor)
        self._controllers.pop(actor.actor_id, None)

    def step(self, dt_s: float) -> None:
        """Set the pedals of every vehicle under Ackermann control for the coming step."""
        for actor in self._driven.values():
            controller, fleet = self._controllers[actor.actor_id], self._fleet
            largest = math.radians(fleet.spec(actor.slot).steer_max_deg) / STEER_SHARE
            speed = self._speed_mps(actor)
            throttle, brake, steer_rad = controller.step(speed, largest, dt_s)
            share = fleet.steer_share(actor.slot)
            self._set_pedals(actor, VehicleControl(
                throttle, _cut(steer_rad / (largest * share), 1.0), brake, reverse=controller.is_reverse))  # fmt: skip

    def _speed_mps(self, actor: Actor) -> float:
        """Speed along the vehicle's forward axis, m/s; negative when it moves backwards."""
        fleet, slot = self._fleet, actor.slot
        pitch, yaw = (math.radians(v) for v in fleet.rotation_deg[slot, :2].tolist())
        x, y, z = fleet.velocity[slot].tolist()
        level = x * math.cos(yaw) + y * math.sin(yaw)
        return float(level * math.cos(pitch) + z * math.sin(pitch))
