"""Engines and gear boxes over one time step: compiled loops over vehicles.

The engine is coupled to the wheels through its gear; below `_LAUNCH_SHARE` of its top speed the clutch slips, as when a
car pulls away. The engine's inertia accelerates with the vehicle, so part of its torque turns the engine itself
(Gillespie, *Fundamentals of Vehicle Dynamics*, ch. 2). Losses are a damping that varies with the pedal between two
rates, as in PhysX. An automatic gear box shifts up and down at shares of the top engine speed; the less throttle the
driver gives, the lower these shares are.

No engine turns backwards. When gravity or a push moves a vehicle against its gear, the closed clutch holds it back as
long as nobody gives throttle; before its first throttle the vehicle rolls as in neutral.

A vehicle at rest stays at rest. In CARLA the wheels of a standing vehicle stick to the ground, on any hill, in any gear
and without brakes, from its spawning until somebody gives throttle in gear (PhysX 3.4, sticky tyre friction).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.types import Float

THROTTLE, MANUAL, SELECTED = 0, 4, 5
"""Columns of a vehicle's inputs that are read here; `kernel.py` reads the others.

`MANUAL` is 1 for a manual gear box. `SELECTED` is the gear of a manual box; for an automatic it is 1 or, to drive
backwards, -1."""

RATIO, DOWN, UP = range(3)
"""Columns of `Engines.gears`.

`RATIO` is engine speed over wheel speed. `DOWN` and `UP` are the engine speeds at which the gear box shifts, as
fractions of the engine's top speed."""

DRIVE_RECORD = np.dtype(
    [
        (name, np.float64)
        for name in (
            "max_radps",
            "inertia_kgm2",
            "damping_full",
            "damping_closed",
            "is_automatic",
            "switch_time_s",
            "gears",  # how many
            "pedal_free",  # throttle up to which the engine does not drive
        )
    ]
)

PITCH_DEG, YAW_DEG = range(2)
"""Columns of `rotation_deg`; the third, roll, is not used here."""

GRAVITY_MPS2 = 9.81
REVERSE_TOP_MPS = 12.0
_LAUNCH_SHARE = 0.35  # of the top engine speed: below it the clutch slips at full throttle
_IDLE_SHARE = 0.12
_LIMITER_SHARE = 0.02  # of the top engine speed: the limiter takes the torque away over this range below the top
_ECONOMY = 0.55  # with no throttle an automatic shifts at this share of its full-load speeds
_DEMAND_LAG_S = 0.7  # time constant with which an automatic follows the pedal
_DRIVEN = 1e-9  # least demand of an automatic once it has had throttle
_DWELL_S = 0.6  # least time from the end of one gear change to the next
_STANDING_MPS = 1e-6
_STICKING = 2.0  # sticking force over the weight: more than any tyre can hold, so the tyre friction limits it
_BACK_SHARE = 0.9  # no downshift brings the engine closer than this to shifting up again


class Engines(NamedTuple):
    """Arrays by slot, capacity N."""

    record: NDArray[np.void]  # (N,) DRIVE_RECORD
    torque_nm: Float  # (N, K) at even steps up to the highest speed
    gears: Float  # (N, G + 1, 3) engine over wheel speed, share to shift down, share to shift up; row 0 is reverse
    gear: NDArray[np.int32]  # (N,)
    shift_s: Float  # (N,) time to the end of a change of gear; runs on below 0
    demand: Float  # (N,) throttle as the automatic sees it; 0 before the first
    radps: Float  # (N,) speed of the engine
    force_n: Float  # (N,) at the driven wheels, forward positive
    drag_n: Float  # (N,) >= 0, opposes motion and holds at rest


@inner
def _shift(slot: int, engines: Engines, inputs: Float, wheel_radps: float, dt_s: float) -> None:
    """Choose the gear and advance the timer of a gear change in progress."""
    record = engines.record[slot]
    count, gear = int(record.gears), engines.gear[slot]
    least = _DRIVEN if engines.demand[slot] > 0.0 else 0.0
    engines.demand[slot] += (inputs[THROTTLE] - engines.demand[slot]) * min(dt_s / _DEMAND_LAG_S, 1.0)
    engines.demand[slot] = max(engines.demand[slot], least)
    engines.shift_s[slot] = max(engines.shift_s[slot] - dt_s, -_DWELL_S)
    selected = int(inputs[SELECTED])
    if inputs[MANUAL] > 0.0 or selected < 0:
        engines.gear[slot] = min(max(selected, -1), count)
        engines.shift_s[slot] = -_DWELL_S
        return
    if gear < 1 or gear > count:
        engines.gear[slot], engines.shift_s[slot] = min(max(gear, 1), count), -_DWELL_S
        return
    if record.is_automatic == 0.0 or engines.shift_s[slot] > 0.0:
        return
    ease = _ECONOMY + (1.0 - _ECONOMY) * engines.demand[slot]
    share = wheel_radps / record.max_radps
    is_racing = share * engines.gears[slot, gear, RATIO] > 1.0
    if engines.shift_s[slot] > -_DWELL_S and not is_racing:
        return
    chosen = gear
    while chosen < count and share * engines.gears[slot, chosen, RATIO] > engines.gears[slot, chosen, UP] * ease:
        chosen += 1
    while chosen > 1 and share * engines.gears[slot, chosen, RATIO] < engines.gears[slot, chosen, DOWN] * ease:
        back = share * engines.gears[slot, chosen - 1, RATIO]
        if back > _BACK_SHARE * engines.gears[slot, chosen - 1, UP] * ease:
            break
        chosen -= 1
    if chosen != gear:
        engines.gear[slot], engines.shift_s[slot] = chosen, record.switch_time_s


