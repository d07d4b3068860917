"""The planar model against closed forms, and the classes of vehicles against what real ones do."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import RegularGridInterpolator

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.types import Transform, VehicleControl, VehicleSpec
from embedded_carla.world.vehicles import kernel, road_kernel
from embedded_carla.world.vehicles.bank import AIR_DENSITY_KGPM3, LATERAL_SHARE
from embedded_carla.world.vehicles.classes import traits_of
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.vehicles.kernel import GRAVITY_MPS2
from embedded_carla.world.vehicles.motion import SLIP_ANGLE
from tests.embedded_carla.world.analytic_ground import SEDAN, flat

DT = 0.05
ROLLING = traits_of(SEDAN).rolling_resistance
NEUTRAL = VehicleControl(manual_gear_shift=True, gear=0)
SPECS = {b.type_id: b.vehicle for b in vehicle_blueprints() if b.vehicle is not None}


def one(spec: VehicleSpec = SEDAN, speed_mps: float = 0.0, yaw_deg: float = 0.0) -> VehicleFleet:
    fleet = VehicleFleet(flat())
    fleet.add(spec, Transform(yaw_deg=yaw_deg))
    yaw = math.radians(yaw_deg)
    fleet.set_velocity(0, (speed_mps * math.cos(yaw), speed_mps * math.sin(yaw), 0.0))
    return fleet


def speed(fleet: VehicleFleet) -> float:
    return float(np.hypot(*fleet.velocity[0, :2]))


def run(fleet: VehicleFleet, seconds: float, wetness: float = 0.0) -> None:
    for _ in range(round(seconds / DT)):
        fleet.step(DT, wetness)


def stopping_distance_m(
    spec: VehicleSpec,
    speed_mps: float,
    wetness: float = 0.0,
    deposits: float = 0.0,
    control: VehicleControl = VehicleControl(brake=1.0),  # noqa: B008
) -> float:
    fleet = one(spec, speed_mps)
    fleet.set_control(0, control)
    for _ in range(600):
        fleet.step(DT, wetness, deposits)
        if speed(fleet) == 0.0:
            return float(fleet.location[0, 0])
    raise AssertionError("never stopped")


def seconds_to(spec: VehicleSpec, speed_mps: float) -> float:
    fleet = one(spec)
    fleet.set_control(0, VehicleControl(throttle=1.0))
    for i in range(1, 2000):
        fleet.step(DT, 0.0)
        if speed(fleet) >= speed_mps:
            return i * DT
    return math.inf


@pytest.mark.parametrize(("wetness", "deposits"), [(0.0, 0.0), (100.0, 0.0), (50.0, 60.0), (100.0, 100.0)])
def test_full_braking_takes_the_distance_that_friction_gives(wetness: float, deposits: float) -> None:
    """The integral of v / (mu(v) g + rolling), mu from the table of water depth and speed."""
    v, depth_mm = 30.0, 0.2 * wetness / 100 + 0.8 * deposits / 100
    share = RegularGridInterpolator((road_kernel.WATER_MM, road_kernel.WATER_KMH), road_kernel.WET_FRICTION)
    strong = replace(SEDAN, drag_area_m2=0.0, brake_force_max_n=1e6)

    def distance_per_mps(v: float) -> float:
        return float(v / ((kernel.ABS_EFFICIENCY * share((depth_mm, 3.6 * v)) + ROLLING) * GRAVITY_MPS2))

    expected = quad(distance_per_mps, 0.0, v)[0]
    braking = replace(NEUTRAL, brake=1.0)
    assert stopping_distance_m(strong, v, wetness, deposits, braking) == pytest.approx(expected, rel=0.02)


def test_coasting_in_neutral_follows_the_closed_form() -> None:
    """dv/dt = -c - k v^2."""
    c = ROLLING * GRAVITY_MPS2
    k = 0.5 * AIR_DENSITY_KGPM3 * SEDAN.drag_area_m2 / SEDAN.mass_kg
    v0, seconds = 40.0, 20.0
    expected = math.sqrt(c / k) * math.tan(math.atan(v0 * math.sqrt(k / c)) - seconds * math.sqrt(c * k))
    fleet = one(speed_mps=v0)
    fleet.set_control(0, NEUTRAL)
    run(fleet, seconds)
    assert speed(fleet) == pytest.approx(expected, rel=2e-3)


def test_top_speed_is_kept() -> None:
    fleet = one(replace(SEDAN, top_speed_mps=15.0))
    fleet.set_control(0, VehicleControl(throttle=1.0))
    run(fleet, 30.0)
    assert 14.0 < speed(fleet) < 15.5


@pytest.mark.parametrize("steer", [-1.0, -0.4, 0.3, 1.0])
def test_slow_circle_has_the_radius_of_the_steering_geometry(steer: float) -> None:
    fleet = one()
    fleet.hold_velocity(0, None)
    fleet.set_control(0, VehicleControl(steer=steer, throttle=0.06))
    run(fleet, 3.0)
    xs = []
    for _ in range(400):
        speed_now = speed(fleet)
        fleet.set_control(0, VehicleControl(steer=steer, throttle=0.06 if speed_now < 0.9 else 0.0))
        fleet.step(DT, 0.0)
        xs.append(fleet.location[0, :2].copy())
    track = np.array(xs[-250:])
    # Least-squares circle.
    a = np.c_[2 * track, np.ones(len(track))]
    centre_and_rest = np.linalg.lstsq(a, (track**2).sum(axis=1), rcond=None)[0]
    radius = math.sqrt(centre_and_rest[2] + (centre_and_rest[:2] ** 2).sum())
    angle = abs(float(fleet.steer_rad[0]))
    rear_radius = SEDAN.wheelbase_m / math.tan(angle)
    assert speed(fleet) < 1.1
    assert radius == pytest.approx(math.hypot(rear_radius, SEDAN.rear_axle_x_m), rel=0.02)
    assert np.sign(fleet.angular_velocity_degps[0, 2]) == np.sign(steer)


def test_steering_right_turns_clockwise_seen_from_above() -> None:
    fleet = one(speed_mps=8.0)
    fleet.set_control(0, VehicleControl(steer=0.2, throttle=0.3))
    run(fleet, 2.0)
    assert fleet.location[0, 1] > 1.0  # y is to the right of x
    assert fleet.rotation_deg[0, 1] > 5.0


def test_reversing_with_right_steer_turns_anticlockwise() -> None:
    fleet = one()
    fleet.set_control(0, VehicleControl(steer=0.5, throttle=0.4, reverse=True))
    run(fleet, 3.0)
    assert fleet.location[0, 0] < -1.0
    assert fleet.rotation_deg[0, 1] < -5.0
    assert fleet.gear[0] == -1


def test_yaw_rate_of_a_fast_bend_shows_mild_understeer() -> None:
    fleet = one(speed_mps=20.0)
    steer = 0.03
    for _ in range(200):
        fleet.set_control(0, VehicleControl(steer=steer, throttle=0.25 if speed(fleet) < 20.0 else 0.0))
        fleet.step(DT, 0.0)
    v, rate = speed(fleet), math.radians(fleet.angular_velocity_degps[0, 2])
    neutral = v * math.tan(fleet.steer_rad[0]) / SEDAN.wheelbase_m
    assert 0.15 < v * rate / GRAVITY_MPS2 < 0.5
    assert 0.6 * neutral < rate < 0.97 * neutral


def test_lateral_acceleration_is_bounded_by_friction() -> None:
    most = 0.0
    for steer in np.linspace(0.05, 1.0, 12):
        fleet = one(speed_mps=22.0)
        fleet.set_control(0, VehicleControl(steer=float(steer), throttle=0.3))
        for _ in range(60):
            yaw = math.radians(fleet.rotation_deg[0, 1])
            fleet.step(DT, 0.0)
            aside = float(fleet.acceleration[0, :2] @ [-math.sin(yaw), math.cos(yaw)])
            most = max(most, abs(aside) / GRAVITY_MPS2)
            # Tyres 1 g; rolling, engine and air come on top.
            assert math.hypot(*fleet.acceleration[0, :2]) < 1.15 * GRAVITY_MPS2
    assert 0.8 < most < 0.93


def test_a_wet_road_carries_less_in_a_bend() -> None:
    def turned_deg(wetness: float, deposits: float) -> float:
        fleet = one(speed_mps=22.0)
        fleet.set_control(0, VehicleControl(steer=0.12, throttle=0.2))
        for _ in range(30):
            fleet.step(DT, wetness, deposits)
        return float(fleet.rotation_deg[0, 1])

    assert turned_deg(100.0, 0.0) < 0.9 * turned_deg(0.0, 0.0)
    assert turned_deg(100.0, 100.0) < 0.9 * turned_deg(100.0, 0.0)


def test_nothing_spins_however_the_driver_steers() -> None:
    """Full throttle, the wheels turned to a third of their range within four seconds: no rear slips by 25 degrees."""
    fleet = VehicleFleet(flat())
    for slot, spec in enumerate(SPECS.values()):
        fleet.add(spec, Transform(y=50.0 * slot))
        fleet.set_velocity(slot, (min(22.0, 0.7 * spec.top_speed_mps), 0.0, 0.0))
    most = np.zeros(len(SPECS))
    for i in range(240):
        for slot in range(len(SPECS)):
            fleet.set_control(slot, VehicleControl(throttle=1.0, steer=min(i * DT / 12.0, 0.35)))
        fleet.step(DT, 0.0)
        most = np.maximum(most, np.degrees(np.abs(fleet.wheels[: len(SPECS), 2, SLIP_ANGLE])))
    assert (most < 25.0).all(), dict(zip(SPECS, most.round(1), strict=True))


def test_understeer_follows_from_the_axles_tyres() -> None:
    """The front wheels turn beyond Ackermann's angle by the difference of the slips that the lateral force needs."""
    for angle_deg in (1.0, 1.5, 2.5):
        fleet = one(speed_mps=20.0)
        steer = math.radians(angle_deg) / (math.radians(SEDAN.steer_max_deg) * fleet.steer_share(0))
        for _ in range(160):
            throttle = min(max(0.22 + 0.3 * (20.0 - speed(fleet)), 0.0), 1.0)
            fleet.set_control(0, VehicleControl(steer=steer, throttle=throttle))
            fleet.step(DT, 0.0)
        rate = math.radians(fleet.angular_velocity_degps[0, 2])
        understeer = fleet.steer_rad[0] - math.atan(SEDAN.wheelbase_m * rate / speed(fleet))
        assert understeer == pytest.approx(understeer_rad(speed(fleet) * rate / GRAVITY_MPS2), rel=0.08)


