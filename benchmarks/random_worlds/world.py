"""Draws random worlds: a route on one of the project's maps, an ego on it, and what perception says is around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import embedded_carla.maps
from av_core.errors import RouteError
from av_core.types import (
    LaneGraph,
    LaneKey,
    LightState,
    ObjectKind,
    Pose2D,
    SignalKind,
    TrackedObject,
    TrafficLightView,
    VehicleParameters,
)
from av_stack.world.carla.map import lane_graph_of_text
from planning import Route, find_route

MAPS = ("city_grid", "country_road", "motorway", "proving_ground")

CAR = VehicleParameters(
    length_m=4.8,
    width_m=1.9,
    height_m=1.5,
    wheelbase_m=2.9,
    rear_axle_to_centre_m=1.4,
    steer_max_rad=1.22,
    mass_kg=1800.0,
    steer_curve=((0.0, 1.0), (8.0, 0.9), (30.0, 0.7)),
)
"""The ego in all worlds."""

_SIZES_M = {
    ObjectKind.CAR: (4.5, 1.9),
    ObjectKind.TRUCK: (8.5, 2.6),
    ObjectKind.BUS: (11.0, 2.6),
    ObjectKind.MOTORCYCLE: (2.2, 0.8),
    ObjectKind.BICYCLE: (1.7, 0.6),
    ObjectKind.PEDESTRIAN: (0.6, 0.6),
}
_CARS = (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS, ObjectKind.MOTORCYCLE)
_NONSENSE = (float("nan"), float("inf"), -float("inf"), 1e12, -1e7)

_ROUTE_M = (80.0, 350.0)
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Other:
    """What perception says of one road user: `item` at the beginning, which then keeps its velocity.

    In each scene it is missing with the probability `missing`.
    """

    item: TrackedObject
    missing: float = 0.0

    def at(self, time_s: float) -> TrackedObject:
        vx, vy = self.item.velocity_mps
        return replace(self.item, x_m=self.item.x_m + vx * time_s, y_m=self.item.y_m + vy * time_s)


@dataclass(frozen=True, slots=True)
class World:
    """A random world. The ego begins `s_m` along the route, beside it and askew; `seed` draws what happens later."""

    map_name: str
    route: Route
    s_m: float
    offset_m: float
    askew_rad: float
    speed_mps: float
    others: tuple[Other, ...]
    lights: Mapping[str, TrafficLightView]
    seed: int

    @property
    def graph(self) -> LaneGraph:
        return graph_of(self.map_name)


@cache
def graph_of(map_name: str) -> LaneGraph:
    """The lane graph of one of `MAPS`."""
    file = Path(embedded_carla.maps.__file__).with_name(f"{map_name}.xodr")
    return lane_graph_of_text(file.read_text(), map_name)


def draw_world(seed: int) -> World:
    """The world of a seed."""
    rng = np.random.default_rng(seed)
    map_name = str(rng.choice(MAPS))
    route = _draw_route(graph_of(map_name), rng)
    s_m = float(rng.uniform(0.0, max(route.length_m - 40.0, 1.0)))
    limit_mps = float(route.speed_limit_mps[route.row_at(s_m)])
    is_odd = rng.random() < 0.2
    others: list[TrackedObject] = []
    for _ in range(int(rng.integers(0, 9))):
        others += _draw_others(route, s_m, rng)
    numbers = rng.permutation(len(others)).tolist()
    if rng.random() < 0.1:
        numbers = [number // 2 for number in numbers]  # two tracks have one id
    return World(
        map_name,
        route,
        s_m,
        offset_m=float(rng.normal(0.0, 1.0 if is_odd else 0.15)),
        askew_rad=float(rng.normal(0.0, 0.3 if is_odd else 0.02)),
        speed_mps=0.0 if rng.random() < 0.2 else float(rng.uniform(0.0, 1.1)) * limit_mps,
        others=tuple(
            Other(replace(item, track_id=number), float(rng.choice([0.0, 0.0, 0.0, 0.4])))
            for item, number in zip(others, numbers, strict=True)
        ),
        lights={
            signal.signal_id: TrafficLightView(
                signal.signal_id, LightState(rng.choice([state.value for state in LightState])), float(rng.random())
            )
            for signal in route.signals
            if signal.kind is SignalKind.TRAFFIC_LIGHT
        },
        seed=seed,
    )


def _draw_route(graph: LaneGraph, rng: np.random.Generator) -> Route:
    """A route from a random place along random successors and lane changes."""
    keys = [key for key, lane in graph.lanes.items() if lane.length_m > 10.0]
    for _ in range(_TRIES):
        start = keys[int(rng.integers(len(keys)))]
        goal, left_m = start, float(rng.uniform(*_ROUTE_M))
        while left_m > 0.0:
            lane = graph.lanes[goal]
            left_m -= lane.length_m
            after: list[LaneKey] = [key for key in lane.successors if key in graph.lanes]
            if not after:
                break
            goal = after[int(rng.integers(len(after)))]
            beside = [key for key in (graph.lanes[goal].left, graph.lanes[goal].right) if key in graph.lanes]
            if beside and rng.random() < 0.3:
                goal = beside[int(rng.integers(len(beside)))] or goal
        try:
            route = find_route(graph, _pose_on(graph, start, rng), _pose_on(graph, goal, rng))
        except RouteError:
            continue
        if route.length_m > 0.5 * _ROUTE_M[0]:
            return route
    raise RouteError(f"no route on {graph.name} found in {_TRIES} tries")


def _pose_on(graph: LaneGraph, key: LaneKey, rng: np.random.Generator) -> Pose2D:
    lane = graph.lanes[key]
    return Pose2D(*(float(value) for value in lane.curve.pose_at(float(rng.uniform(0.0, lane.length_m)))))


def _draw_others(route: Route, ego_s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    draw = rng.choice(
        np.array([_parked, _wall, _fence, _driving, _crossing, _walker, _nonsense], dtype=object),
        p=[0.2, 0.08, 0.05, 0.27, 0.1, 0.15, 0.15],
    )
    found: list[TrackedObject] = draw(route, ego_s_m + float(rng.uniform(-30.0, 110.0)), rng)
    return found


def _box(
    route: Route, s_m: float, offset_m: float, turn_rad: float, kind: ObjectKind, speed_mps: float
) -> TrackedObject:
    """A road user beside the route, that drives where it points."""
    x, y, yaw = (float(value) for value in route.curve.pose_at(s_m, offset_m))
    yaw += turn_rad
    length, width = _SIZES_M[kind]
    velocity = (speed_mps * float(np.cos(yaw)), speed_mps * float(np.sin(yaw)))
    return TrackedObject(0, kind, x, y, yaw, velocity, length, width, 1.5)


def _kind(rng: np.random.Generator) -> ObjectKind:
    return _CARS[int(rng.integers(len(_CARS)))]


def _parked(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    offset_m = float(rng.choice([0.0, -2.5, 2.5, 3.5])) + float(rng.normal(0.0, 0.5))
    return [_box(route, s_m, offset_m, float(rng.normal(0.0, 0.2)), _kind(rng), 0.0)]


def _wall(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    """Boxes across the whole road."""
    half, kind = int(rng.integers(1, 4)), _kind(rng)
    return [_box(route, s_m, 3.5 * number, 0.5 * np.pi, kind, 0.0) for number in range(-half, half + 1)]


def _fence(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    """Boxes along the edge of the lane."""
    offset_m = float(rng.choice([-1.0, 1.0]) * rng.uniform(1.9, 3.0))
    return [_box(route, s_m + 3.0 * number, offset_m, 0.0, ObjectKind.BICYCLE, 0.0) for number in range(8)]


def _driving(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    """Along the road, in the ego's direction or against it."""
    offset_m = float(rng.choice([0.0, 0.0, -3.5, 3.5])) + float(rng.normal(0.0, 0.3))
    turn_rad = (np.pi if rng.random() < 0.35 else 0.0) + float(rng.normal(0.0, 0.1))
    kind = ObjectKind.BICYCLE if rng.random() < 0.15 else _kind(rng)
    speed_mps = float(rng.uniform(1.0, 6.0 if kind is ObjectKind.BICYCLE else 22.0))
    return [_box(route, s_m, offset_m, turn_rad, kind, speed_mps)]


