"""Motion in the ground plane: a dynamic single-track model with saturating tyres, vectorised over vehicles.

Model: R. Rajamani, *Vehicle Dynamics and Control* (2nd ed.), chapters 2, 4 and 13: two axles, lateral force by the
Magic Formula in its short form D sin(C atan(B a)), the friction ellipse for combined slip, load transfer between the
axles. Below about 2 m/s slip angles lose their meaning; there the motion goes over into the kinematic single track,
reached with no more force than friction can give, so that standstill is a fixed point.

Every array is (N,), or (2, N) with the front axle in row 0. SI units, radians, CARLA's handedness: the body frame is x
forward, y right, and yaw and steer are positive clockwise seen from above. In that frame the equations read as in a
right-handed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embedded_carla.types import Float, VehicleSpec

GRAVITY_MPS2 = 9.81
AIR_DENSITY_KGPM3 = 1.2
STIFFNESS = np.array([[12.0], [14.5]])  # B: the front slips more, so the car understeers mildly
SHAPE = 1.35  # C
LATERAL_SHARE = np.array([[0.86], [0.90]])  # D: lateral over longitudinal friction, lower in front
ROLLOVER_SHARE = 0.9  # lateral friction stays below this part of the static stability factor: nothing tips over
PEAK_SLIP_RAD = 0.19  # of the front tyres; the driver does not turn the wheel further into the slide
SLIP_SPEED_MPS = 2.0  # slip angles are taken over no less than this speed
KINEMATIC_MPS, DYNAMIC_MPS = 1.0, 3.0  # blend between the two models


@dataclass(frozen=True, slots=True)
class PlanarBank:
    """Constants of N vehicles."""

    mass_kg: Float
    inverse_mass: Float
    inverse_inertia: Float
    wheelbase_m: Float
    arm_m: Float  # (2, N) from the centre of mass to the axle, forward positive
    load_share: Float  # (2, N) static share of the weight
    transfer_kg: Float  # (2, N) axle load per longitudinal acceleration
    lateral_share: Float  # (2, N)
    rolling: Float  # (2, N) sideways speed and turn rate per speed and tangent of the steering angle, without slip
    rolling_grip: Float  # (2, N) what friction can change of them, per unit of friction acceleration
    drag: Float  # deceleration per squared speed
    force_max_n: Float
    power_w: Float
    brake_force_max_n: Float
    top_speed_mps: Float
    steer_max_rad: Float
    wheel_radius_m: Float
    axle_x_m: Float  # (2, N)
    half_track_m: Float


def bank_of(specs: Sequence[VehicleSpec]) -> PlanarBank:
    """Constants from specifications, in their order."""

    def column(name: str) -> Float:
        return np.array([getattr(s, name) for s in specs], dtype=np.float64)

    mass, wheelbase, rear = column("mass_kg"), column("wheelbase_m"), -column("rear_axle_x_m")
    front, cog = wheelbase - rear, column("cog_height_m")
    half_length = np.array([s.extent[0] for s in specs], dtype=np.float64)
    half_width = np.array([s.extent[1] for s in specs], dtype=np.float64)
    track = column("track_m")
    stability = np.array([np.inf if s.number_of_wheels < 4 else s.track_m / (2 * s.cog_height_m) for s in specs])
    return PlanarBank(
        mass_kg=mass,
        inverse_mass=1.0 / mass,
        inverse_inertia=3.0 / (mass * (half_length**2 + half_width**2)),
        wheelbase_m=wheelbase,
        arm_m=np.stack([front, -rear]),
        load_share=np.stack([rear, front]) / wheelbase,
        transfer_kg=np.stack([-mass * cog, mass * cog]) / wheelbase,
        lateral_share=np.minimum(LATERAL_SHARE, LATERAL_SHARE / LATERAL_SHARE[1] * ROLLOVER_SHARE * stability),
        rolling=np.stack([rear, np.ones_like(rear)]) / wheelbase,
        rolling_grip=np.stack([np.ones_like(rear), 2.0 / wheelbase]),
        drag=0.5 * AIR_DENSITY_KGPM3 * column("drag_area_m2") / mass,
        force_max_n=column("force_max_n"),
        power_w=column("power_w"),
        brake_force_max_n=column("brake_force_max_n"),
        top_speed_mps=column("top_speed_mps"),
        steer_max_rad=np.radians(column("steer_max_deg")),
        wheel_radius_m=column("wheel_radius_m"),
        axle_x_m=np.stack([front, -rear]),
        half_track_m=np.maximum(track / 2, 0.3),
    )


@dataclass(slots=True)
class PlanarState:
    """What moves; `advance` writes into it. Velocities are of the centre of mass, in the body frame."""

    x_m: Float
    y_m: Float
    yaw_rad: Float
    forward_mps: Float
    right_mps: Float
    yaw_rate_radps: Float
    steer_rad: Float
    forward_accel_mps2: Float


@dataclass(frozen=True, slots=True)
class PlanarInput:
    """What acts during one step, constant over its sub-steps."""

    drive_n: Float  # (2, N) driving force, forward positive, within friction
    brake_n: Float  # (2, N) braking force >= 0, within friction
    friction_n: Float  # (2, N) largest longitudinal tyre force, > 0
    side_n: Float  # (2, N) largest lateral tyre force
    resistance_mps2: Float  # rolling resistance and engine braking; opposes motion and holds at rest
    steer_target_rad: Float
    steer_rate_radps: float
    hold: Float  # (2, N) what friction can change of sideways speed and turn rate per second; 0 in the air
    grade_forward_mps2: Float
    grade_right_mps2: Float


def limited(value: Float, bound: Float | float) -> Float:
    """Cut to [-bound, bound]; much quicker than `np.clip` on short arrays."""
    return np.minimum(np.maximum(value, -bound), bound)


def advance(state: PlanarState, bank: PlanarBank, inputs: PlanarInput, dt_s: float) -> None:
    """Move `state` by one sub-step of `dt_s` <= 0.0125 s (semi-implicit Euler)."""
    speed, lateral, turn = state.forward_mps, state.right_mps, state.yaw_rate_radps
    state.steer_rad = steer = state.steer_rad + limited(
        inputs.steer_target_rad - state.steer_rad, inputs.steer_rate_radps * dt_s
    )
    magnitude, direction = np.abs(speed), np.sign(speed)
    pace = np.maximum(magnitude, np.abs(lateral))  # a car that slides sideways is in motion too
    dynamic = np.minimum(np.maximum((pace - KINEMATIC_MPS) / (DYNAMIC_MPS - KINEMATIC_MPS), 0.0), 1.0)

    drive, brake = inputs.drive_n, inputs.brake_n
    side, wheel = _side_force(state, bank, inputs, (drive - direction * brake) / inputs.friction_n)

    sin_steer, cos_steer = np.sin(wheel), np.cos(wheel)
    pull = (drive[0] * cos_steer + drive[1] - dynamic * sin_steer * side[0]) * bank.inverse_mass
    free = speed + dt_s * (pull - bank.drag * speed * magnitude + inputs.grade_forward_mps2 + dynamic * turn * lateral)
    stop = dt_s * ((brake[0] * cos_steer + brake[1]) * bank.inverse_mass + inputs.resistance_mps2)
    state.forward_mps = new_speed = free - limited(free, stop)
    state.forward_accel_mps2 = (new_speed - speed) / dt_s - dynamic * turn * lateral

    # From here on both kinds of motion at once: row 0 sideways, row 1 turning.
    front = side[0] * cos_steer
    now = np.array([lateral, turn])
    slide = np.empty_like(now)
    slide[0] = (front + side[1]) * bank.inverse_mass + inputs.grade_right_mps2 - turn * speed
    slide[1] = (bank.arm_m[0] * front + bank.arm_m[1] * side[1]) * bank.inverse_inertia
    rolling = (new_speed * np.tan(steer)) * bank.rolling
    rolled = now + limited(rolling - now, inputs.hold * dt_s)
    state.right_mps, state.yaw_rate_radps = rolled + dynamic * (now + dt_s * slide - rolled)
    _integrate(state, dt_s)


def _side_force(state: PlanarState, bank: PlanarBank, inputs: PlanarInput, used: Float) -> tuple[Float, Float]:
    """(2, N) lateral tyre forces, right positive, and (N,) the angle at which the front ones act.

    `used` is the part of the friction that drive and brake take. Front tyres give their most however far the wheel is
    turned: no more than the peak slip counts.
    """
    speed = state.forward_mps
    slip = np.arctan((state.right_mps + bank.arm_m * state.yaw_rate_radps) / np.maximum(np.abs(speed), SLIP_SPEED_MPS))
    direction = np.sign(speed)
    heading = slip[0].copy()
    slip[0] = limited(heading - state.steer_rad * direction, PEAK_SLIP_RAD)
    left = inputs.side_n * np.sqrt(np.maximum(1.0 - used * used, 0.0))
    side: Float = -left * np.sin(SHAPE * np.arctan(STIFFNESS * slip))
    return side, (heading - slip[0]) * direction


def _integrate(state: PlanarState, dt_s: float) -> None:
    state.yaw_rad = yaw = state.yaw_rad + dt_s * state.yaw_rate_radps
    cos, sin = np.cos(yaw), np.sin(yaw)
    state.x_m = state.x_m + dt_s * (state.forward_mps * cos - state.right_mps * sin)
    state.y_m = state.y_m + dt_s * (state.forward_mps * sin + state.right_mps * cos)
