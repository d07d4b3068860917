"""Drive one map with the stack for 60 s: `python -m benchmarks.real_maps.stack FOLDER MAP OUT`; prints JSON.

The route starts at a spawn point and follows its lane for up to 500 m, with a random choice at junctions.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import carla

from av_core.errors import AvStackError
from av_stack.run import Options, run
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.prover import die_with_parent
from embedded_carla.opendrive import parse
from embedded_carla.scenery import build
from scenarios.model import RouteTable, Scenario, TrafficTable

TIMEOUT_S, CARS = 60.0, 10
LONGEST_M, SHORTEST_M, STEP_M = 500.0, 60.0, 5.0
_TRIES = 40


def route(folder: Path, name: str) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Start and goal of the longest of some random routes along the lanes; None if all are too short."""
    network = parse(MapLibrary([folder]).load_text(name)[1], name)
    town = carla.Map(name, network.xodr_text)
    rng, best, length_m = random.Random(0), None, SHORTEST_M
    places = list(build(network, 0).spawn_points)
    for place in rng.sample(places, min(_TRIES, len(places))):
        start = town.get_waypoint(carla.Location(place.x, place.y, place.z))
        waypoint, along_m = start, 0.0
        while along_m < LONGEST_M and (following := waypoint.next(STEP_M)):
            waypoint, along_m = rng.choice(following), along_m + STEP_M
        if along_m > length_m:
            ends = (start.transform.location, waypoint.transform.location)
            best, length_m = ((ends[0].x, ends[0].y), (ends[1].x, ends[1].y)), along_m
    return best


def drive(folder: Path, name: str, out: Path) -> dict[str, Any]:
    """Figures of the drive, or the error for which there was none."""
    ends = route(folder, name)
    if ends is None:
        return {"error": f"no way of {SHORTEST_M:g} m from any spawn point"}
    scenario = Scenario(
        name="real_map", map=name, seed=0, route=RouteTable(start=ends[0], goal=ends[1]),
        traffic=TrafficTable(vehicles=CARS), timeout_s=TIMEOUT_S,
    )  # fmt: skip
    try:
        figures = run(scenario, Options(out=out, maps=folder)).figures
    except AvStackError as error:
        return {"error": str(error)}
    return {
        key: figures[key] for key in ("end", "error", "collisions", "route_completion", "distance_m") if key in figures
    }


def main() -> None:
    die_with_parent()
    print(json.dumps(drive(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