def understeer_rad(lateral_g: float) -> float:
    """Front less rear slip from the Magic Formula, solved for the slip; loads of a car at rest."""
    traits = traits_of(SEDAN)
    slips = []
    for stiffness, share in zip(
        (traits.front_stiffness_per_rad, traits.rear_stiffness_per_rad), LATERAL_SHARE, strict=True
    ):
        b = stiffness / (kernel.SHAPE * share)
        slips.append(math.tan(math.asin(lateral_g / share) / kernel.SHAPE) / b)
    return slips[0] - slips[1]


@pytest.mark.parametrize("throttle", [0.0, 0.3, 1.0])
def test_braking_in_a_bend_keeps_within_the_friction_ellipse(throttle: float) -> None:
    fleet = one(speed_mps=25.0)
    fleet.set_control(0, VehicleControl(steer=0.1, brake=1.0, throttle=throttle))
    for _ in range(30):
        fleet.step(DT, 0.0)
        yaw = math.radians(fleet.rotation_deg[0, 1])
        forward = np.array([math.cos(yaw), math.sin(yaw)])
        along, across = fleet.acceleration[0, :2] @ forward, fleet.acceleration[0, :2] @ [-forward[1], forward[0]]
        # Drag, rolling and engine braking come on top of the tyres' part; the body turns a little within a step.
        used = (max(abs(along) - 0.9, 0.0) / GRAVITY_MPS2) ** 2 + (across / (max(LATERAL_SHARE) * GRAVITY_MPS2)) ** 2
        assert used < 1.1


