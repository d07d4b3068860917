"""A call of any registered method with arguments that begin honest, by the names of the handler's parameters."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from embedded_carla.blueprints import LIBRARY
from embedded_carla.handlers import METHODS
from tests.embedded_carla.fuzz import values
from tests.embedded_carla.fuzz.maps import evil_map
from tests.embedded_carla.fuzz.values import number, place, poison, poisoned, pose, some, vector

RARE = {"load_new_episode": 400, "copy_opendrive_to_file": 100, "replay_file": 20, "start_recorder": 20, "tick_cue": 8}
"""One in so many of the calls of these methods is made: they take long, and end what the others have brought about."""

_TYPES = tuple(LIBRARY)
_ATTRIBUTES = tuple({(a.name, a.default) for b in LIBRARY.values() for a in b.attributes})


@dataclass(frozen=True, slots=True)
class Population:
    """Ids of the actors that there are, by kind, and of their streams."""

    actors: Sequence[int]
    streams: Sequence[int]


def attributes(rng: random.Random) -> list[Any]:
    """Of any blueprint, with values that are often wrong."""
    rows = []
    for _ in range(rng.randrange(6)):
        name, default = some(rng, _ATTRIBUTES)
        value = default if rng.random() < 0.3 else str(poison(rng))[:6000]
        rows.append([name, rng.randrange(1, 6), value])
    return rows


def description(rng: random.Random) -> list[Any]:
    return [rng.randrange(1, 200), some(rng, _TYPES), attributes(rng)]


def _control(method: str, rng: random.Random) -> Any:
    if method == "apply_control_to_vehicle":
        return [rng.random(), number(rng, -1.0, 1.0), rng.random(), False, False, rng.random() < 0.2, rng.randrange(6)]
    if method == "apply_control_to_walker":
        return [vector(rng, 1.0), number(rng, 0.0, 3.0), False]
    if method == "apply_physics_control":
        wheel = [3.5, 0.25, 70.0, 35.0, 1500.0, 3000.0, 3.0, 20.0, 3000.0, vector(rng)]
        gears = [[4.0, 0.5, 0.65], [2.5, 0.5, 0.65]]
        return [
            [[0.0, 400.0], [6000.0, 300.0]], 6000.0, 1.0, 0.15, 2.0, 0.35, True, 0.2, 10.0, 4.0, gears, 1500.0, 0.3,
            [0.0, 0.0, -0.2], [[0.0, 1.0], [120.0, 0.7]], [list(wheel) for _ in range(4)], True,
        ]  # fmt: skip
    return [number(rng, -1.0, 1.0) for _ in range(5)]


def _settings(method: str, rng: random.Random) -> Any:
    if "ackermann" in method:
        return [number(rng, 0.0, 1.0) for _ in range(6)]
    return [True, False, [True, 0.05], True, 0.01, 10, 0.0, True, 3000.0, 2000.0, True]


def _shape(rng: random.Random) -> Any:
    line = [place(rng), place(rng), 0.1]
    primitives = ([place(rng), 0.1], line, [line, 0.2], [[place(rng), vector(rng, 3.0)], vector(rng, 90.0), 0.1],
                  [place(rng), "text", False])  # fmt: skip
    index = rng.randrange(9)
    return [[index, primitives[index % 5]], [rng.randrange(256) for _ in range(3)], number(rng, -1.0, 5.0), False]


def _command(rng: random.Random, world: Population, depth: int = 0) -> Any:
    index, actor = rng.randrange(23), some(rng, world.actors)
    if index == 0:
        after = [_command(rng, world, depth + 1) for _ in range(rng.randrange(3))] if depth < 3 else []
        return [[0, [description(rng), pose(rng), [False], 0, "", after]]]
    fields: dict[int, Any] = {
        1: [], 2: [_control("apply_control_to_vehicle", rng)], 3: [_control("ackermann", rng)],
        4: [_control("apply_control_to_walker", rng)], 5: [_control("apply_physics_control", rng)], 6: [pose(rng)],
        7: [pose(rng), 1.4], 14: [False], 15: [True], 16: [True], 17: [True], 18: [rng.randrange(2048)],
        19: [place(rng)], 21: [rng.randrange(5)],
    }  # fmt: skip
    if index == 1 and rng.random() < 0.9:
        index = 2
    return [[index, [actor, *fields.get(index, [vector(rng)])]]]


def _commands(rng: random.Random, world: Population) -> Any:
    made = [_command(rng, world) for _ in range(rng.choice((0, 1, 2, 6, 30)))]
    if made and rng.random() < 0.3:  # alike ones are carried out together
        made = [[[2, [actor, _control("apply_control_to_vehicle", rng)]]] for actor in world.actors]
    return made


def _argument(name: str, method: str, rng: random.Random, world: Population) -> Any:
    """An honest value for a parameter of this name."""
    makers: dict[str, Callable[[], Any]] = {
        "actor_id": lambda: some(rng, world.actors), "parent": lambda: some(rng, world.actors),
        "follow_id": lambda: some(rng, world.actors), "ids": lambda: [some(rng, world.actors) for _ in range(3)],
        "stream_id": lambda: some(rng, world.streams), "description": lambda: description(rng),
        "pose": lambda: pose(rng), "offset": lambda: pose(rng), "location": lambda: place(rng),
        "start": lambda: 0.0 if method == "replay_file" else place(rng), "end": lambda: place(rng),
        "at": lambda: place(rng), "control": lambda: _control(method, rng), "settings": lambda: _settings(method, rng),
        "commands": lambda: _commands(rng, world), "shape": lambda: _shape(rng), "do_tick_cue": lambda: False,
        "weather": lambda: [number(rng, 0.0, 100.0) for _ in range(14)],
        "states": lambda: [[rng.randrange(60), place(rng), 100.0, 2, [255, 200, 100], True]],
        "bones": lambda: [[["crl_root", pose(rng)]]], "where": lambda: ["127.0.0.1", rng.randrange(20000, 60000)],
        "xodr": lambda: evil_map(rng), "port": lambda: rng.randrange(20000, 60000),
        "name": lambda: some(rng, ("city_grid", "fuzz.log", "VehicleMesh", "Carla/Maps/Nav/x.bin", "../x.log")),
        "state": lambda: rng.randrange(5), "attachment": lambda: rng.randrange(3), "label": lambda: rng.randrange(30),
        "layers": lambda: rng.randrange(65536), "text": lambda: "hello", "first": lambda: 97, "second": lambda: 118,
        "folder": lambda: "", "wheel": lambda: rng.randrange(4), "door": lambda: rng.randrange(7),
    }  # fmt: skip
    if name in makers:
        return makers[name]()
    if name in ("velocity", "impulse", "force", "torque", "direction"):
        return vector(rng)
    if name in (
        "enabled",
        "frozen",
        "follows",
        "discard",
        "ignore",
        "keep_actors",
        "sensors",
        "additional",
        "show_all",
    ):
        return rng.random() < 0.5
    return number(rng, 0.0, 10.0)


def arguments(method: str, rng: random.Random, world: Population) -> list[Any]:
    """For a registered method; some wrong, now and then too few or too many."""
    parameters = list(inspect.signature(METHODS[method].handler).parameters.values())[1:]
    named = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    made = [_argument(p.name.strip("_"), method, rng, world) for p in named]
    if rng.random() < 0.7:
        made = [poisoned(rng, value) for value in made]
    if rng.random() < 0.03:
        made = made[: rng.randrange(len(made) + 1)]
    elif rng.random() < 0.03:
        made.append(values.poison(rng))
    return made


def call(number: int, methods: Sequence[str], rng: random.Random, world: Population) -> tuple[str, bytes]:
    """(method, message) with this message id."""
    method = some(rng, methods)
    while method in RARE and rng.randrange(RARE[method]):
        method = some(rng, methods)
    if rng.random() < 0.01:
        method = some(rng, ("no_such_method", "", "x" * 3000, "__class__", "\udcff"))
        args: list[Any] = [poison(rng)]
    else:
        args = arguments(method, rng, world)
    message = [0, number, method, [[False], *args]]
    return method, bytes(msgpack.packb(message, unicode_errors="surrogateescape"))