@inner
def _torque_nm(slot: int, engines: Engines, radps: float) -> float:
    """Engine torque at full throttle, N m; zero beyond the top speed."""
    top = engines.record[slot].max_radps
    at = min(radps / top, 1.0) * (engines.torque_nm.shape[1] - 1)
    k = min(int(at), engines.torque_nm.shape[1] - 2)
    low, high = engines.torque_nm[slot, k], engines.torque_nm[slot, k + 1]
    left = min(max((top - radps) / (_LIMITER_SHARE * top), 0.0), 1.0)
    return float((low + (at - k) * (high - low)) * left)


@inner
def _resistance_n(model: Any, forward_mps: float, pitch_rad: float) -> float:
    """Air drag, rolling resistance and slope force, N, backward positive; the engine's inertia bears part of them."""
    rolling = model.rolling * GRAVITY_MPS2 * ((forward_mps > 0.0) - (forward_mps < 0.0))
    air = model.drag_per_m * forward_mps * abs(forward_mps)
    return float(model.mass_kg * (air + rolling + GRAVITY_MPS2 * math.sin(pitch_rad)))


@compiled
def run_engines(
    slots: NDArray[np.intp], bank: NDArray[np.void], engines: Engines, inputs: Float, velocity: Float,
    rotation_deg: Float, dt_s: float,
) -> None:  # fmt: skip
    """Fill `force_n`, `drag_n`, `radps` and `gear` for the coming step of `dt_s`."""
    for n in range(len(slots)):
        slot = slots[n]
        model, record = bank[slot], engines.record[slot]
        pedal = max(inputs[slot, THROTTLE] - record.pedal_free, 0.0) / (1.0 - record.pedal_free)
        yaw = math.radians(rotation_deg[slot, YAW_DEG])
        forward = velocity[slot, 0] * math.cos(yaw) + velocity[slot, 1] * math.sin(yaw)
        _shift(slot, engines, inputs[slot], abs(forward) / model.wheel_radius_m, dt_s)
        gear = engines.gear[slot]
        is_stuck = abs(forward) < _STANDING_MPS and (pedal == 0.0 or gear == 0)
        engines.force_n[slot] = 0.0
        engines.drag_n[slot] = _STICKING * model.mass_kg * GRAVITY_MPS2 if is_stuck else 0.0
        if gear == 0:
            engines.radps[slot] = record.max_radps * (_IDLE_SHARE + (1.0 - _IDLE_SHARE) * pedal)
            continue
        per_m = engines.gears[slot, max(gear, 0), RATIO] / model.wheel_radius_m  # engine radians per metre travelled
        turn = per_m * forward
        launch = record.max_radps * max(_LAUNCH_SHARE * pedal, _IDLE_SHARE)
        engines.radps[slot] = min(max(turn, launch), record.max_radps)
        if gear < 0 and forward < -REVERSE_TOP_MPS:
            pedal = 0.0
        closed = min(max(1.0 - engines.shift_s[slot] / dt_s, 0.0), 1.0)  # part of the step with the clutch closed
        damping = record.damping_closed + (record.damping_full - record.damping_closed) * pedal
        push = pedal * _torque_nm(slot, engines, max(turn, launch)) * per_m
        drag = damping * min(max(turn, 0.0), record.max_radps) * abs(per_m)
        if turn < 0.0 and pedal == 0.0 and engines.demand[slot] > 0.0:
            drag = _torque_nm(slot, engines, launch) * abs(per_m)
        turning = record.inertia_kgm2 * per_m * per_m * closed if turn >= launch else 0.0
        share = model.mass_kg / (model.mass_kg + turning)
        carried = (1.0 - share) * _resistance_n(model, forward, math.radians(rotation_deg[slot, PITCH_DEG]))
        engines.force_n[slot] = share * closed * push + carried
        engines.drag_n[slot] = max(share * closed * drag, engines.drag_n[slot])