def test_a_standing_car_stays_where_it_is() -> None:
    fleet = one(yaw_deg=30.0)
    fleet.set_control(0, VehicleControl(steer=1.0))
    run(fleet, 20.0)
    np.testing.assert_array_equal(fleet.location[0], 0.0)
    assert fleet.rotation_deg[0, 1] == pytest.approx(30.0, abs=1e-12)
    np.testing.assert_array_equal(fleet.velocity[0], 0.0)


@pytest.mark.parametrize(
    ("type_id", "low_s", "high_s"),
    [
        ("vehicle.lincoln.mkz_2020", 5.0, 10.5),
        ("vehicle.nissan.micra", 8.0, 16.0),
        ("vehicle.carlamotors.european_hgv", 12.0, 90.0),
        ("vehicle.mitsubishi.fusorosa", 12.0, 60.0),
    ],
)
def test_acceleration_of_real_classes(type_id: str, low_s: float, high_s: float) -> None:
    heavy = SPECS[type_id].mass_kg > 5000
    assert low_s < seconds_to(SPECS[type_id], (80 if heavy else 100) / 3.6) < high_s


def test_a_common_sedan_reaches_100_kmh_in_8_to_10_s() -> None:
    assert 8.0 < seconds_to(SEDAN, 100 / 3.6) < 10.0


