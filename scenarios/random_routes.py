"""Makes drives through a town from a seed: a route of the wanted length, with traffic, in some weather."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from av_core.errors import ConfigError, RouteError
from av_core.frames import carla_to_map_points, map_to_carla_points
from av_core.types import Lane, LaneGraph
from planning import find_route, pose_on_lane
from scenarios.limits import SEED_MAX
from scenarios.model import Place, RouteTable, Scenario, TrafficTable

WEATHERS = tuple(
    f"{sky}{sun}"
    for sky in ("Clear", "Cloudy", "Wet", "WetCloudy", "SoftRain", "HardRain")
    for sun in ("Noon", "Sunset", "Night")
)
"""Presets of CARLA from which the weather is drawn."""

VEHICLES_MAX = 30
"""Largest number of vehicles that the TrafficManager drives."""

TRIES_MAX = 400
"""Largest number of random walks on the lane graph that are tried for one route."""

END_M = 15.0
"""Least distance of start and goal from the ends of their lanes."""

SLOWEST_MPS = 2.0
"""Mean speed, stops included, from which the time-out is computed."""

START_S = 30.0


@dataclass(frozen=True, slots=True)
class Length:
    """Least and largest length of a route in metres."""

    least_m: float = 500.0
    most_m: float = 1500.0


def random_scenario(graph: LaneGraph, map_name: str, seed: int, number: int, length: Length | None = None) -> Scenario:
    """The `number`th drive of `seed` through the town; equal arguments give equal drives.

    Raises ConfigError where the town has no such route.
    """
    length = length or Length()
    rng = np.random.default_rng([seed, number, crc32(map_name.encode())])
    lanes = [lane for lane in graph.lanes.values() if not lane.is_junction and lane.length_m > 2.0 * END_M]
    if not lanes:
        raise ConfigError(f"{map_name}: no lane outside junctions is longer than {2.0 * END_M:g} m")
    weights = np.array([lane.length_m for lane in lanes])
    for _ in range(TRIES_MAX):
        first = lanes[int(rng.choice(len(lanes), p=weights / weights.sum()))]
        start_s_m = float(rng.uniform(END_M, first.length_m - END_M))
        last, goal_s_m = _walk(rng, graph, first, start_s_m, float(rng.uniform(length.least_m, length.most_m)))
        if last.is_junction or not END_M <= goal_s_m <= last.length_m - END_M:
            continue
        start, goal = _place(first, start_s_m), _place(last, goal_s_m)
        length_m = _route_length_m(graph, start, goal)
        if length_m is not None and length.least_m <= length_m <= length.most_m:
            return Scenario(
                name=f"{map_name}_{seed}_{number:03d}",
                map=map_name,
                weather=str(rng.choice(WEATHERS)),
                seed=int(rng.integers(SEED_MAX)),
                route=RouteTable(start=start, goal=goal),
                traffic=TrafficTable(vehicles=int(rng.integers(VEHICLES_MAX + 1))),
                timeout_s=round(START_S + length_m / SLOWEST_MPS),
            )
    raise ConfigError(
        f"{map_name}: none of {TRIES_MAX} random routes is {length.least_m:g} to {length.most_m:g} m long"
    )


def _walk(rng: np.random.Generator, graph: LaneGraph, lane: Lane, s_m: float, distance_m: float) -> tuple[Lane, float]:
    """The lane and arc length `distance_m` ahead, on a random branch at every fork; the end of the road if nearer."""
    left_m = distance_m - (lane.length_m - s_m)
    while left_m > 0.0 and lane.successors:
        lane = graph.lanes[lane.successors[int(rng.integers(len(lane.successors)))]]
        left_m -= lane.length_m
    return lane, min(lane.length_m + left_m, lane.length_m)


def _place(lane: Lane, s_m: float) -> Place:
    """A place on a lane, in CARLA's frame, rounded as a table shows it."""
    x_m, y_m, _ = lane.curve.pose_at(s_m)
    x, y = np.asarray(map_to_carla_points((float(x_m), float(y_m)))).reshape(-1)
    return round(float(x), 1), round(float(y), 1)


def _route_length_m(graph: LaneGraph, start: Place, goal: Place) -> float | None:
    """Length of the route that the stack takes between two places; None where there is none."""
    try:
        first, last = (pose_on_lane(graph, *map(float, carla_to_map_points(place))) for place in (start, goal))
        return find_route(graph, first, last).length_m
    except RouteError:
        return None
