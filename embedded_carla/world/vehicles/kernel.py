"""Vehicle dynamics: compiled loops over vehicles.

In the plane: R. Rajamani, *Vehicle Dynamics and Control* (2nd ed.), ch. 2, 4, 8 and 13. A dynamic single-track model
with lateral forces from the short Magic Formula D sin(C atan(B a)), the friction ellipse for combined slip, and load
transfer between the axles. Below about 2 m/s slip angles lose their meaning; there the motion blends into the kinematic
single-track model, approached with no more force than friction can give, so that standstill is a fixed point.

Upright: a critically damped spring per degree of freedom (heave, pitch, roll), advanced by its closed-form solution, so
that any step length is stable. Wheels do not pull: the body never accelerates downwards faster than gravity.

SI units, radians, CARLA's handedness: the body frame is x forward, y right; yaw and steer are positive clockwise seen
from above. In that frame the equations read as in a right-handed one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.types import Float
from embedded_carla.world.vehicles.motion import (
    FORWARD_N,
    NORMAL_N,
    RIGHT_N,
    SLIP_ANGLE,
    SLIP_RATIO,
    SPIN,
    Motion,
    Plane,
    Push,
    Tyres,
    Upright,
)

GRAVITY_MPS2 = 9.81
# Tyres
DRY_FRICTION = 1.0
SHAPE = 1.35  # C
SLIP_SPEED_MPS = 2.0  # least speed for computing slip angles
KINEMATIC_MPS, DYNAMIC_MPS = 1.0, 3.0  # blend between the two models
SLIP_STIFFNESS = 15.0  # longitudinal force over load, per slip; gives the slip ratio of the telemetry
# Pedals and steering
ABS_EFFICIENCY = 0.95  # share of the longitudinal friction that ABS and traction control use
STEER_RATE_RADPS = math.radians(120.0)
BRAKE_SHARE = ((0.0, 1.0), (5.0, 0.90), (7.2, 0.57), (10.0, 0.32), (30.0, 0.32))
"""(speed in m/s, share of the full brake) where brakes fade; after carla_garage's model of a braking ego."""
# Stability control: where the steering demands more than the tyres can give, or the vehicle turns faster than that, it
# cuts the throttle and then brakes; in a spin it brakes one side more than the other.
STABILITY_BEGIN, STABILITY_FULL = 0.85, 1.05  # demanded over possible lateral acceleration
STABILITY_BRAKE, STABILITY_FRONT = 0.4, 0.85  # braking force over weight; its front share, so that the rear holds
STABILITY_SIDE = 0.5  # force of the outer wheels' brakes over weight times friction; it acts at half the track
STABILITY_GAIN_PER_S = 10.0
SLIP_GAIN_PER_S, SLIP_S2PM = 5.0, 0.02  # on side slip beyond atan(SLIP_S2PM x possible acceleration)
# Springs
SPRING_RADPS = 12.0  # natural frequency of heave, pitch and roll
DROOP_M = 0.12  # wheels that hang down up to this far still touch the ground
BUMP_M = 0.15  # the body sinks no deeper than this into its springs
SLOPE_MAX = 0.7

_FORE = (1, 1, 0, 0)  # front left, front right, rear left, rear right
_SIDE = (-1.0, 1.0, -1.0, 1.0)


X, Y, YAW, FORWARD, RIGHT, TURN, STEER, ACCEL = range(8)
"""Indices into the state vector of the planar motion.

Position of the centre of mass, m, and yaw, rad, in the world; forward and right velocity in the body frame, m/s; yaw
rate, rad/s; steering angle, rad; forward acceleration, m/s^2."""

BRAKE_INPUT, HAND_BRAKE_INPUT, STEER_INPUT = 1, 2, 3
"""Columns of `Motion.inputs`."""
IS_HELD, HELD_FORWARD, HELD_RIGHT = range(3)
"""Columns of `Motion.held`."""
FRONT, REAR = range(2)
"""Columns of `Motion.axle_friction`."""
PITCH_RATE, ROLL_RATE = range(2)
"""Columns of `Motion.tilt_rate`."""
PITCH_DEG, YAW_DEG, ROLL_DEG = range(3)
"""Columns of `Motion.rotation_deg`."""
SPEED, SHARE = range(2)
"""Columns of `Motion.steer_curve`."""