def test_stopping_from_100_kmh() -> None:
    v = 100 / 3.6
    for type_id in ("vehicle.lincoln.mkz_2020", "vehicle.nissan.micra", "vehicle.tesla.model3"):
        dry, wet = stopping_distance_m(SPECS[type_id], v), stopping_distance_m(SPECS[type_id], v, 100.0)
        assert 37.0 < dry < 45.0, type_id
        assert 1.2 * dry < wet < 1.8 * dry, type_id
        assert wet < stopping_distance_m(SPECS[type_id], v, 100.0, 100.0) < 2.3 * dry, type_id
    assert stopping_distance_m(SPECS["vehicle.carlamotors.european_hgv"], v) > 48.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_control_makes_a_vehicle_explode(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fleet, top = VehicleFleet(flat()), []
    for slot, spec in enumerate(list(SPECS.values()) * 8):
        start = rng.uniform(-8, spec.top_speed_mps)
        fleet.add(spec, Transform(y=20.0 * slot))
        fleet.set_velocity(slot, (start, rng.uniform(-5, 5), 0.0))
        pedals = rng.uniform((0, -1, 0), (1, 1, 1))
        pedals[rng.uniform(size=3) < 0.3] = rng.choice([-1.0, 0.0, 1.0])  # the ends of the ranges, and beyond
        throttle, steer, brake = pedals.tolist()
        hand_brake, reverse = rng.uniform() < 0.2, rng.uniform() < 0.2
        fleet.set_control(slot, VehicleControl(throttle, steer, brake, hand_brake, reverse))
        top.append(max(math.hypot(start, 5.0), spec.top_speed_mps) + 1.0)
    for _ in range(80):
        fleet.step(DT, rng.uniform(0, 100))
        used = fleet.alive
        assert np.isfinite(fleet.location[used]).all()
        assert (np.hypot(*fleet.velocity[used, :2].T) <= top).all()
        assert (np.abs(fleet.angular_velocity_degps[used, 2]) < 400.0).all()


def test_disturbed_cars_left_alone_come_to_rest() -> None:
    rng = np.random.default_rng(4)
    fleet = VehicleFleet(flat())
    for slot in range(200):
        fleet.add(SEDAN, Transform(y=20.0 * slot))
        fleet.set_velocity(slot, (rng.uniform(-15, 30), rng.uniform(-8, 8), 0.0))
        fleet.set_angular_velocity_degps(slot, (0.0, 0.0, rng.uniform(-120, 120)))
        fleet.set_control(slot, VehicleControl(brake=0.5))
    run(fleet, 15.0)
    np.testing.assert_allclose(fleet.velocity[:200], 0.0, atol=1e-9)
    np.testing.assert_allclose(fleet.angular_velocity_degps[:200], 0.0, atol=1e-6)


@pytest.mark.parametrize("dt_s", [0.01, 0.02, 0.033, 0.1])
def test_the_path_hardly_depends_on_the_step(dt_s: float) -> None:
    def drive(step_s: float) -> np.ndarray:
        fleet = one(speed_mps=12.0)
        fleet.set_control(0, VehicleControl(steer=0.1, throttle=0.4))
        for _ in range(round(3.0 / step_s)):
            fleet.step(step_s, 0.0)
        return fleet.location[0, :2] / (round(3.0 / step_s) * step_s)

    np.testing.assert_allclose(drive(dt_s), drive(0.05), atol=0.1)


def test_equal_runs_are_equal_to_the_bit() -> None:
    def drive() -> bytes:
        fleet = VehicleFleet(flat())
        rng = np.random.default_rng(5)
        for i, spec in enumerate(SPECS.values()):
            fleet.add(spec, Transform(x=10.0 * i))
        for _ in range(100):
            for slot in range(len(SPECS)):
                throttle, steer = rng.uniform(0, 1), rng.uniform(-1, 1)
                fleet.set_control(slot, VehicleControl(throttle, steer, rng.uniform(0, 0.3)))
            fleet.step(DT, 20.0)
        return fleet.location.tobytes() + fleet.rotation_deg.tobytes() + fleet.velocity.tobytes()

    assert drive() == drive()


def test_a_vehicle_moves_the_same_alone_and_among_others() -> None:
    alone, crowd = VehicleFleet(flat()), VehicleFleet(flat())
    for _ in range(20):
        crowd.add(SPECS["vehicle.nissan.patrol"], Transform(x=99.0))
    slot = crowd.add(SEDAN, Transform())
    crowd.remove(3)
    alone.add(SEDAN, Transform())
    for fleet, index in ((alone, 0), (crowd, slot)):
        fleet.set_control(index, VehicleControl(throttle=0.7, steer=0.2))
        run(fleet, 4.0)
    np.testing.assert_allclose(crowd.location[slot], alone.location[0], atol=1e-9)


def test_stability_control_slows_a_car_that_steers_for_more_than_friction_gives() -> None:
    """Full throttle and a hard turn at 80 km/h: it ends up on the bend at a speed that the tyres can hold."""
    fleet = one(speed_mps=22.0)
    fleet.set_control(0, VehicleControl(steer=0.3, throttle=1.0))
    run(fleet, 6.0)
    v, rate = speed(fleet), abs(math.radians(fleet.angular_velocity_degps[0, 2]))
    radius = v / rate
    geometric = SEDAN.wheelbase_m / math.tan(abs(fleet.steer_rad[0]))
    assert v < 12.0
    assert radius == pytest.approx(geometric, rel=0.35)


def test_stability_control_leaves_ordinary_driving_alone() -> None:
    straight, bend = one(speed_mps=15.0), one(speed_mps=15.0)
    straight.set_control(0, VehicleControl(throttle=0.5))
    bend.set_control(0, VehicleControl(throttle=0.5, steer=0.03))
    run(straight, 2.0)
    run(bend, 2.0)
    assert speed(bend) == pytest.approx(speed(straight), rel=0.02)