def _crossing(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    offset_m, side = float(rng.uniform(3.0, 40.0)), float(rng.choice([-1.0, 1.0]))
    turn_rad = -side * 0.5 * np.pi + float(rng.normal(0.0, 0.4))
    return [_box(route, s_m, side * offset_m, turn_rad, _kind(rng), float(rng.uniform(1.0, 16.0)))]


def _walker(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    turn_rad, speed_mps = float(rng.uniform(-np.pi, np.pi)), float(rng.choice([0.0, 1.0]) * rng.uniform(0.4, 3.0))
    return [_box(route, s_m, float(rng.uniform(-8.0, 8.0)), turn_rad, ObjectKind.PEDESTRIAN, speed_mps)]


def _nonsense(route: Route, s_m: float, rng: np.random.Generator) -> list[TrackedObject]:
    """A road user with one to three numbers that cannot be."""
    item = _driving(route, s_m, rng)[0]
    for name in rng.choice(["x_m", "y_m", "yaw_rad", "vx", "vy", "length_m", "width_m"], size=int(rng.integers(1, 4))):
        value = float(rng.choice(_NONSENSE))
        if name in ("vx", "vy"):
            vx, vy = item.velocity_mps
            item = replace(item, velocity_mps=(value, vy) if name == "vx" else (vx, value))
        else:
            item = replace(item, **{str(name): value})  # type: ignore[arg-type]
    return [item]