@inner
def _clamp(value: float, bound: float) -> float:
    return min(max(value, -bound), bound)


@inner
def _sign(value: float) -> float:
    return float((value > 0.0) - (value < 0.0))


@inner
def _footing(wheel_z: Float, z_m: float, model: Any) -> Plane:
    """Fit the ground plane to `wheel_z` (4,), NaN where a wheel has nothing below it."""
    count, total = 0, 0.0
    for wheel in range(4):
        if not math.isnan(wheel_z[wheel]):
            count += 1
            total += wheel_z[wheel]
    mean = total / count if count else z_m
    a, b, c, d = wheel_z[0], wheel_z[1], wheel_z[2], wheel_z[3]
    a, b = mean if math.isnan(a) else a, mean if math.isnan(b) else b
    c, d = mean if math.isnan(c) else c, mean if math.isnan(d) else d
    front, rear = (a + b) / 2, (c + d) / 2
    height = (rear * model.front_axle_m - front * model.rear_axle_m) / model.wheelbase_m
    forward = _clamp((front - rear) / model.wheelbase_m, SLOPE_MAX)
    right = _clamp((b - a + d - c) / (4 * model.half_track_m), SLOPE_MAX)
    return Plane(height, forward, right, count > 0, count > 0 and z_m - height <= DROOP_M)


@inner
def _steer_share(curve: Float, speed: float) -> float:
    """Share of the largest steering angle at full steering input: piecewise linear in speed."""
    if speed <= curve[0, SPEED]:
        return float(curve[0, SHARE])
    for i in range(1, len(curve)):
        if speed < curve[i, SPEED]:
            low, share = curve[i - 1, SPEED], curve[i - 1, SHARE]
            return float(share + (curve[i, SHARE] - share) / (curve[i, SPEED] - low) * (speed - low))
    return float(curve[len(curve) - 1, SHARE])


@inner
def _brake_share(speed_mps: float) -> float:
    """Share of the full brake that is left at a speed: piecewise linear in `BRAKE_SHARE`."""
    for i in range(1, len(BRAKE_SHARE)):
        if speed_mps < BRAKE_SHARE[i][0]:
            low, high = BRAKE_SHARE[i - 1], BRAKE_SHARE[i]
            return low[1] + (high[1] - low[1]) / (high[0] - low[0]) * (speed_mps - low[0])
    return BRAKE_SHARE[len(BRAKE_SHARE) - 1][1]


@inner
def _stability(model: Any, state: Float, grip_front: float, grip: float, weight_n: float) -> tuple[float, float]:
    """(demanded over possible lateral acceleration, angular acceleration in rad/s^2 by one-sided braking).

    The bounds of yaw rate and side slip are those of Rajamani, 8.2.
    """
    squared = state[FORWARD] * state[FORWARD]
    wanted = abs(math.tan(state[STEER])) * squared / (model.wheelbase_m + model.understeer_s2 * squared)
    possible = grip_front * model.front_side * GRAVITY_MPS2 + 1e-3
    share = max(wanted, abs(state[TURN] * state[FORWARD])) / possible
    over, turning = max(abs(state[FORWARD]), DYNAMIC_MPS), _sign(state[TURN])
    slipped = -turning * math.atan((state[RIGHT] + model.rear_m * state[TURN]) / over)
    spin = abs(state[TURN]) - possible / over
    spin = max(spin, SLIP_GAIN_PER_S * (slipped - math.atan(SLIP_S2PM * grip * GRAVITY_MPS2)))
    most = STABILITY_SIDE * model.half_track_m * grip * weight_n / model.yaw_inertia_kgm2
    return share, -turning * min(max(STABILITY_GAIN_PER_S * spin, 0.0), most)


