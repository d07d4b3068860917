"""Traffic lights: cycles as properties, CARLA's commands, and which light governs a point."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla.scene import SignalSite, StopZone
from embedded_carla.types import SignalColour, Transform
from embedded_carla.world.signals.traffic_lights import GREEN_S, RED_S, YELLOW_S, TrafficLights

GREEN, YELLOW, RED = SignalColour.GREEN, SignalColour.YELLOW, SignalColour.RED


def site(signal_id: str, controller: str = "", junction: str = "", kind: str = "traffic_light") -> SignalSite:
    return SignalSite(signal_id, kind, Transform(), (), controller, junction)


# Junction J: controllers A (two lights), B, then a light without one; junction K: one light; one light alone.
SITES = [
    site("a1", "A", "J"), site("b1", "B", "J"), site("a2", "A", "J"), site("c1", "", "J"), site("k1", "Q", "K"),
    site("alone"), site("stop", "", "J", "stop"),
]  # fmt: skip
ORDER = [("J", ("B", "A")), ("K", ("Q",))]


def controller_of(signal_id: str) -> str:
    return {"a1": "A", "a2": "A", "b1": "B", "c1": "c1"}[signal_id]


@given(
    times=st.dictionaries(st.sampled_from(["a1", "b1", "c1"]), st.tuples(*[st.floats(0.1, 15)] * 3), max_size=3),
    dt_s=st.sampled_from([0.01, 0.05, 0.1, 0.5, 1.0]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_junction_takes_turns(times: dict[str, tuple[float, float, float]], dt_s: float) -> None:
    lights = TrafficLights(SITES, ORDER)
    for light, (green, yellow, red) in times.items():
        lights.set_times(light, green_s=max(green, dt_s), yellow_s=max(yellow, dt_s), red_s=max(red, dt_s))
    length = sum(sum(lights.times_s(light)) for light in ("a1", "b1", "c1"))
    seen: dict[str, set[SignalColour]] = {}
    before: dict[str, SignalColour] = {}
    turns = []
    for _ in range(math.ceil(length / dt_s) + 5):
        state = {light: lights.state(light) for light in lights.group("a1")}
        open_to = {controller_of(light) for light, colour in state.items() if colour is not RED}
        assert len(open_to) <= 1  # never two controllers of one junction at once
        assert state["a1"] is state["a2"]
        for light, colour in state.items():
            seen.setdefault(light, set()).add(colour)
            # Green ends in yellow, yellow in red, red in green.
            assert colour == before.get(light, colour) or (before[light], colour) in {
                (GREEN, YELLOW), (YELLOW, RED), (RED, GREEN)
            }  # fmt: skip
            if colour is GREEN and before.get(light) is RED:
                assert all(c is RED for c in before.values())  # all red in between
                turns.append(controller_of(light))
        before = state
        lights.step(dt_s)
    assert all(colours == {GREEN, YELLOW, RED} for colours in seen.values())
    order = ["B", "A", "c1"]
    assert all(order[(order.index(x) + 1) % 3] == y for x, y in pairwise(turns) if x != y)


def test_lights_without_a_controller_at_one_place_show_the_same() -> None:
    """In Town10HD two lights of one junction are 3 cm apart: the head of one hides the other's."""
    place = {"955": Transform(1.0, 2.0), "956": Transform(1.03, 2.0), "back": Transform(1.0, 2.0, yaw_deg=180.0)}
    sites = [SignalSite(name, "traffic_light", pose, (), "", "J") for name, pose in place.items()]
    lights, seen = TrafficLights(sites, [("J", ())]), set()
    for _ in range(800):
        assert lights.state("955") is lights.state("956")
        seen.add((lights.state("955"), lights.state("back")))
        lights.step(0.05)
    assert (GREEN, RED) in seen
    assert (RED, GREEN) in seen


def test_default_times_are_carlas() -> None:
    lights = TrafficLights(SITES, ORDER)
    changes, colour = [], lights.state("k1")
    for step in range(1, 400):
        lights.step(0.05)
        if lights.state("k1") is not colour:
            colour = lights.state("k1")
            changes.append((round(step * 0.05, 6), colour))
    assert changes == [(GREEN_S, YELLOW), (GREEN_S + YELLOW_S, RED), (GREEN_S + YELLOW_S + RED_S, GREEN)]
    assert (GREEN_S, YELLOW_S, RED_S) == (10.0, 3.0, 2.0)


