"""Contacts against a brute-force oracle, impacts against conservation laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from embedded_carla.scene import Boxes
from embedded_carla.types import BoundingBox, Transform
from embedded_carla.world.collision.boxes import DynamicBoxes, StaticBoxes
from embedded_carla.world.collision.impacts import CLEARANCE_M, Body, Contact, find_contacts, overlaps, resolve

NOTHING = StaticBoxes(Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0, dtype=np.uint8)))


def statics(rows: list[tuple[tuple[float, float, float], tuple[float, float, float], float, int]]) -> StaticBoxes:
    centre, half, yaw, tag = zip(*rows, strict=True)
    return StaticBoxes(Boxes(np.array(centre), np.array(half), np.array(yaw), np.array(tag, dtype=np.uint8)))


def cars(*poses: Transform, half: tuple[float, float, float] = (2.4, 0.95, 0.75), v: float = 0.0) -> DynamicBoxes:
    location = np.array([p.location for p in poses])
    rotation = np.array([(p.pitch_deg, p.yaw_deg, p.roll_deg) for p in poses])
    velocity = np.zeros((len(poses), 3))
    velocity[0, 0] = v
    return DynamicBoxes.of(range(1, len(poses) + 1), location, rotation, np.tile(half, (len(poses), 1)), velocity)


def deepest_common_point(boxes: DynamicBoxes) -> float:
    """Oracle: how far inside both boxes a point can lie at once (negative: they are apart); linear programming."""
    rows, limits = [], []
    for i in (0, 1):
        for k in range(3):
            axis, middle = boxes.axes[i, :, k], boxes.axes[i, :, k] @ boxes.centre[i]
            rows += [[*axis, 1.0], [*(-axis), 1.0]]
            limits += [middle + boxes.half[i, k], boxes.half[i, k] - middle]
    solved = linprog([0, 0, 0, -1], A_ub=rows, b_ub=limits, bounds=[(None, None)] * 4)
    assert solved.success
    return float(solved.x[3])


angles = st.floats(-180, 180)
poses = st.builds(Transform, st.floats(-3, 3), st.floats(-3, 3), st.floats(-2, 2), st.floats(-80, 80), angles, angles)


@given(a=poses, b=poses)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_contacts_agree_with_linear_programming(a: Transform, b: Transform) -> None:
    boxes = cars(a, b)
    margin = deepest_common_point(boxes)
    assume(abs(margin) > 1e-6)
    contacts = find_contacts(boxes, NOTHING)
    assert bool(contacts) == (margin > 0)
    if not contacts:
        return
    contact = contacts[0]
    assert (contact.a, contact.b, contact.static_tag) == (1, 2, 0)
    assert np.linalg.norm(contact.normal) == pytest.approx(1.0)
    for i in (0, 1):  # the point lies in both boxes
        local = (np.array(contact.point) - boxes.centre[i]) @ boxes.axes[i]
        assert (np.abs(local) <= boxes.half[i] + 1e-8).all()
    # Moving a by the depth along the normal takes the boxes apart.
    shift = np.array(contact.normal) * (contact.depth_m + 1e-6)
    apart = DynamicBoxes(boxes.ids, np.add(boxes.centre, [shift, np.zeros(3)]), boxes.half, boxes.axes, boxes.velocity)
    assert find_contacts(apart, NOTHING) == []


@given(seed=st.integers(0, 10_000), count=st.integers(0, 25), boxes=st.integers(0, 40))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_broad_phase_misses_nothing(seed: int, count: int, boxes: int) -> None:
    rng = np.random.default_rng(seed)
    body = DynamicBoxes.of(
        range(1, count + 1),
        rng.uniform(-60, 60, (count, 3)) * [1, 1, 0.02],
        rng.uniform(-180, 180, (count, 3)) * [0.05, 1, 0.05],
        rng.uniform(0.2, 12, (count, 3)) * [1, 0.3, 0.2],
        np.zeros((count, 3)),
    )
    static = StaticBoxes(
        Boxes(
            rng.uniform(-60, 60, (boxes, 3)) * [1, 1, 0.05],
            rng.uniform(0.1, 15, (boxes, 3)),
            rng.uniform(-4, 4, boxes),
            np.arange(boxes, dtype=np.uint8),
        )
    )
    found = [(c.a, c.b, c.static_tag) for c in find_contacts(body, static)]
    expected = []
    for i in range(count):
        for j in range(i + 1, count):
            two = DynamicBoxes(*(getattr(body, f)[[i, j]] for f in ("ids", "centre", "half", "axes", "velocity")))
            if find_contacts(two, NOTHING):
                expected.append((i + 1, j + 1, 0))
    for i in range(count):
        alone = DynamicBoxes(*(getattr(body, f)[[i]] for f in ("ids", "centre", "half", "axes", "velocity")))
        for j in range(boxes):
            far = StaticBoxes(
                Boxes(static.centre[[j]], static.half[[j]], np.arctan2(*static.axes[[j], 1::-1, 0].T), static.tag[[j]])
            )
            if find_contacts(alone, far):
                expected.append((i + 1, 0, j))
    assert sorted(found) == sorted(expected)


def test_bodies_far_outside_the_scenery_touch_nothing() -> None:
    static = statics([((0, 0, 1), (1, 1, 1), 0.0, 3)])
    assert find_contacts(cars(Transform(x=1e6), Transform(x=-1e6, y=4e5)), static) == []
    assert find_contacts(cars(Transform(x=0.5)), static)[0].static_tag == 3


def test_what_lies_low_passes_under_a_car() -> None:
    car = cars(Transform())
    kerb, block = (((2.3, 0, 0.05), (0.3, 5, CLEARANCE_M - 0.06), 0.0, 2), ((2.3, 0, 0.2), (0.3, 5, 0.2), 0.0, 20))
    assert find_contacts(car, statics([kerb])) == []
    assert len(find_contacts(car, statics([block]))) == 1


def test_boxes_above_one_another_do_not_touch() -> None:
    assert find_contacts(cars(Transform(), Transform(z=-50.0)), NOTHING) == []
    assert find_contacts(cars(Transform(), Transform(z=6.0)), NOTHING) == []


def test_a_fast_car_is_stopped_by_the_pole_it_hits_off_centre() -> None:
    pole = statics([((2.0, 0.7, 2.0), (0.1, 0.1, 2.0), 0.0, 6)])
    fast = find_contacts(cars(Transform(), v=25.0), pole)[0]
    assert fast.normal[0] == pytest.approx(-1.0)
    assert fast.point[1] == pytest.approx(0.7, abs=0.11)


def test_the_contact_with_a_long_wall_is_where_the_car_is() -> None:
    wall = statics([((40.0, 1.2, 1.5), (100.0, 0.3, 1.5), 0.0, 4)])
    contact = find_contacts(cars(Transform()), wall)[0]
    assert contact.normal[1] == pytest.approx(-1.0)
    assert abs(contact.point[0]) < 0.1


def test_spawn_overlap_is_three_dimensional() -> None:
    box = BoundingBox((0.0, 0.0, 0.75), (2.4, 0.95, 0.75))
    parked = cars(Transform(x=10.0), Transform(x=20.0, z=-50.0))
    assert overlaps(DynamicBoxes.single(box, Transform(x=11.0)), parked)
    assert not overlaps(DynamicBoxes.single(box, Transform(x=10.0, z=-50.0)), parked)
    assert overlaps(DynamicBoxes.single(box, Transform(x=20.0, z=-50.5)), parked)
    assert not overlaps(DynamicBoxes.single(box, Transform(x=10.0, y=3.0)), parked)
    house = statics([((30.0, 0.0, 5.0), (5.0, 5.0, 5.0), 0.3, 3)])
    assert overlaps(DynamicBoxes.single(box, Transform(x=27.0)), house)
    assert not overlaps(DynamicBoxes.single(box, Transform(x=27.0, z=11.0)), house)
    assert not overlaps(DynamicBoxes.single(box, Transform()), NOTHING)
    nobody = DynamicBoxes.of([], np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
    assert not overlaps(DynamicBoxes.single(box, Transform()), nobody)


# ---------------------------------------------------------------- response

MASS = {1: 1500.0, 2: 12000.0, 3: 75.0}


def bodies(boxes: DynamicBoxes, rng: np.random.Generator) -> dict[int, Body]:
    return {
        int(i): Body(
            boxes.centre[k].copy(), rng.uniform(-15, 15, 3) * [1, 1, 0.1], float(rng.uniform(-1, 1)),
            1 / MASS[int(i)], 3 / (MASS[int(i)] * (boxes.half[k, 0] ** 2 + boxes.half[k, 1] ** 2)),
        )
        for k, i in enumerate(boxes.ids)
    }  # fmt: skip


def momentum(moving: dict[int, Body]) -> np.ndarray:
    """Linear momentum and the angular momentum about the world's vertical axis."""
    total = np.zeros(4)
    for body in moving.values():
        p = body.velocity / body.inverse_mass
        spin = body.yaw_rate_radps / body.inverse_inertia
        total += [*p, body.location[0] * p[1] - body.location[1] * p[0] + spin]
    return total