@inner
def _actuate(slot: int, model: Any, motion: Motion, state: Float, plane: Plane, grip: float) -> Push:
    """Convert pedals and steering to forces at the axles; the load transfer follows the last step's acceleration."""
    inputs = motion.inputs[slot]
    brake, hand_brake, steer = inputs[BRAKE_INPUT], inputs[HAND_BRAKE_INPUT], inputs[STEER_INPUT]
    speed = abs(state[FORWARD])
    brake *= _brake_share(speed) if model.brake_fades > 0.0 else 1.0
    gravity = GRAVITY_MPS2 if motion.gravity[slot] else 0.0
    weight, touch = model.mass_kg * gravity, 1.0 if plane.is_touched else 0.0
    grip *= touch
    grip_front, grip_rear = grip * motion.axle_friction[slot, FRONT], grip * motion.axle_friction[slot, REAR]
    uphill = gravity * plane.forward / (1.0 + plane.forward * plane.forward)
    air = model.drag_per_m * state[FORWARD] * speed
    moved = model.transfer_kg * (state[ACCEL] + touch * uphill + air)  # by the acceleration that the tyres give
    load_front = max(model.front_load * weight - moved, 0.0)
    load_rear = max(model.rear_load * weight + moved, 0.0)
    limit_front, limit_rear = grip_front * load_front, grip_rear * load_rear

    share, steadied_turn = _stability(model, state, grip_front, grip, weight)
    left = math.sqrt(max(1.0 - share * share, 0.04))  # share of the friction left for traction control
    excess = max((share - STABILITY_BEGIN) / (STABILITY_FULL - STABILITY_BEGIN), 0.0)
    force = motion.engine_n[slot] * (1.0 - min(excess, 1.0))
    steadied = STABILITY_BRAKE * min(max(excess - 1.0, 0.0), 1.0)
    dragged = motion.engine_drag_n[slot]
    lost = min(dragged, abs(force)) if force * state[FORWARD] > 0.0 else 0.0
    force, dragged = force - _sign(force) * lost, dragged - lost
    braked_front = brake * model.brake_front_n + hand_brake * model.hand_brake_front_n + model.drive_front * dragged
    braked_rear = (
        brake * model.brake_rear_n + hand_brake * model.hand_brake_rear_n + (1.0 - model.drive_front) * dragged
    )
    drive_rear = _clamp((1.0 - model.drive_front) * force, left * ABS_EFFICIENCY * limit_rear)
    brake_rear = min(braked_rear + (1.0 - STABILITY_FRONT) * steadied * weight, ABS_EFFICIENCY * limit_rear)
    side_front = model.front_side * limit_front
    if model.side_transfer_m == 0.0:  # a rider leans no further than the rear tyre can follow
        used = max(abs(drive_rear), brake_rear) / (limit_rear + 1e-3)
        side_front = min(side_front, model.front_side * limit_rear * math.sqrt(max(1.0 - used * used, 0.0)))
    return Push(
        _clamp(model.drive_front * force, left * ABS_EFFICIENCY * limit_front),
        drive_rear,
        min(braked_front + STABILITY_FRONT * steadied * weight, ABS_EFFICIENCY * limit_front),
        brake_rear,
        limit_front + 1e-3,
        limit_rear + 1e-3,
        side_front,
        model.rear_side * limit_rear,
        min(model.rolling * GRAVITY_MPS2 * touch, (limit_front + limit_rear) / model.mass_kg),
        steer * model.steer_max_rad * _steer_share(motion.steer_curve[slot], speed),
        grip * GRAVITY_MPS2,
        -touch * uphill,
        -touch * gravity * plane.right / (1.0 + plane.right * plane.right),
        steadied_turn,
    )


@inner
def _tyre(stiffness: float, slip_rad: float, side_n: float, used: float) -> float:
    """Lateral force, N, right positive; `used` is the share of the friction that drive and brake take."""
    return -side_n * math.sqrt(max(1.0 - used * used, 0.0)) * math.sin(SHAPE * math.atan(stiffness * slip_rad))


