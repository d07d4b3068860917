"""Engine, clutch and gear box as VehiclePhysicsControl describes them, and each model's defaults.

The defaults follow from a model's power, its largest driving force and its top speed. The torque curve has the shape of
the model's kind of engine and the stated peak power. First gear gives the largest force, top gear reaches the top speed
at the engine's highest speed, and the gears between are in geometric progression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from embedded_carla.types import Float, SemanticTag, VehicleSpec

TORQUE_POINTS = 128  # of the torque table that the physics reads, evenly spaced up to the highest engine speed
MAX_GEARS = 32


@dataclass(frozen=True, slots=True)
class Gear:
    """A gear; an automatic leaves it at the shares `down` and `up` of the highest engine speed at full load."""

    ratio: float
    down: float
    up: float


@dataclass(frozen=True, slots=True)
class Drivetrain:
    """Everything from the pedal to the driven wheels. The damping rates are the engine's losses, N m s/rad.

    `torque_curve` has points (engine speed in rpm, N m), at rising speeds.
    """

    torque_curve: tuple[tuple[float, float], ...]
    max_rpm: float
    inertia_kgm2: float
    damping_full: float  # at full throttle
    damping_closed: float  # throttle closed, in gear
    damping_neutral: float  # throttle closed, in neutral
    is_automatic: bool
    switch_time_s: float
    clutch_strength: float
    final_ratio: float
    gears: tuple[Gear, ...]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of engine; `shape` is its torque curve: (share of the highest speed, share of the largest torque)."""

    max_rpm: float
    gears: int
    final_ratio: float
    switch_time_s: float
    shape: tuple[tuple[float, float], ...]
    loss: float  # share of the torque at peak power that is lost in engine and gears
    drag: float  # the same with the throttle closed
    first: float = 1.0  # force of first gear over the largest force that the vehicle can use


_PETROL_SHAPE = ((0.0, 0.6), (0.15, 0.75), (0.3, 0.93), (0.5, 1.0), (0.7, 0.98), (0.85, 0.9), (1.0, 0.74))
_DIESEL_SHAPE = ((0.0, 0.6), (0.25, 0.85), (0.4, 1.0), (0.65, 1.0), (0.8, 0.88), (1.0, 0.66))
_PETROL = _Kind(6500.0, 6, 4.0, 0.2, _PETROL_SHAPE, 0.13, 0.35)
_SMALL_PETROL = _Kind(6200.0, 5, 4.0, 0.5, _PETROL_SHAPE, 0.2, 0.35)
_FOUR_GEARS = _Kind(5000.0, 4, 5.4, 0.6, _PETROL_SHAPE, 0.18, 0.35)
_DIESEL = _Kind(4400.0, 6, 4.0, 0.4, _DIESEL_SHAPE, 0.15, 0.3)
_LORRY = _Kind(2600.0, 8, 3.7, 0.7, _DIESEL_SHAPE, 0.15, 0.25)
_HEAVY = _Kind(2300.0, 12, 3.1, 0.6, _DIESEL_SHAPE, 0.15, 0.25)
_CONVERTER = _Kind(2600.0, 6, 4.1, 0.3, _DIESEL_SHAPE, 0.18, 0.25)
_CRUISER = _Kind(5600.0, 6, 3.0, 0.25, _PETROL_SHAPE, 0.12, 0.35)
_SPORT_BIKE = _Kind(13000.0, 6, 3.0, 0.15, _PETROL_SHAPE, 0.12, 0.35, 1.8)
_MOTOR = _Kind(14000.0, 1, 9.0, 0.0, (), 0.1, 0.12)  # electric, or a belt or planetary set instead of gears
_LEGS = _Kind(300.0, 1, 1.0, 0.0, (), 0.03, 0.0)