def test_groups_and_order() -> None:
    lights = TrafficLights(SITES, ORDER)
    assert lights.ids == ("a1", "b1", "a2", "c1", "k1", "alone")
    assert sorted(lights.group("c1")) == ["a1", "a2", "b1", "c1"]
    assert lights.group("alone") == ["alone"]
    assert [lights.pole_index(i) for i in ("b1", "a1", "a2", "c1")] == [0, 1, 1, 2]
    assert [lights.state(i) for i in ("b1", "a1", "c1", "k1", "alone")] == [GREEN, RED, RED, GREEN, GREEN]


def test_a_controller_of_no_listed_junction_still_runs() -> None:
    lights = TrafficLights([site("x", "C"), site("y", "C"), site("z", "D")], [])
    assert lights.group("x") == ["x", "y"]
    assert lights.group("z") == ["z"]


def test_frozen_lights_keep_their_colour_and_time() -> None:
    lights = TrafficLights(SITES, ORDER)
    lights.step(4.0)
    lights.freeze("a1", True)
    lights.set_state("a2", GREEN)
    for _ in range(1000):
        lights.step(0.1)
    assert [lights.state(i) for i in ("b1", "a1", "a2")] == [GREEN, RED, GREEN]
    assert lights.elapsed_s("c1") == 4.0
    assert lights.is_frozen("b1")
    assert not lights.is_frozen("k1")
    lights.freeze_all(False)
    lights.step(6.0)
    assert lights.state("b1") is YELLOW
    assert lights.state("a2") is RED


def test_a_set_state_lasts_until_the_next_phase() -> None:
    lights = TrafficLights(SITES, ORDER)
    lights.set_state("k1", RED)
    lights.step(5.0)
    assert lights.state("k1") is RED
    lights.step(5.0)
    assert lights.state("k1") is YELLOW
    with pytest.raises(KeyError):
        lights.set_state("stop", RED)


def test_reset_starts_the_group_anew() -> None:
    lights = TrafficLights(SITES, ORDER)
    lights.step(11.0)
    lights.step(0.5)
    assert lights.state("b1") is YELLOW
    lights.reset_group("a1")
    assert lights.state("b1") is GREEN
    assert lights.elapsed_s("b1") == 0.0
    assert lights.state("k1") is YELLOW
    lights.reset_all()
    assert lights.state("k1") is GREEN


def test_times_belong_to_the_controller() -> None:
    lights = TrafficLights(SITES, ORDER)
    lights.set_times("a1", green_s=33.0)
    assert lights.times_s("a2") == (33.0, YELLOW_S, RED_S)
    assert lights.times_s("b1") == (GREEN_S, YELLOW_S, RED_S)


def test_times_of_zero_do_not_hang() -> None:
    lights = TrafficLights(SITES, ORDER)
    for light in ("a1", "b1", "c1"):
        lights.set_times(light, green_s=0.0, yellow_s=-1.0, red_s=0.0)
    for _ in range(10):
        lights.step(0.05)
        assert [lights.state("a1"), lights.state("b1")].count(SignalColour.GREEN) <= 1


@given(seed=st.integers(0, 5000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_governing_agrees_with_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    zones = [
        StopZone(tuple(rng.uniform(-30, 30, 3) * [1, 1, 0.1]), tuple(rng.uniform(0.5, 6, 3)), rng.uniform(-180, 180))
        for _ in range(15)
    ]
    sites = [
        SignalSite(str(i), "stop" if i == 2 else "traffic_light", Transform(), tuple(zones[3 * i : 3 * i + 3]))
        for i in range(5)
    ]
    lights = TrafficLights(sites, [])
    points = rng.uniform(-30, 30, (60, 3)) * [1, 1, 0.1]

    def by_hand(point: np.ndarray) -> int:
        for index, light in enumerate(lights.ids):
            for zone in next(s for s in sites if s.signal_id == light).stop_zones:
                local = np.linalg.inv(Transform(*zone.centre, 0.0, zone.yaw_deg, 0.0).matrix()) @ [*point, 1.0]
                if (np.abs(local[:3]) <= zone.half).all():
                    return index
        return -1

    assert lights.governing(points).tolist() == [by_hand(p) for p in points]


def test_a_map_without_lights() -> None:
    lights = TrafficLights([], [])
    lights.step(1.0)
    assert lights.ids == ()
    assert lights.governing(np.zeros((3, 3))).tolist() == [-1, -1, -1]
    assert TrafficLights(SITES, ORDER).governing(np.zeros((2, 3))).tolist() == [-1, -1]
