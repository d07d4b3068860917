"""All vehicles of the world as a struct of arrays, and their physics.

One `step` asks the ground once for every wheel, moves all bodies in the plane (`vehicles_planar`) in sub-steps of at
most 12.5 ms and lets them stand, fall and settle (`vehicles_vertical`). No randomness, no clock: equal inputs give
equal trajectories to the bit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import Ground
from embedded_carla.types import Float, Transform, Vector3, VehicleControl, VehicleSpec
from embedded_carla.world import vehicles_planar as planar
from embedded_carla.world import vehicles_vertical as vertical
from embedded_carla.world.vehicles_actuation import Pedals, actuate

SUBSTEP_S = 0.0125


class VehicleFleet:
    """Physics of all vehicles, indexed by slot.

    Public arrays grow with the fleet: read the attribute anew each time, do not keep it over `add`. `location` (N, 3)
    m, `rotation_deg` (N, 3) pitch, yaw, roll, `velocity` and `acceleration` (N, 3) in the world frame (acceleration is
    the change of velocity over the last step), `angular_velocity_degps` (N, 3) about the world's axes and its change
    `angular_acceleration_degps2`, `physics`, `gravity`, `alive` (N,) bool, `steer_rad` (N,), `wheel_phase_rad` (N,),
    `road` (N,) int32 index into `Scenery.road_ids` (-1 off the road), `gear` (N,), `friction` (N,) factor on the tyres'
    friction, 1 by default.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._specs: list[VehicleSpec | None] = []
        self._controls: list[VehicleControl] = []
        self._pull: dict[int, list[float]] = {}  # slot -> forces of the next step: N, N, N, N m
        self._held: dict[int, Vector3] = {}  # slot -> constant velocity in the body frame
        self._active: NDArray[np.intp] | None = None
        self._bank = planar.bank_of([])
        self._allot(16)

    # ------------------------------------------------------------ slots

    def _allot(self, capacity: int) -> None:
        def grown(name: str, shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
            new: NDArray[Any] = np.zeros((capacity, *shape), dtype=dtype)
            old = getattr(self, name, new[:0])
            new[: len(old)] = old
            return new

        vectors = ("location", "rotation_deg", "velocity", "acceleration")
        for name in (*vectors, "angular_velocity_degps", "angular_acceleration_degps2"):
            setattr(self, name, grown(name, (3,), np.float64))
        for name in ("steer_rad", "wheel_phase_rad", "friction", "_forward_accel"):
            setattr(self, name, grown(name, (), np.float64))
        for name in ("physics", "gravity", "alive"):
            setattr(self, name, grown(name, (), np.bool_))
        for name in ("road", "gear"):
            setattr(self, name, grown(name, (), np.int32))
        # rows: signed throttle, brake, hand brake, steer, coasting
        self._inputs = grown("_inputs", (5,), np.float64)
        self._tilt_rate = grown("_tilt_rate", (2,), np.float64)  # pitch, roll rate, rad/s

    location: Float
    rotation_deg: Float
    velocity: Float
    angular_velocity_degps: Float
    angular_acceleration_degps2: Float
    acceleration: Float
    steer_rad: Float
    wheel_phase_rad: Float
    friction: Float
    physics: NDArray[np.bool_]
    gravity: NDArray[np.bool_]
    alive: NDArray[np.bool_]
    road: NDArray[np.int32]
    gear: NDArray[np.int32]
    _forward_accel: Float
    _inputs: Float
    _tilt_rate: Float

    def add(self, spec: VehicleSpec, pose: Transform) -> int:
        """Put a vehicle at rest at `pose`; the slot stays its own until `remove`."""
        slot = next((i for i, s in enumerate(self._specs) if s is None), len(self._specs))
        if slot == len(self._specs):
            self._specs.append(None)
            self._controls.append(VehicleControl())
            if slot >= len(self.alive):
                self._allot(2 * len(self.alive))
        self._specs[slot] = spec
        self._active = None
        self.alive[slot] = self.physics[slot] = self.gravity[slot] = True
        self.friction[slot] = 1.0
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
        self._held.pop(slot, None)
        self._active = None

    def spec(self, slot: int) -> VehicleSpec:
        spec = self._specs[slot] if slot < len(self._specs) else None
        if spec is None:
            raise KeyError(f"no vehicle in slot {slot}")
        return spec

    def set_spec(self, slot: int, spec: VehicleSpec) -> None:
        """Change the parameters of a vehicle, for example its mass, in place."""
        self.spec(slot)
        self._specs[slot] = spec
        self._active = None

    # ------------------------------------------------------------ commands

    def control(self, slot: int) -> VehicleControl:
        return self._controls[slot]

    def set_control(self, slot: int, control: VehicleControl) -> None:
        """Hold `control` from the next step on; values outside their ranges are cut."""
        throttle, brake, steer = control.throttle, control.brake, control.steer
        if not (0.0 <= throttle <= 1.0 and 0.0 <= brake <= 1.0 and -1.0 <= steer <= 1.0):
            throttle, brake = min(max(throttle, 0.0), 1.0), min(max(brake, 0.0), 1.0)
            steer = min(max(steer, -1.0), 1.0)
            control = replace(control, throttle=throttle, steer=steer, brake=brake)
        direction = -1 if control.reverse else 1
        if control.manual_gear_shift:
            direction = (control.gear > 0) - (control.gear < 0)
        self._controls[slot] = control
        self.gear[slot] = control.gear if control.manual_gear_shift else direction
        self._inputs[slot] = (throttle * direction, brake, control.hand_brake, steer, throttle < 0.01)

    def teleport(self, slot: int, pose: Transform) -> None:
        """Place the vehicle; it keeps its world velocity, and `z` is taken as given."""
        self.location[slot] = pose.location
        self.rotation_deg[slot] = (pose.pitch_deg, pose.yaw_deg, pose.roll_deg)
        self._tilt_rate[slot] = 0.0

    def set_velocity(self, slot: int, velocity: Vector3) -> None:
        self.velocity[slot] = velocity
        self.acceleration[slot] = self.angular_acceleration_degps2[slot] = 0.0
        self._forward_accel[slot] = 0.0

    def set_angular_velocity_degps(self, slot: int, velocity: Vector3) -> None:
        """About the world's axes; only the turn about z acts on a vehicle that stands on its wheels."""
        self.angular_velocity_degps[slot] = velocity

    def hold_velocity(self, slot: int, velocity: Vector3 | None) -> None:
        """Drive at a constant velocity given in the body frame (z is ignored), whatever acts; None ends it."""
        if velocity is None:
            self._held.pop(slot, None)
        else:
            self._held[slot] = velocity

    def add_impulse(self, slot: int, impulse_ns: Vector3) -> None:
        """Change the velocity at once by impulse over mass."""
        if self.physics[slot]:
            self.velocity[slot] += np.asarray(impulse_ns) / self.spec(slot).mass_kg

    def add_angular_impulse(self, slot: int, impulse_nms: Vector3) -> None:
        """Change the turn rate at once; only the part about z acts."""
        if self.physics[slot]:
            self.angular_velocity_degps[slot, 2] += math.degrees(impulse_nms[2] / yaw_inertia_kgm2(self.spec(slot)))

    def add_force(self, slot: int, force_n: Vector3) -> None:
        """Push during the next step."""
        pull = self._pull.setdefault(slot, [0.0, 0.0, 0.0, 0.0])
        for axis in range(3):
            pull[axis] += force_n[axis]

    def add_torque(self, slot: int, torque_nm: Vector3) -> None:
        """Turn during the next step; only the part about z acts."""
        self._pull.setdefault(slot, [0.0, 0.0, 0.0, 0.0])[3] += torque_nm[2]

    # ------------------------------------------------------------ step

    def step(self, dt_s: float, wetness: float) -> None:
        """Advance by `dt_s`; `wetness` in percent, as in `WeatherParameters`.

        Vehicles whose `physics` is False stay where they are.
        """
        self._apply_forces(dt_s)
        active = np.flatnonzero(self.alive & self.physics)
        if self._active is None or not np.array_equal(active, self._active):
            self._active = active
            self._bank = planar.bank_of([self.spec(int(slot)) for slot in active])
        self._find_roads(active)
        if len(active):
            self._move(active, dt_s, wetness)
        still = self.alive & ~self.physics
        if still.any():
            self.acceleration[still] = self.angular_acceleration_degps2[still] = 0.0

    def _apply_forces(self, dt_s: float) -> None:
        for slot, (x, y, z, turn) in self._pull.items():
            self.add_impulse(slot, (x * dt_s, y * dt_s, z * dt_s))
            self.add_angular_impulse(slot, (0.0, 0.0, turn * dt_s))
        self._pull.clear()

    def _find_roads(self, active: NDArray[np.intp]) -> None:
        """Roads of the vehicles that the ground is not asked for in `_move`."""
        if len(active) < np.count_nonzero(self.alive):
            other = np.flatnonzero(self.alive & ~self.physics)
            self.road[other] = self._ground.below(self.location[other]).road

    def _move(self, active: NDArray[np.intp], dt_s: float, wetness: float) -> None:
        bank, location, velocity = self._bank, self.location[active], self.velocity[active]
        pitch, yaw, roll = np.radians(self.rotation_deg[active]).T
        tilt_rate = self._tilt_rate[active]
        body = vertical.VerticalState(location[:, 2], velocity[:, 2], pitch, roll, tilt_rate[:, 0], tilt_rate[:, 1])
        points = vertical.wheel_points(location, yaw, pitch, bank)
        hit = self._ground.below(points.reshape(-1, 3))
        self.road[active] = hit.road[4 * len(active) :]
        foot = vertical.footing(hit.z.reshape(5, -1)[:4], body, bank)

        cos, sin = np.cos(yaw), np.sin(yaw)
        turn = np.radians(self.angular_velocity_degps[active, 2])
        state = planar.PlanarState(
            location[:, 0], location[:, 1], yaw,
            velocity[:, 0] * cos + velocity[:, 1] * sin, velocity[:, 1] * cos - velocity[:, 0] * sin,
            turn, self.steer_rad[active], self._forward_accel[active],
        )  # fmt: skip
        pedals = Pedals(*self._inputs[active].T)
        inputs = actuate(pedals, bank, state, foot, self.friction[active], self.gravity[active], wetness)
        held = [(i, self._held[int(slot)]) for i, slot in enumerate(active) if int(slot) in self._held]
        self._hold(state, held)
        count = max(math.ceil(dt_s / SUBSTEP_S - 1e-9), 1)
        for _ in range(count):
            planar.advance(state, bank, inputs, dt_s / count)
            self._hold(state, held)

        dx, dy = state.x_m - location[:, 0], state.y_m - location[:, 1]
        gravity = self.gravity[active].astype(np.float64)
        vertical.settle(body, foot, dx * cos + dy * sin, dy * cos - dx * sin, gravity, dt_s)
        self._write_back(active, state, body, velocity, dt_s)

    @staticmethod
    def _hold(state: planar.PlanarState, held: list[tuple[int, Vector3]]) -> None:
        for i, velocity in held:
            state.forward_mps[i], state.right_mps[i] = velocity[0], velocity[1]

    def _write_back(
        self,
        active: NDArray[np.intp],
        state: planar.PlanarState,
        body: vertical.VerticalState,
        velocity: Float,
        dt_s: float,
    ) -> None:
        cos, sin = np.cos(state.yaw_rad), np.sin(state.yaw_rad)
        new = np.empty_like(velocity)
        new[:, 0] = state.forward_mps * cos - state.right_mps * sin
        new[:, 1] = state.forward_mps * sin + state.right_mps * cos
        new[:, 2] = body.climb_mps
        self.acceleration[active] = (new - velocity) / dt_s
        self.velocity[active] = new
        self.location[active] = np.array([state.x_m, state.y_m, body.z_m]).T
        yaw = np.remainder(state.yaw_rad + math.pi, 2 * math.pi) - math.pi
        self.rotation_deg[active] = np.degrees(np.array([body.pitch_rad, yaw, body.roll_rad]).T)
        self._tilt_rate[active] = np.array([body.pitch_rate_radps, body.roll_rate_radps]).T
        # A positive pitch or roll turns against the sense of its axis in this frame; a positive yaw turns with it.
        pitch_rate, roll_rate = body.pitch_rate_radps, body.roll_rate_radps
        rates = [pitch_rate * sin - roll_rate * cos, -roll_rate * sin - pitch_rate * cos, state.yaw_rate_radps]
        turn = np.degrees(np.array(rates).T)
        self.angular_acceleration_degps2[active] = (turn - self.angular_velocity_degps[active]) / dt_s
        self.angular_velocity_degps[active] = turn
        self.steer_rad[active] = state.steer_rad
        self._forward_accel[active] = state.forward_accel_mps2
        phase = self.wheel_phase_rad[active] + state.forward_mps * dt_s / self._bank.wheel_radius_m
        self.wheel_phase_rad[active] = np.remainder(phase, 2 * math.pi)


def yaw_inertia_kgm2(spec: VehicleSpec) -> float:
    """Moment of inertia about the vertical axis of a homogeneous box of the vehicle's size."""
    return spec.mass_kg * (spec.extent[0] ** 2 + spec.extent[1] ** 2) / 3.0
