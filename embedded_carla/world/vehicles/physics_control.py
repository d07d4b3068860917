"""Conversion between CARLA's VehiclePhysicsControl and the parameters of this server's physics.

These fields take effect: mass, drag, centre of mass, steering angles and curve, brake and hand brake torques, radii,
tyre friction, the torque curve, top engine speed, gear box, inertia and damping of the engine. The others (suspension
and tyre stiffness, wheel damping, clutch strength, sweeping wheels) are stored and returned, so that a script reads
back what it set.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.types import Transform, VehicleSpec
from embedded_carla.wire import codec
from embedded_carla.world.vehicles.bank import Axle, Chassis, chassis_of
from embedded_carla.world.vehicles.drivetrain import MAX_GEARS, Drivetrain, Gear, drivetrain_of
from embedded_carla.world.vehicles.fleet import STEER_CURVE, STEER_POINTS
from embedded_carla.world.vehicles.handling import STEER_SHARE

NOMINAL_FRICTION = 3.5  # CARLA's usual tyre friction; it stands for the vehicle class's grip on a dry road
STEER_MOST_DEG = 85.0
_FRONTAL_SHARE = 0.85  # frontal area over width times height
_CENTRE_MOST = 0.45  # of the wheelbase, from its middle: the centre of mass stays between the axles
_WHEEL_DAMPING, _LATERAL_LOAD, _LATERAL_STIFFNESS, _LONG_STIFFNESS = 0.25, 3.0, 20.0, 3000.0


def _frontal_area_m2(spec: VehicleSpec) -> float:
    return _FRONTAL_SHARE * 4.0 * spec.extent[1] * spec.extent[2]


def to_wire(spec: VehicleSpec, pose: Transform, applied: Any) -> Any:
    """Answer to `get_physics_control`: the values `applied` last, else the model's own."""
    places = _wheel_places(spec, pose)
    if applied is not None:
        wheels = [(*wheel[:9], place) for wheel, place in zip(applied[15], _as_many(places, applied[15]), strict=True)]
        return (*applied[:15], wheels, applied[16])
    chassis, d = chassis_of(spec), drivetrain_of(spec)
    wheels = [
        (
            NOMINAL_FRICTION, _WHEEL_DAMPING, axle.steer_max_deg / STEER_SHARE, 100 * axle.radius_m, axle.brake_nm / 2,
            axle.hand_brake_nm / 2, _LATERAL_LOAD, _LATERAL_STIFFNESS, _LONG_STIFFNESS, place,
        )
        for axle, place in zip((chassis.front, chassis.front, chassis.rear, chassis.rear), places, strict=True)
    ]  # fmt: skip
    gears = [(gear.ratio, gear.down, gear.up) for gear in d.gears]
    return (
        list(d.torque_curve), d.max_rpm, d.inertia_kgm2, d.damping_full, d.damping_closed, d.damping_neutral,
        d.is_automatic, d.switch_time_s, d.clutch_strength, d.final_ratio, gears, spec.mass_kg,
        spec.drag_area_m2 / _frontal_area_m2(spec), (0.0, 0.0, 0.0), list(STEER_CURVE), wheels, True,
    )  # fmt: skip


def _wheel_places(spec: VehicleSpec, pose: Transform) -> list[tuple[float, float, float]]:
    """World positions of the wheels in centimetres: front left, front right, rear left, rear right."""
    half, rear_x = spec.track_m / 2, spec.rear_axle_x_m
    corners = [(x, y) for x in (rear_x + spec.wheelbase_m, rear_x) for y in (-half, half)]
    places = (pose @ Transform(x, y, spec.wheel_radius_m) for x, y in corners)
    return [(100 * place.x, 100 * place.y, 100 * place.z) for place in places]


def _as_many(places: list[tuple[float, float, float]], wheels: Any) -> list[Any]:
    """The positions of the four wheels, or the client's own if it gave another number of wheels."""
    return list(places) if len(wheels) == len(places) else [wheel[9] for wheel in wheels]


