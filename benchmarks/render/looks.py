"""Cost of looks: views of a drive in several looks, picture by picture in turn.

    python -m benchmarks.render.looks [--rounds 5] [--out FILE]

For each look and weather the processor time of all threads of a picture, ms: for each view the minimum over the rounds,
then the mean over the views; `more` is the fraction above the default look. Renderers of all looks are in one process,
and draw each view one after the other, so that other load of the machine meets all of them alike.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.render import drive
from benchmarks.render.__main__ import WEATHERS
from embedded_carla.maps import MapLibrary
from embedded_carla.opendrive import parse
from embedded_carla.render import Renderer
from embedded_carla.render.look import look_of
from embedded_carla.scenery import build

LOOKS = (0, 1, 2, 4)
SIZE_PX = (640, 360)
EVERY = 8  # of the drive's views


def measure(rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """By weather and look: processor time and its excess over the default look."""
    name, text = MapLibrary([]).load_text(drive.MAP)
    scenery = build(parse(text, name))
    views, own = drive.views(SIZE_PX)
    views = views[::EVERY]
    renderers = {seed: Renderer(scenery, look_of(seed)) for seed in LOOKS}
    result: dict[str, dict[str, dict[str, float]]] = {}
    for weather_name, weather in {"drive": own, "night": WEATHERS["night"]}.items():
        least = {seed: np.full(len(views), np.inf) for seed in LOOKS}
        for _ in range(rounds):
            for k, view in enumerate(views):
                for seed, renderer in renderers.items():
                    drive.draw(renderer, view, weather)  # its shadows are kept for the one that counts
                    least[seed][k] = min(least[seed][k], drive.draw(renderer, view, weather)[1])
        usual = least[0].mean()
        result[weather_name] = {
            str(seed): {"cpu_ms": round(float(some.mean()), 2), "more": round(float(some.mean() / usual - 1.0), 3)}
            for seed, some in least.items()
        }
    for renderer in renderers.values():
        renderer.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a file for the JSON as well")
    args = parser.parse_args()
    written = json.dumps(measure(args.rounds), indent=1)
    print(written)
    if args.out is not None:
        args.out.write_text(written + "\n")


if __name__ == "__main__":
    main()