@inner
def _advance(state: Float, model: Any, push: Push, dt_s: float) -> Tyres:
    """Move `state` by one sub-step of at most 12.5 ms (semi-implicit Euler). Returns what the tyres did."""
    speed, lateral, turn = state[FORWARD], state[RIGHT], state[TURN]
    state[STEER] = steer = state[STEER] + _clamp(push.steer_target_rad - state[STEER], STEER_RATE_RADPS * dt_s)
    magnitude, direction = abs(speed), _sign(speed)
    pace = max(magnitude, abs(lateral))  # a car that slides sideways is in motion too
    dynamic = min(max((pace - KINEMATIC_MPS) / (DYNAMIC_MPS - KINEMATIC_MPS), 0.0), 1.0)

    # Front tyres give their most however far the wheel is turned: slip beyond the peak does not count.
    over = max(magnitude, SLIP_SPEED_MPS)
    heading = math.atan((lateral + model.front_m * turn) / over)
    front_slip = _clamp(heading - steer * direction, model.peak_slip_rad)
    rear_steer = model.rear_steer_share * steer
    rear_slip = math.atan((lateral + model.rear_m * turn) / over) - rear_steer * direction
    along_front = push.drive_front - direction * push.brake_front
    along_rear = push.drive_rear - direction * push.brake_rear
    side_front = _tyre(model.front_tyre, front_slip, push.side_front, along_front / push.friction_front)
    side_rear = _tyre(model.rear_tyre, rear_slip, push.side_rear, along_rear / push.friction_rear)
    wheel = (heading - front_slip) * direction
    sin_steer, cos_steer = math.sin(wheel), math.cos(wheel)

    pull = (push.drive_front * cos_steer + push.drive_rear - dynamic * sin_steer * side_front) / model.mass_kg
    free = speed + dt_s * (
        pull - model.drag_per_m * speed * magnitude + push.grade_forward_mps2 + dynamic * turn * lateral
    )
    stop = dt_s * ((push.brake_front * cos_steer + push.brake_rear) / model.mass_kg + push.resistance_mps2)
    state[FORWARD] = forward = free - _clamp(free, stop)
    state[ACCEL] = (forward - speed) / dt_s - dynamic * turn * lateral

    # Sideways and turning: rolling without slip (kinematic) and sliding (dynamic), then their blend.
    front = side_front * cos_steer
    drift = math.tan(rear_steer)
    rolling = forward * (math.tan(steer) - drift) / model.wheelbase_m
    rolled = lateral + _clamp(forward * drift - rolling * model.rear_m - lateral, push.hold_mps2 * dt_s)
    rolled_turn = turn + _clamp(rolling - turn, push.hold_mps2 * 2.0 / model.wheelbase_m * dt_s)
    slid = lateral + dt_s * ((front + side_rear) / model.mass_kg + push.grade_right_mps2 - turn * speed)
    turning = (model.front_m * front + model.rear_m * side_rear) / model.yaw_inertia_kgm2 + push.steadied_radps2
    slid_turn = turn + dt_s * turning
    state[RIGHT] = right = rolled + dynamic * (slid - rolled)
    state[TURN] = rolled_turn + dynamic * (slid_turn - rolled_turn)

    state[YAW] = yaw = state[YAW] + dt_s * state[TURN]
    cos, sin = math.cos(yaw), math.sin(yaw)
    state[X] += dt_s * (forward * cos - right * sin)
    state[Y] += dt_s * (forward * sin + right * cos)
    return Tyres(along_front, along_rear, side_front, side_rear, front_slip, rear_slip)


@inner
def _damped(error: float, rate: float, dt_s: float) -> tuple[float, float]:
    """Error and rate after `dt_s` of a critically damped return to zero."""
    decay = math.exp(-SPRING_RADPS * dt_s)
    push = rate + SPRING_RADPS * error
    return (error + push * dt_s) * decay, (rate - SPRING_RADPS * dt_s * push) * decay