def energy(moving: dict[int, Body]) -> float:
    return sum(
        float(b.velocity @ b.velocity) / b.inverse_mass / 2 + b.yaw_rate_radps**2 / b.inverse_inertia / 2
        for b in moving.values()
    )


@given(seed=st.integers(0, 100_000))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_impacts_conserve_momentum_and_never_make_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = (rng.uniform(-2.0, 2.0, 2) for _ in MASS)
    boxes = cars(*(Transform(x, y, 0.0, 0.0, rng.uniform(-180, 180), 0.0) for x, y in places))
    moving = bodies(boxes, rng)
    before, energy_before = momentum(moving), energy(moving)
    contacts = find_contacts(boxes, NOTHING)
    frozen = {i: b.location.copy() for i, b in moving.items()}
    impacts = resolve(contacts, moving)
    for i, body in moving.items():
        body.location, frozen[i] = frozen[i], body.location  # separation moves bodies, not momentum
    np.testing.assert_allclose(momentum(moving), before, rtol=1e-9, atol=1e-6)
    assert energy(moving) <= energy_before * (1 + 1e-9)
    assert len(impacts) == len(contacts)
    for impact in impacts:
        assert np.array(impact.impulse_ns) @ impact.contact.normal >= -1e-9


def head_on(closing_mps: float, masses: tuple[float, float]) -> tuple[list[Contact], dict[int, Body]]:
    boxes = cars(Transform(), Transform(x=4.7), v=closing_mps)
    moving = {
        i: Body(boxes.centre[k].copy(), boxes.velocity[k].copy(), 0.0, 1 / masses[k], 1 / (2 * masses[k]))
        for k, i in enumerate((1, 2))
    }
    return find_contacts(boxes, NOTHING), moving