_BY_MODEL = {
    "vehicle.audi.etron": _MOTOR,
    "vehicle.tesla.model3": _MOTOR,
    "vehicle.tesla.cybertruck": _MOTOR,
    "vehicle.micro.microlino": _MOTOR,
    "vehicle.toyota.prius": _MOTOR,
    "vehicle.vespa.zx125": _MOTOR,
    "vehicle.volkswagen.t2": _FOUR_GEARS,
    "vehicle.volkswagen.t2_2021": _FOUR_GEARS,
    "vehicle.carlamotors.european_hgv": _HEAVY,
    "vehicle.carlamotors.firetruck": _CONVERTER,
    "vehicle.harley-davidson.low_rider": _CRUISER,
}
_BY_TAG = {
    SemanticTag.TRUCK: _LORRY,
    SemanticTag.BUS: _CONVERTER,
    SemanticTag.MOTORCYCLE: _SPORT_BIKE,
    SemanticTag.BICYCLE: _LEGS,
}
_SMALL_W = 95e3
_SHIFT_DOWN, _SHIFT_UP = 0.5, 0.95
_INERTIA_S2 = 0.0007  # inertia of flywheel and crankshaft, kg m^2 per N m of largest torque
_CLUTCH_STRENGTH = 10.0  # CARLA's value; the clutch here slips only when pulling away


def _kind_of(spec: VehicleSpec) -> _Kind:
    if spec.type_id in _BY_MODEL:
        return _BY_MODEL[spec.type_id]
    if spec.shape == "van":
        return _DIESEL
    return _BY_TAG.get(spec.tag, _SMALL_PETROL if spec.power_w < _SMALL_W else _PETROL)


def drivetrain_of(spec: VehicleSpec) -> Drivetrain:
    """The model's drivetrain before a client changes it."""
    kind = _kind_of(spec)
    top_radps = kind.max_rpm * math.tau / 60.0
    last = top_radps * spec.wheel_radius_m / spec.top_speed_mps  # engine over wheel
    if kind.shape:
        at, share = np.array(kind.shape).T
        grid = np.linspace(0.0, 1.0, 201)
        rated = grid[int(np.argmax(grid * np.interp(grid, at, share)))] * top_radps
        peak_nm = spec.power_w / (rated * float(np.interp(rated / top_radps, at, share)))
    else:
        # An electric motor: the largest force up to the speed at which it takes all its power, then that power.
        rated = top_radps * min(spec.power_w / spec.force_max_n / spec.top_speed_mps, 1.0)
        peak_nm = spec.power_w / rated
        at = np.append(np.linspace(0.0, 1.0, 41), rated / top_radps)
        at.sort()
        share = np.minimum(rated / np.maximum(at * top_radps, 1e-9), 1.0)
    # A motor's rated power holds up to its highest speed.
    loss_at = rated if kind.shape else top_radps
    damping = kind.loss * spec.power_w / loss_at**2
    first = max(kind.first * spec.force_max_n * spec.wheel_radius_m / peak_nm, last)
    steps = 0.0 if kind.gears == 1 else 1.0 / (kind.gears - 1)
    ratios = [first * (last / first) ** (i * steps) for i in range(kind.gears)] if steps else [last]
    return Drivetrain(
        tuple((float(a * kind.max_rpm), float(s * peak_nm)) for a, s in zip(at, share, strict=True)),
        kind.max_rpm,
        _INERTIA_S2 * peak_nm,
        damping,
        max(kind.drag * spec.power_w / loss_at**2, damping),
        damping,
        True,
        kind.switch_time_s,
        _CLUTCH_STRENGTH,
        kind.final_ratio,
        tuple(Gear(ratio / kind.final_ratio, _SHIFT_DOWN, _SHIFT_UP) for ratio in ratios),
    )


def torque_table(drivetrain: Drivetrain) -> Float:
    """Torque (TORQUE_POINTS,) in N m at even steps from standstill to the highest speed.

    The torque is constant beyond the ends of the curve.
    """
    rpm, torque_nm = np.array(drivetrain.torque_curve).T
    table: Float = np.interp(np.linspace(0.0, drivetrain.max_rpm, TORQUE_POINTS), rpm, torque_nm)
    return table