@inner
def _settle(slot: int, motion: Motion, plane: Plane, forward_m: float, right_m: float, dt_s: float) -> Upright:
    """The upright motion after `dt_s`.

    `forward_m` and `right_m` are how far the body moved over `plane` in that time.
    """
    z, climb = motion.location[slot, 2], motion.velocity[slot, 2]
    rise = plane.forward * forward_m + plane.right * right_m
    rise_rate, ground = rise / dt_s, plane.height_m + rise
    fall = climb - (GRAVITY_MPS2 if motion.gravity[slot] else 0.0) * dt_s
    error, rate = _damped(z - plane.height_m, climb - rise_rate, dt_s)
    if plane.is_touched and rise_rate + rate >= fall:
        z, climb = ground + error, rise_rate + rate
    else:
        z, climb = z + (climb + fall) / 2 * dt_s, fall
    if plane.is_there and z < ground - BUMP_M:
        z, climb = ground - BUMP_M, max(climb, rise_rate)
    pitch, roll = math.radians(motion.rotation_deg[slot, PITCH_DEG]), math.radians(motion.rotation_deg[slot, ROLL_DEG])
    if not plane.is_touched:
        return Upright(z, climb, pitch, roll, 0.0, 0.0)
    to_pitch, to_roll = math.atan(plane.forward), -math.atan(plane.right)
    pitch, pitch_rate = _damped(pitch - to_pitch, motion.tilt_rate[slot, PITCH_RATE], dt_s)
    roll, roll_rate = _damped(roll - to_roll, motion.tilt_rate[slot, ROLL_RATE], dt_s)
    return Upright(z, climb, pitch + to_pitch, roll + to_roll, pitch_rate, roll_rate)


@inner
def _write_tyres(slot: int, model: Any, motion: Motion, state: Float, push: Push, tyres: Tyres, grip: float) -> None:
    """Write each wheel's load, forces, slip and spin from the axles' forces; lateral acceleration shifts the load."""
    along = (tyres.along_front_n, tyres.along_front_n, tyres.along_rear_n, tyres.along_rear_n)
    side = (tyres.side_front_n, tyres.side_front_n, tyres.side_rear_n, tyres.side_rear_n)
    angle = (tyres.slip_front_rad, tyres.slip_front_rad, tyres.slip_rear_rad, tyres.slip_rear_rad)
    limit = (push.friction_front, push.friction_front, push.friction_rear, push.friction_rear)
    lateral_n = tyres.side_front_n + tyres.side_rear_n
    for wheel in range(4):
        axle = FRONT if _FORE[wheel] else REAR
        share = model.front_load if _FORE[wheel] else model.rear_load
        gripped = max(grip * motion.axle_friction[slot, axle], 1e-6)
        load = max(limit[wheel] / gripped / 2 - _SIDE[wheel] * share * lateral_n * model.side_transfer_m, 0.0)
        slip = _clamp(along[wheel] / 2 / (SLIP_STIFFNESS * max(limit[wheel] / 2, 1.0)), 1.0)
        motion.wheels[slot, wheel, NORMAL_N] = load
        motion.wheels[slot, wheel, FORWARD_N] = along[wheel] / 2
        motion.wheels[slot, wheel, RIGHT_N] = side[wheel] / 2
        motion.wheels[slot, wheel, SLIP_RATIO] = slip
        motion.wheels[slot, wheel, SLIP_ANGLE] = angle[wheel]
        radius_m = model.front_radius_m if _FORE[wheel] else model.rear_radius_m
        motion.wheels[slot, wheel, SPIN] = state[FORWARD] / radius_m * (1.0 + slip)