def test_a_central_impact_gives_the_textbook_impulse() -> None:
    contacts, moving = head_on(10.0, (1500.0, 1000.0))
    impact = resolve(contacts, moving)[0]
    reduced = 1500.0 * 1000.0 / 2500.0
    assert impact.impulse_ns[0] == pytest.approx(-1.1 * reduced * 10.0)
    assert moving[2].velocity[0] - moving[1].velocity[0] == pytest.approx(1.0)
    assert moving[1].yaw_rate_radps == pytest.approx(0.0, abs=1e-9)


def test_scenery_stops_a_car_and_takes_its_momentum() -> None:
    boxes = cars(Transform(), v=12.0)
    wall = statics([((2.6, 0.0, 2.0), (0.3, 20.0, 2.0), 0.0, 3)])
    moving = {1: Body(boxes.centre[0].copy(), boxes.velocity[0].copy(), 0.0, 1 / 1500, 1 / 3000)}
    impact = resolve(find_contacts(boxes, wall), moving)[0]
    assert impact.contact.b == 0
    assert impact.contact.static_tag == 3
    assert impact.impulse_ns[0] == pytest.approx(-1500 * 12.0 * 1.1)
    assert moving[1].velocity[0] == pytest.approx(-1.2)


def test_bodies_that_part_get_no_impulse_but_are_taken_apart() -> None:
    contacts, moving = head_on(-5.0, (1500.0, 1500.0))
    start = moving[2].location[0] - moving[1].location[0]
    assert resolve(contacts, moving)[0].impulse_ns == (0.0, 0.0, 0.0)
    assert moving[2].location[0] - moving[1].location[0] > start + 0.05


