"""The controller and CARLA's published PID through the same manoeuvres: `python -m benchmarks.control [--page]`.

Writes `study.json` and the figures to the folder, by default `out/control`. With `--page` it writes them to
`docs/control` and the tables into `docs/control.md`. It starts the embedded server itself, once for each handling.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import Progress

from av_stack.server_process import ServerProcess
from av_stack.world.carla.open_ground import OpenGround
from benchmarks.control import plots, tables
from benchmarks.control.drives import Trace, drive, figures_of, ours, published
from benchmarks.control.manoeuvres import MANOEUVRES, Reference
from benchmarks.control.roads import ROADS, Road
from benchmarks.control.tables import OURS, PUBLISHED
from sim_configs.load import load_stack

SPEEDS_MPS = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0)
BLUEPRINT = "vehicle.lincoln.mkz_2020"
PAGE = Path("docs/control.md")


def study(ground: OpenGround, road: Road, speed_mps: float, traces: plots.Traces) -> list[dict[str, Any]]:
    """The figures of all manoeuvres at one speed; the traces are added to `traces`."""
    accel = road.lateral_limit_mps2(speed_mps)
    config = load_stack(road.stack).control
    rows = []
    for make in MANOEUVRES:
        reference = make(speed_mps, accel)
        for name, trace in both(ground, reference, config).items():
            key = {"road": road.name, "manoeuvre": reference.name, "speed_mps": speed_mps, "controller": name}
            traces[road.name, reference.name, speed_mps, name] = trace
            rows.append({**key, "lateral_limit_mps2": round(accel, 2), **figures_of(trace).as_row()})
    return rows


def both(ground: OpenGround, reference: Reference, config: Any) -> dict[str, Trace]:
    """Each controller's drive."""
    ground.release(0.0)
    return {
        OURS: drive(ground, reference, partial(ours, reference, ground.vehicle, config)),
        PUBLISHED: drive(ground, reference, partial(published, reference, ground.vehicle)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/control"), help="folder for JSON and PNG")
    parser.add_argument("--page", action="store_true", help=f"write to docs/control and {PAGE} instead")
    parser.add_argument("--road", choices=[road.name for road in ROADS], action="append", help="only these roads")
    arguments = parser.parse_args()
    folder = Path("docs/control") if arguments.page else arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    roads = [road for road in ROADS if road.name in (arguments.road or [each.name for each in ROADS])]
    rows: list[dict[str, Any]] = []
    traces: plots.Traces = {}
    with Progress() as progress:
        task = progress.add_task("drives", total=len(roads) * len(SPEEDS_MPS))
        for road in roads:
            server = ServerProcess(["--handling", road.handling])
            with server as address, OpenGround(address, BLUEPRINT, road.weather) as ground:
                for speed in SPEEDS_MPS:
                    rows += study(ground, road, speed, traces)
                    progress.advance(task)
    (folder / "study.json").write_text(json.dumps(rows, indent=0) + "\n")
    if arguments.page:
        PAGE.write_text(tables.fill(PAGE.read_text(), rows))
    plots.draw_all(folder, rows, traces)
    print(tables.text(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
