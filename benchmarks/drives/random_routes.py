"""`python -m benchmarks.drives.random_routes` writes random drives with a fixed number of cars.

    python -m benchmarks.drives.random_routes --maps DIR --map Town01,Town02,Town04,Town10HD --seed 7 --count 24 \
        --cars 25 --weathers ClearNoon,HardRainNoon --out FOLDER/random
    av-stack suite FOLDER/random --maps DIR

The routes are those of `av-stack suite random` with the same towns and seed. Towns and weathers take turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import yaml

from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from scenarios.model import Scenario, TrafficTable
from scenarios.random_routes import random_scenario
from scenarios.suites import DEMO_WEATHERS


def random_drives(
    towns: Sequence[str], maps: Path | None, seed: int, count: int, cars: int, weathers: Sequence[str]
) -> list[Scenario]:
    """`count` drives of `seed`, in turn through the towns and in the weathers, with `cars` vehicles each."""
    files = embedded_map_files(maps)
    graphs = {town: read_lane_graph(files[town]) for town in towns}
    drives = []
    for number in range(count):
        town = towns[number % len(towns)]
        weather = weathers[number % len(weathers)]
        drive = random_scenario(graphs[town], town, seed, number)
        drives.append(drive.model_copy(update={"weather": weather, "traffic": TrafficTable(vehicles=cars)}))
    return drives


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drives.random_routes", description=__doc__)
    parser.add_argument("--maps", type=Path, help="folder with more .xodr maps")
    parser.add_argument("--map", required=True, metavar="NAMES", help="towns, comma-separated")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--cars", type=int, required=True)
    parser.add_argument("--weathers", default=",".join(DEMO_WEATHERS), metavar="NAMES", help="comma-separated")
    parser.add_argument("--out", type=Path, required=True, help="folder for one YAML file for each drive")
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    drives = random_drives(
        given.map.split(","), given.maps, given.seed, given.count, given.cars, given.weathers.split(",")
    )
    for drive in drives:
        plain = drive.model_dump(mode="json", exclude_none=True, exclude={"weather_keyframes"})
        (given.out / f"{drive.name}.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))


if __name__ == "__main__":
    main()
