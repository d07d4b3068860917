"""Plans in random worlds and checks the plans: `python -m benchmarks.random_worlds --count 2000 --json FILE`.

Exits with 1 if a plan was at fault or the planner raised an exception. `--first` is the seed of the first world: one
world alone is `--first SEED --count 1`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import track

from benchmarks.random_worlds.drive import Outcome, drive_world
from benchmarks.random_worlds.world import draw_world


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_worlds", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="number of worlds")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one; the others count on from it")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    console = Console(stderr=True)
    figures: Counter[str] = Counter()
    maps: Counter[str] = Counter()
    manoeuvres: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    begin_s = time.perf_counter()
    seeds = range(arguments.first, arguments.first + arguments.count)
    for seed in track(seeds, "worlds", console=console):
        world = draw_world(seed)
        outcome = drive_world(world)
        maps[world.map_name] += 1
        manoeuvres += outcome.manoeuvres
        figures.update(_counts(outcome, len(world.others)))
        if outcome.faults:
            wrong[str(seed)] = outcome.faults
            console.print(f"world {seed} on {world.map_name}: {outcome.faults[0]}", style="red")
    result = {
        "worlds": arguments.count,
        "first_seed": arguments.first,
        "maps": dict(sorted(maps.items())),
        **dict(figures),
        "manoeuvres": dict(sorted(manoeuvres.items())),
        "worlds_with_faults": len(wrong),
        "faults": wrong,
        "wall_s": round(time.perf_counter() - begin_s, 1),
    }
    text = json.dumps(result, indent=2) + "\n"
    if arguments.json is not None:
        arguments.json.write_text(text)
    print(text, end="")
    return 1 if wrong else 0


def _counts(outcome: Outcome, tracks: int) -> dict[str, int]:
    return {
        "plans": outcome.plans,
        "tracks": tracks,
        "nonsense_tracks_rejected": outcome.rejected,
        "worlds_that_end_standing": int(outcome.stands),
        "exceptions": int(outcome.exception),
    }


if __name__ == "__main__":
    raise SystemExit(main())
