"""Many alike commands in one batch do what they do one by one."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded_carla import handlers
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.simulation import Simulation
from embedded_carla.wire import rpc
from embedded_carla.wire.streaming import StreamHub

COUNT = 5
share = st.floats(-0.25, 1.25, width=32)
control = st.tuples(share, share, share, st.booleans(), st.booleans(), st.booleans(), st.integers(-1, 5)).map(list)
place = st.tuples(st.floats(-300.0, 300.0, width=32), st.floats(-300.0, 300.0, width=32), st.floats(0.0, 5.0, width=32))
walk = st.tuples(st.tuples(place.map(list), place.map(list)).map(list), st.floats(0.0, 3.0, width=32)).map(list)
odd: st.SearchStrategy[Any] = st.sampled_from([None, "fast", [], float("nan"), [0.5], {}])


def call(simulation: Simulation, method: str, *args: Any) -> Any:
    return msgpack.unpackb(handlers.answer(simulation, rpc.Call(1, method, list(args))))[3]


@pytest.fixture(scope="module")
def worlds() -> tuple[Simulation, Simulation]:
    """Two of the same, with cars and walkers."""
    loader = MapLoader(MapLibrary(), 0)
    made = []
    for _ in range(2):
        simulation = Simulation(loader, StreamHub(lambda _: None), 2001, "city_grid", 0)
        for kind in ("vehicle.tesla.model3", "walker.pedestrian.0001"):
            for point in simulation.map.scenery.spawn_points[:COUNT]:
                pose = [[point.x, point.y, point.z + (0.5 if kind[0] == "v" else 9.0)], [0.0, point.yaw_deg, 0.0]]
                assert call(simulation, "spawn_actor", [0, kind, []], pose)[0][0] == 1
        made.append(simulation)
    return made[0], made[1]


def ids_of(simulation: Simulation, kind: str) -> list[int]:
    return [actor.actor_id for actor in simulation.episode.actors if actor.type_id.startswith(kind)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(control, odd), min_size=COUNT, max_size=COUNT) | st.lists(control, min_size=5, max_size=5),
    st.lists(st.one_of(walk, odd), min_size=COUNT, max_size=COUNT) | st.lists(walk, min_size=5, max_size=5),
    st.booleans(),
)
def test_a_batch_is_its_commands_one_by_one(
    worlds: tuple[Simulation, Simulation], controls: list[Any], walks: list[Any], unknown: bool
) -> None:
    together, single = worlds
    answers = []
    for simulation in worlds:
        cars, walkers = ids_of(simulation, "vehicle"), ids_of(simulation, "walker")
        if unknown:
            cars[2] = 10_000
        batch = [[[2, [i, c]]] for i, c in zip(cars, controls, strict=True)]
        batch += [[[7, [i, *(w if isinstance(w, list) and len(w) == 2 else [w, 1.0])]]]
                  for i, w in zip(walkers, walks, strict=True)]  # fmt: skip
        if simulation is single:
            answers.append([a for command in batch for a in call(simulation, "apply_batch", [command], False)])
        else:
            answers.append(call(simulation, "apply_batch", batch, False))
        simulation.advance(0.05)
    first = ids_of(together, "vehicle")[0] - ids_of(single, "vehicle")[0]
    assert [a[0][0] for a in answers[0]] == [a[0][0] for a in answers[1]]
    assert [a[0][1] - first for a in answers[0] if a[0][0] == 1] == [a[0][1] for a in answers[1] if a[0][0] == 1]
    for name in ("vehicles", "walkers"):
        left, right = (getattr(s.episode.table, name)[: len(s.episode.table)].copy() for s in worlds)
        left["id"] = right["id"] = 0
        assert left.tobytes() == right.tobytes()