def test_the_heavier_body_gives_way_less() -> None:
    contacts, moving = head_on(0.0, (1000.0, 10000.0))
    x1, x2 = moving[1].location[0], moving[2].location[0]
    resolve(contacts, moving)
    assert (x1 - moving[1].location[0]) == pytest.approx(10 * (moving[2].location[0] - x2))


def test_nothing_is_pushed_into_the_ground_by_what_appears_above_it() -> None:
    """A prop that stands still, its middle above the roof of a lorry: the lorry keeps its height."""
    lorry = cars(Transform(z=1.9), half=(2.6, 1.3, 1.9))
    prop = statics([((0.0, 0.0, 4.0), (3.0, 3.0, 2.4), 0.0, 20)])
    contacts = find_contacts(lorry, prop)
    assert contacts[0].normal[2] < -0.9
    assert contacts[0].depth_m > 2.0
    body = Body(np.array([0.0, 0.0, 0.0]), np.zeros(3), 0.0, 1 / 12_000.0, 1e-5)
    resolve(contacts, {1: body})
    assert body.location[2] == 0.0


def test_what_lies_on_a_car_is_lifted_off_it() -> None:
    boxes = cars(Transform(z=0.75), Transform(z=2.0))
    contacts = find_contacts(boxes, NOTHING)
    assert abs(contacts[0].normal[2]) > 0.9
    moving = {i: Body(np.array([0.0, 0.0, z]), np.zeros(3), 0.0, 1 / 1500.0, 1e-3) for i, z in ((1, 0.75), (2, 2.0))}
    resolve(contacts, moving)
    assert moving[1].location[2] == 0.75
    assert moving[2].location[2] > 2.1


def test_two_immovable_bodies_are_left_alone() -> None:
    contacts, moving = head_on(3.0, (1.0, 1.0))
    for body in moving.values():
        body.inverse_mass = body.inverse_inertia = 0.0
    assert resolve(contacts, moving)[0].impulse_ns == (0.0, 0.0, 0.0)
    assert moving[1].velocity[0] == 3.0


def test_an_off_centre_hit_turns_both_cars_the_right_way() -> None:
    boxes = cars(Transform(), Transform(x=4.7, y=1.4), v=15.0)
    moving = {
        i: Body(boxes.centre[k].copy(), boxes.velocity[k].copy(), 0.0, 1 / 1500, 1 / 3500) for k, i in enumerate((1, 2))
    }
    resolve(find_contacts(boxes, NOTHING), moving)
    # The first car is pushed back on its right side: it turns right, clockwise; the second one likewise.
    assert moving[1].yaw_rate_radps > 0.1
    assert moving[2].yaw_rate_radps > 0.1
    assert math.isfinite(moving[1].yaw_rate_radps)


def test_a_pushed_pile_does_not_stay_entangled() -> None:
    location = np.array([[0.0, 0.0, 0.0], [3.5, 0.5, 0.0], [6.5, -0.5, 0.0], [9.0, 0.0, 0.0]])
    yaw = np.array([0.0, 20.0, -30.0, 80.0])
    velocity = np.zeros((4, 3))
    turn = np.zeros(4)
    for _ in range(80):
        rotation = np.stack([0 * yaw, yaw, 0 * yaw], axis=1)
        boxes = DynamicBoxes.of(range(1, 5), location, rotation, np.tile([2.4, 0.95, 0.75], (4, 1)), velocity)
        contacts = find_contacts(boxes, NOTHING)
        moving = {i + 1: Body(location[i], velocity[i], turn[i], 1 / 1500, 1 / 3500) for i in range(4)}
        resolve(contacts, moving)
        for i in range(4):
            location[i] = moving[i + 1].location + moving[i + 1].velocity * 0.05
            velocity[i], turn[i] = moving[i + 1].velocity * 0.8, moving[i + 1].yaw_rate_radps * 0.8
            yaw[i] += math.degrees(turn[i]) * 0.05
    assert all(c.depth_m < 0.05 for c in contacts)


def test_the_overlap_of_several_boxes_at_once_is_refused() -> None:
    two = DynamicBoxes.of((1, 2), np.zeros((2, 3)), np.zeros((2, 3)), np.ones((2, 3)), np.zeros((2, 3)))
    wall = StaticBoxes(Boxes(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1), np.zeros(1, dtype=np.uint8)))
    with pytest.raises(ValueError, match="one box is needed, not 2"):
        overlaps(two, wall)