@inner
def _write_back(slot: int, model: Any, motion: Motion, state: Float, upright: Upright, dt_s: float) -> None:
    """Write `state` and `upright` to the arrays; accelerations are changes over the step."""
    pitch_rate, roll_rate = upright.pitch_rate_radps, upright.roll_rate_radps
    cos, sin = math.cos(state[YAW]), math.sin(state[YAW])
    velocity = (state[FORWARD] * cos - state[RIGHT] * sin, state[FORWARD] * sin + state[RIGHT] * cos, upright.climb_mps)
    place = (state[X], state[Y], upright.z_m)
    # A positive pitch or roll turns against the sense of its axis in this frame; a positive yaw turns with it.
    turn = (
        math.degrees(pitch_rate * sin - roll_rate * cos),
        math.degrees(-roll_rate * sin - pitch_rate * cos),
        math.degrees(state[TURN]),
    )
    for axis in range(3):
        motion.acceleration[slot, axis] = (velocity[axis] - motion.velocity[slot, axis]) / dt_s
        motion.velocity[slot, axis] = velocity[axis]
        motion.location[slot, axis] = place[axis]
        change = turn[axis] - motion.angular_velocity_degps[slot, axis]
        motion.angular_acceleration_degps2[slot, axis] = change / dt_s
        motion.angular_velocity_degps[slot, axis] = turn[axis]
    yaw = (state[YAW] + math.pi) % (2 * math.pi) - math.pi
    motion.rotation_deg[slot, PITCH_DEG] = math.degrees(upright.pitch_rad)
    motion.rotation_deg[slot, YAW_DEG] = math.degrees(yaw)
    motion.rotation_deg[slot, ROLL_DEG] = math.degrees(upright.roll_rad)
    motion.tilt_rate[slot, PITCH_RATE], motion.tilt_rate[slot, ROLL_RATE] = pitch_rate, roll_rate
    motion.steer_rad[slot], motion.forward_accel[slot] = state[STEER], state[ACCEL]
    phase = motion.wheel_phase_rad[slot] + state[FORWARD] * dt_s / model.wheel_radius_m
    motion.wheel_phase_rad[slot] = phase % (2 * math.pi)


@compiled
def move(
    slots: NDArray[np.intp], bank: NDArray[np.void], motion: Motion, ground_z: Float, wet_share: Float,
    dt_s: float, count: int,
) -> None:  # fmt: skip
    """Advance the vehicles in `slots` (n,) by `dt_s` in `count` sub-steps.

    `ground_z` (n, 5) is the ground's height at `road_kernel.wheel_points`, NaN for none. `wet_share` (n,) is wet over
    dry friction of the road.
    """
    state = np.empty(8)
    for k in range(len(slots)):
        slot = slots[k]
        model = bank[slot]
        yaw = math.radians(motion.rotation_deg[slot, YAW_DEG])
        cos, sin = math.cos(yaw), math.sin(yaw)
        x, y = motion.location[slot, 0], motion.location[slot, 1]
        vx, vy = motion.velocity[slot, 0], motion.velocity[slot, 1]
        state[YAW] = yaw
        state[FORWARD], state[RIGHT] = vx * cos + vy * sin, vy * cos - vx * sin
        state[TURN] = math.radians(motion.angular_velocity_degps[slot, 2])
        # The state describes the centre of mass.
        state[X], state[Y] = x + model.centre_m * cos, y + model.centre_m * sin
        state[RIGHT] += state[TURN] * model.centre_m
        state[STEER], state[ACCEL] = motion.steer_rad[slot], motion.forward_accel[slot]
        plane = _footing(ground_z[k], motion.location[slot, 2], model)
        wet = 1.0 - model.feels_water * (1.0 - wet_share[k])
        grip = DRY_FRICTION * wet * model.grip * motion.friction[slot] * motion.friction_scale[slot]
        push = _actuate(slot, model, motion, state, plane, grip)
        is_held = motion.held[slot, IS_HELD] != 0.0
        if is_held:
            state[FORWARD] = motion.held[slot, HELD_FORWARD]
            state[RIGHT] = motion.held[slot, HELD_RIGHT] + state[TURN] * model.centre_m
        tyres = Tyres(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for _ in range(count):
            tyres = _advance(state, model, push, dt_s / count)
            if is_held:
                state[FORWARD] = motion.held[slot, HELD_FORWARD]
                state[RIGHT] = motion.held[slot, HELD_RIGHT] + state[TURN] * model.centre_m
        state[X] -= model.centre_m * math.cos(state[YAW])
        state[Y] -= model.centre_m * math.sin(state[YAW])
        state[RIGHT] -= state[TURN] * model.centre_m
        dx, dy = state[X] - x, state[Y] - y
        upright = _settle(slot, motion, plane, dx * cos + dy * sin, dy * cos - dx * sin, dt_s)
        _write_tyres(slot, model, motion, state, push, tyres, grip)
        _write_back(slot, model, motion, state, upright, dt_s)
