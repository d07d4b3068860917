"""`python -m benchmarks.places --maps DIR` finds places for all types on our own towns and CARLA's.

It writes docs/scenarios/places.json and prints the two tables of docs/scenarios/places.md: how many places each map
has, and what the others lack. With `--pictures DIR` it also draws them, one picture for each map.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from benchmarks.places import CARLAS, COUNT, OUT, OWN, SEED, as_json, tables
from scenarios.leaderboard.placing.find import find_places
from scenarios.leaderboard.types import TYPES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--maps", type=Path, help="folder with the .xodr files of CARLA's towns")
    parser.add_argument("--out", type=Path, default=OUT, help="the JSON file to write")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each map with its places")
    args = parser.parse_args()
    files = embedded_map_files(args.maps)
    graphs = {name: read_lane_graph(files[name]) for name in (*OWN, *CARLAS) if name in files}
    found = {
        type_name: {name: find_places(type_name, graph, SEED, COUNT) for name, graph in graphs.items()}
        for type_name in TYPES
    }
    rows = {name: {key: as_json(places) for key, places in by_map.items()} for name, by_map in found.items()}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps({"seed": SEED, "count": COUNT, "types": rows}, indent=1) + "\n", encoding="utf-8")
    print("\n".join(tables(rows)))
    if args.pictures is not None:
        from benchmarks.places.drawing import draw

        args.pictures.mkdir(parents=True, exist_ok=True)
        for name, graph in graphs.items():
            draw(graph, [by_map[name] for by_map in found.values()], args.pictures / f"{name}.png")


if __name__ == "__main__":
    main()
