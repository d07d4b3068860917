"""Which constraints keep drives below the speed limit, outside stops for lights and queues.

`python -m benchmarks.pace DRIVE/result.json ... --out pace.json` prints a table: for each drive the mean speed as a
percentage of the limit, and the percentage of the limit that each kind of constraint cost.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from av_core.types import ConstraintKind


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pace", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    drives = [shares(json.loads(path.read_text())) for path in arguments.results]
    print(table(drives))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(drives, indent=2) + "\n")


def shares(result: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of one result.json: speed as a fraction of the limit, and what each kind of constraint cost.

    `took` is the part of the shortfall due to each kind, `time` the fraction of the time outside stops.
    """
    spent = result["constraints"]
    lost_m = sum(kind["outside_stops_lost_m"] for kind in spent.values())
    time_s = sum(kind["outside_stops_s"] for kind in spent.values())
    missing = 1.0 - result["speed_ratio"]
    return {
        **{name: result[name] for name in ("scenario", "seed", "weather", "end", "route_completion", "oracles")},
        "time_s": result["time_s"],
        "outside_stops_s": round(time_s, 2),
        "speed_ratio": round(result["speed_ratio"], 4),
        "took": {
            name: round(missing * kind["outside_stops_lost_m"] / lost_m, 4) if lost_m > 0.0 else 0.0
            for name, kind in spent.items()
        },
        "time": {
            name: round(kind["outside_stops_s"] / time_s, 4) if time_s > 0.0 else 0.0 for name, kind in spent.items()
        },
    }


def table(drives: Sequence[Mapping[str, Any]]) -> str:
    """Markdown table, one row per drive; constraint kinds that cost nothing in any drive are left out."""
    kinds = [kind.value for kind in ConstraintKind if any(drive["took"].get(kind.value, 0.0) for drive in drives)]
    lines = [
        f"| drive | outside stops | speed | {' | '.join(kinds)} |",
        f"|---|{'---:|' * (len(kinds) + 2)}",
    ]
    for drive in drives:
        took = " | ".join(f"{100 * drive['took'].get(kind, 0.0):.1f}" for kind in kinds)
        name = f"{drive['scenario']}, seed {drive['seed']}"
        lines.append(f"| {name} | {drive['outside_stops_s']:.0f} s | {100 * drive['speed_ratio']:.1f} % | {took} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
