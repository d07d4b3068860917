"""All vehicles of the world as a struct of arrays, and their physics.

Each `step` queries the ground once for every wheel and then moves all bodies (`kernel`), in the plane in
sub-steps of at most 12.5 ms. There is no randomness and no clock: equal inputs give bit-identical trajectories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.handling import Handling
from embedded_carla.scene import Ground
from embedded_carla.types import Float, Transform, Vector3, VehicleControl, VehicleSpec, wrapped_deg
from embedded_carla.world.vehicles import drivetrain_kernel as engines
from embedded_carla.world.vehicles import kernel, road_kernel
from embedded_carla.world.vehicles.bank import BANK_RECORD, Chassis, record_of, yaw_inertia_kgm2
from embedded_carla.world.vehicles.drivetrain import MAX_GEARS, TORQUE_POINTS, Drivetrain, drivetrain_of, torque_table
from embedded_carla.world.vehicles.handling import handled, pedal_free
from embedded_carla.world.vehicles.motion import Motion

SUBSTEP_S = 0.0125
FILM_MM, PUDDLES_MM = 0.2, 0.8  # depth of water at full wetness, and what full deposits add to it
STEER_CURVE = ((0.0, 1.0), (20.0, 0.9), (60.0, 0.8), (120.0, 0.7))
"""CARLA's default steering curve: (km/h, share of the largest steering angle)."""

STEER_POINTS = 16  # room for the points of a steering curve