def changed_spec(spec: VehicleSpec, control: Any) -> VehicleSpec:
    """`spec` with the mass, drag and wheels of `control`. Raises CommandError for an impossible value."""
    chassis = changed_chassis(spec, control)
    front, rear = chassis.front, chassis.rear
    mass, drag = codec.number(control[11], "mass"), codec.number(control[12], "drag coefficient")
    steer = max(front.steer_max_deg, rear.steer_max_deg)
    for name, value in (("mass", mass), ("max_steer_angle", steer)):
        if value <= 0.0:
            raise CommandError(f"physics control: {name} is {value:g}; it must be more than 0")
    return replace(
        spec,
        mass_kg=mass,
        drag_area_m2=max(drag, 0.0) * _frontal_area_m2(spec),
        steer_max_deg=steer,
        wheel_radius_m=(front.radius_m + rear.radius_m) / 2,
        brake_force_max_n=front.brake_nm / front.radius_m + rear.brake_nm / rear.radius_m,
    )


def changed_chassis(spec: VehicleSpec, control: Any) -> Chassis:
    """Axles and centre of mass that `control` describes; the first half of its wheels is in front."""
    wheels = [codec.items(w, 10, "wheel") for w in codec.items(control[15], 2, "wheels")]
    middle = len(wheels) // 2
    forward_m, _, up_m = control[13]
    most_m = _CENTRE_MOST * spec.wheelbase_m
    centre_m = spec.rear_axle_x_m + spec.wheelbase_m / 2 + min(max(codec.number(forward_m, "x"), -most_m), most_m)
    return Chassis(_axle(wheels[:middle]), _axle(wheels[middle:]), centre_m, codec.number(up_m, "z"))


def _axle(wheels: list[Any]) -> Axle:
    def total(place: int, name: str) -> float:
        return sum(codec.number(wheel[place], name) for wheel in wheels)

    radius_m = total(3, "wheel radius") / 100 / len(wheels)
    if radius_m <= 0.0:
        raise CommandError(f"physics control: wheel radius is {100 * radius_m:g}; it must be more than 0")
    return Axle(
        STEER_SHARE * min(max(total(2, "max_steer_angle") / len(wheels), 0.0), STEER_MOST_DEG),
        radius_m,
        max(total(4, "max_brake_torque"), 0.0),
        max(total(5, "max_handbrake_torque"), 0.0),
    )


def axle_friction(control: Any) -> tuple[float, float]:
    """Mean tyre friction of the front and the rear wheels, relative to `NOMINAL_FRICTION`."""
    numbers = [codec.number(wheel[0], "tire_friction") for wheel in control[15]]
    front, rear = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    means = (sum(some) / len(some) / NOMINAL_FRICTION for some in (front, rear))
    return max(next(means), 0.0), max(next(means), 0.0)


def steering_curve(control: Any) -> list[tuple[float, float]]:
    """Points (km/h, share of the largest steering angle). Raises CommandError unless the speeds rise."""
    points = _points(control[14], "steering curve")
    if len(points) > STEER_POINTS:
        raise CommandError(f"physics control: the steering curve has {len(points)} points, at most {STEER_POINTS} fit")
    return points


def drivetrain(control: Any) -> Drivetrain:
    """Engine and gear box that `control` describes. Raises CommandError for one that could not turn."""
    curve = _points(control[0], "torque curve")
    gears = [Gear(*(codec.number(v, "gear") for v in codec.items(row, 3, "gear")[:3])) for row in control[10]]
    if not gears or len(gears) > MAX_GEARS:
        raise CommandError(f"physics control: {len(gears)} forward gears; there must be 1 to {MAX_GEARS}")
    max_rpm = codec.number(control[1], "max_rpm")
    if max_rpm <= 0.0:
        raise CommandError(f"physics control: max_rpm is {max_rpm:g}; it must be more than 0")
    inertia, full, closed, neutral = (max(codec.number(v, "engine damping"), 0.0) for v in control[2:6])
    return Drivetrain(
        tuple(curve), max_rpm, inertia, full, closed, neutral, bool(control[6]),
        max(codec.number(control[7], "gear_switch_time"), 0.0), codec.number(control[8], "clutch_strength"),
        codec.number(control[9], "final_ratio"), tuple(gears),
    )  # fmt: skip


def _points(rows: Any, what: str) -> list[tuple[float, float]]:
    """Points of a curve. Raises CommandError if there are none or if their first coordinates do not rise."""
    cells = [codec.items(row, 2, what) for row in codec.items(rows, 1, what)]
    points = [(codec.number(row[0], what), codec.number(row[1], what)) for row in cells]
    if any(b[0] <= a[0] for a, b in pairwise(points)):
        raise CommandError(f"physics control: the {what} needs points whose first coordinates rise")
    return points