class VehicleFleet:
    """Physics of all vehicles, indexed by slot.

    Public arrays grow with the fleet: read the attribute anew each time, do not keep it over `add`.

    - `location` (N, 3) m, `rotation_deg` (N, 3) pitch, yaw, roll.
    - `velocity` and `acceleration` (N, 3), world frame; acceleration is the change of velocity over the last step.
    - `angular_velocity_degps` (N, 3) about the world's axes, and its change `angular_acceleration_degps2`.
    - `physics`, `gravity`, `alive` (N,) bool.
    - `steer_rad`, `wheel_phase_rad`, `engine_radps` (N,).
    - `road` (N,) int32 index into `Scenery.road_ids` (-1 off the road).
    - `gear` (N,) the gear engaged: 0 neutral, -1 reverse.
    - Factors on the tyres' friction, all 1 by default: `friction` (N,) of the vehicle's tyres, `axle_friction` (N, 2)
      of the front and rear tyres, `friction_scale` (N,) of the place.
    - `wheels` (N, 4, 6): state of the wheels front left, front right, rear left, rear right in the last step, by
      column: `motion.NORMAL_N`, `FORWARD_N`, `RIGHT_N`, `SLIP_RATIO`, `SLIP_ANGLE`, `SPIN`. A two-wheeler's
      wheel is the sum of a pair.
    """

    def __init__(self, ground: Ground, handling: Handling = Handling.TYRES) -> None:
        self._ground = ground
        self._handling = handling
        self._specs: list[VehicleSpec | None] = []
        self._pull: dict[int, list[float]] = {}  # slot -> force (3) in N and yaw torque in N m for the next step
        self._allot(16)

    # ------------------------------------------------------------ slots

    def _allot(self, capacity: int) -> None:
        def grown(name: str, shape: tuple[int, ...], dtype: type | np.dtype[Any]) -> NDArray[Any]:
            new: NDArray[Any] = np.zeros((capacity, *shape), dtype=dtype)
            old = getattr(self, name, new[:0])
            new[: len(old)] = old
            return new

        vectors = ("location", "rotation_deg", "velocity", "acceleration")
        for name in (*vectors, "angular_velocity_degps", "angular_acceleration_degps2", "_held"):
            setattr(self, name, grown(name, (3,), np.float64))
        for name in ("steer_rad", "wheel_phase_rad", "friction", "friction_scale", "half_length_m"):
            setattr(self, name, grown(name, (), np.float64))
        for name in ("_forward_accel", "engine_radps", "_shift_s", "_demand", "_engine_n", "_engine_drag_n"):
            setattr(self, name, grown(name, (), np.float64))
        for name in ("physics", "gravity", "alive"):
            setattr(self, name, grown(name, (), np.bool_))
        for name in ("road", "gear"):
            setattr(self, name, grown(name, (), np.int32))
        self.axle_friction = grown("axle_friction", (2,), np.float64)
        self.wheels = grown("wheels", (4, 6), np.float64)
        self._bank = grown("_bank", (), BANK_RECORD)
        self._inputs = grown("_inputs", (6,), np.float64)
        self._asked = grown("_asked", (7,), np.float64)  # the control as given, field by field
        self._tilt_rate = grown("_tilt_rate", (2,), np.float64)  # pitch, roll rate, rad/s
        self._drive = grown("_drive", (), engines.DRIVE_RECORD)
        self._torque_nm = grown("_torque_nm", (TORQUE_POINTS,), np.float64)
        self._gears = grown("_gears", (MAX_GEARS + 1, 3), np.float64)
        self._steer_curve = grown("_steer_curve", (STEER_POINTS, 2), np.float64)
        self._motion = Motion(
            self.location, self.rotation_deg, self.velocity, self.acceleration, self.angular_velocity_degps,
            self.angular_acceleration_degps2, self.steer_rad, self.wheel_phase_rad, self.friction,
            self.friction_scale, self.axle_friction, self.gravity, self._inputs, self._tilt_rate,
            self._forward_accel, self._held, self._engine_n, self._engine_drag_n, self._steer_curve, self.wheels,
        )  # fmt: skip
        self._engines = engines.Engines(
            self._drive, self._torque_nm, self._gears, self.gear, self._shift_s, self._demand, self.engine_radps,
            self._engine_n, self._engine_drag_n,
        )  # fmt: skip

    location: Float
    rotation_deg: Float
    velocity: Float
    angular_velocity_degps: Float
    angular_acceleration_degps2: Float
    acceleration: Float
    steer_rad: Float
    wheel_phase_rad: Float
    friction: Float
    friction_scale: Float
    axle_friction: Float
    half_length_m: Float
    wheels: Float
    physics: NDArray[np.bool_]
    gravity: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    road: NDArray[np.int32]
    gear: NDArray[np.int32]
    engine_radps: Float
    _shift_s: Float
    _demand: Float
    _engine_n: Float
    _engine_drag_n: Float
    _forward_accel: Float
    _inputs: Float
    _asked: Float
    _tilt_rate: Float
    _held: Float
    _bank: NDArray[np.void]
    _motion: Motion
    _engines: engines.Engines

    def add(self, spec: VehicleSpec, pose: Transform) -> int:
        """Add a vehicle at rest at `pose`; it keeps the returned slot until `remove`."""
        slot = next((i for i, s in enumerate(self._specs) if s is None), len(self._specs))
        if slot == len(self._specs):
            self._specs.append(None)
            if slot >= len(self.alive):
                self._allot(2 * len(self.alive))
        self._specs[slot] = spec = handled(spec, self._handling)
        self._bank[slot], self.half_length_m[slot] = record_of(spec), spec.extent[0]
        self.alive[slot] = self.physics[slot] = self.gravity[slot] = True
        self.friction[slot] = self.friction_scale[slot] = self.axle_friction[slot] = 1.0
        self._held[slot] = self.wheels[slot] = 0.0
        self._demand[slot] = self._shift_s[slot] = self._engine_n[slot] = self._engine_drag_n[slot] = 0.0
        self.gear[slot] = 1
        self.set_drivetrain(slot, drivetrain_of(spec))
        self.set_steer_curve(slot, STEER_CURVE)
        self.steer_rad[slot] = self.wheel_phase_rad[slot] = 0.0
        self.set_control(slot, VehicleControl())
        self.set_velocity(slot, (0.0, 0.0, 0.0))
        self.set_angular_velocity_degps(slot, (0.0, 0.0, 0.0))
        self.teleport(slot, pose)
        self.road[slot] = self._ground.below(self.location[slot : slot + 1]).road[0]
        return slot

    def remove(self, slot: int) -> None:
        self._specs[slot] = None
        self.alive[slot] = self.physics[slot] = False
        self._pull.pop(slot, None)
        self._held[slot] = 0.0

    def spec(self, slot: int) -> VehicleSpec:
        spec = self._specs[slot] if slot < len(self._specs) else None
        if spec is None:
            raise KeyError(f"no vehicle in slot {slot}")
        return spec

    def set_spec(self, slot: int, spec: VehicleSpec, chassis: Chassis | None = None) -> None:
        """Replace a vehicle's parameters, for example its mass; without `chassis` the model's own is used."""
        self.spec(slot)
        self._specs[slot] = spec
        self._bank[slot], self.half_length_m[slot] = record_of(spec, chassis), spec.extent[0]

    def set_drivetrain(self, slot: int, drivetrain: Drivetrain) -> None:
        """Replace engine and gear box; the engaged gear is kept if its number still exists."""
        top_radps = drivetrain.max_rpm * math.tau / 60.0
        self._drive[slot] = (
            top_radps, drivetrain.inertia_kgm2, drivetrain.damping_full, drivetrain.damping_closed,
            drivetrain.is_automatic, drivetrain.switch_time_s, len(drivetrain.gears), pedal_free(self.spec(slot)),
        )  # fmt: skip
        self._torque_nm[slot] = torque_table(drivetrain)
        self._gears[slot] = 0.0
        for number, gear in enumerate(drivetrain.gears, start=1):
            self._gears[slot, number] = (gear.ratio * drivetrain.final_ratio, gear.down, gear.up)
        self._gears[slot, 0] = -self._gears[slot, 1]  # reverse has the first gear's ratio

    def set_steer_curve(self, slot: int, curve: Sequence[tuple[float, float]]) -> None:
        """Set the steering curve: points (km/h, share of the largest angle), at rising speeds, linear in between."""
        speed, share = np.array(curve, dtype=np.float64).T
        at = np.concatenate([speed, np.full(STEER_POINTS, np.inf)])[:STEER_POINTS]
        self._steer_curve[slot, :, 0] = at / 3.6
        self._steer_curve[slot, :, 1] = np.interp(at, speed, share)

    # ------------------------------------------------------------ commands

    def control(self, slot: int) -> VehicleControl:
        throttle, steer, brake, hand_brake, reverse, manual, gear = self._asked[slot].tolist()
        return VehicleControl(throttle, steer, brake, bool(hand_brake), bool(reverse), bool(manual), int(gear))

    def set_control(self, slot: int, control: VehicleControl) -> None:
        """Hold `control` from the next step on; values outside their ranges are clipped."""
        throttle, brake, steer = control.throttle, control.brake, control.steer
        if not (0.0 <= throttle <= 1.0 and 0.0 <= brake <= 1.0 and -1.0 <= steer <= 1.0):
            throttle, brake = min(max(throttle, 0.0), 1.0), min(max(brake, 0.0), 1.0)
            steer = min(max(steer, -1.0), 1.0)
        self._asked[slot] = (
            throttle, steer, brake, control.hand_brake, control.reverse, control.manual_gear_shift, control.gear,
        )  # fmt: skip
        manual = control.manual_gear_shift
        selected = control.gear if manual else -1 if control.reverse else 1
        self._inputs[slot] = (throttle, brake, control.hand_brake, steer, manual, selected)

    def set_controls(self, slots: NDArray[np.intp], values: Float) -> None:
        """`set_control` for many; `values` (n, 7) are the control's fields in order, within their ranges."""
        reverse, manual, gear = values[:, 4], values[:, 5] > 0.0, values[:, 6]
        inputs = np.empty((len(values), 6))
        inputs[:, :4] = values[:, (0, 2, 3, 1)]
        inputs[:, 4] = manual
        inputs[:, 5] = np.where(manual, gear, np.where(reverse > 0.0, -1.0, 1.0))
        self._asked[slots], self._inputs[slots] = values, inputs

    def teleport(self, slot: int, pose: Transform) -> None:
        """Move the vehicle to `pose`, with `z` as given; it keeps its world velocity."""
        self.location[slot] = pose.location
        self.rotation_deg[slot] = tuple(wrapped_deg(angle) for angle in (pose.pitch_deg, pose.yaw_deg, pose.roll_deg))
        self._tilt_rate[slot] = 0.0

    def set_velocity(self, slot: int, velocity: Vector3) -> None:
        self.velocity[slot] = velocity
        self.acceleration[slot] = self.angular_acceleration_degps2[slot] = 0.0
        self._forward_accel[slot] = 0.0

    def set_physics(self, slot: int, enabled: bool) -> None:
        """Switch physics on or off. Without it the vehicle stands still; switched on again, it starts from rest."""
        self.physics[slot] = enabled
        if not enabled:
            self.set_velocity(slot, (0.0, 0.0, 0.0))
            self.set_angular_velocity_degps(slot, (0.0, 0.0, 0.0))

    def set_angular_velocity_degps(self, slot: int, velocity: Vector3) -> None:
        """Set the rotation about the world's axes; a vehicle on its wheels uses only the part about z."""
        self.angular_velocity_degps[slot] = velocity

    def steer_share(self, slot: int) -> float:
        """Share of the largest steering angle at full steering input and the vehicle's present speed."""
        curve = self._steer_curve[slot]
        return float(np.interp(np.hypot(*self.velocity[slot, :2]), curve[:, 0], curve[:, 1]))

    def hold_velocity(self, slot: int, velocity: Vector3 | None) -> None:
        """Drive at a constant velocity in the body frame (z is ignored), whatever forces act; None ends it."""
        self._held[slot] = (0.0, 0.0, 0.0) if velocity is None else (1.0, velocity[0], velocity[1])

    def add_impulse(self, slot: int, impulse_ns: Vector3) -> None:
        """Change the velocity at once, by impulse over mass."""
        if self.physics[slot]:
            self.velocity[slot] += np.asarray(impulse_ns) / self.spec(slot).mass_kg

    def add_angular_impulse(self, slot: int, impulse_nms: Vector3) -> None:
        """Change the yaw rate at once; only the part about z acts."""
        if self.physics[slot]:
            self.angular_velocity_degps[slot, 2] += math.degrees(impulse_nms[2] / yaw_inertia_kgm2(self.spec(slot)))

    def add_force(self, slot: int, force_n: Vector3) -> None:
        """Apply a force during the next step."""
        pull = self._pull.setdefault(slot, [0.0, 0.0, 0.0, 0.0])
        for axis in range(3):
            pull[axis] += force_n[axis]

    def add_torque(self, slot: int, torque_nm: Vector3) -> None:
        """Apply a torque during the next step; only the part about z acts."""
        self._pull.setdefault(slot, [0.0, 0.0, 0.0, 0.0])[3] += torque_nm[2]

    # ------------------------------------------------------------ step

    def step(self, dt_s: float, wetness: float, deposits: float = 0.0) -> None:
        """Advance by `dt_s`; `wetness` and `deposits` in percent, as in `WeatherParameters`.

        Vehicles whose `physics` is False stay where they are.
        """
        self._apply_forces(dt_s)
        active = np.flatnonzero(self.alive & self.physics)
        if len(active):
            self._move(active, dt_s, water_mm(wetness, deposits))
        if len(active) < np.count_nonzero(self.alive):
            still = np.flatnonzero(self.alive & ~self.physics)
            self.road[still] = self._ground.below(self.location[still]).road
            self.acceleration[still] = self.angular_acceleration_degps2[still] = 0.0

    def _apply_forces(self, dt_s: float) -> None:
        for slot, (x, y, z, turn) in self._pull.items():
            self.add_impulse(slot, (x * dt_s, y * dt_s, z * dt_s))
            self.add_angular_impulse(slot, (0.0, 0.0, turn * dt_s))
        self._pull.clear()

    def _move(self, active: NDArray[np.intp], dt_s: float, depth_mm: float) -> None:
        engines.run_engines(
            active, self._bank, self._engines, self._inputs, self.velocity, self.rotation_deg, float(dt_s)
        )
        points = np.empty((len(active), 5, 3))
        road_kernel.wheel_points(active, self._bank, self.location, self.rotation_deg, points)
        wet = np.empty(len(active))
        road_kernel.wet_shares(active, self.velocity, depth_mm, wet)
        hit = self._ground.below(points.reshape(-1, 3))
        self.road[active] = hit.road[4::5]
        count = max(math.ceil(dt_s / SUBSTEP_S - 1e-9), 1)
        kernel.move(active, self._bank, self._motion, hit.z.reshape(-1, 5), wet, float(dt_s), count)


def water_mm(wetness: float, deposits: float) -> float:
    """Mean depth of water on the road, mm, from wetness and deposits in percent.

    Wetness alone gives a film; full deposits raise the depth to that of a heavy rain.
    """
    film, puddles = (min(max(percent / 100.0, 0.0), 1.0) for percent in (wetness, deposits))
    return FILM_MM * film + PUDDLES_MM * puddles
