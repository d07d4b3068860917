"""Run the benchmarks one after the other; write the JSON of each, with machine and package versions, to a folder."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

BENCHMARKS = ("server", "physics", "dynamics", "crowd", "render", "closed_loop", "perception")
PACKAGES = ("carla", "numpy", "opencv-python", "moderngl")


def machine() -> dict[str, str | int]:
    """The machine and package versions on which the figures are measured."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    versions = {name: version(name) for name in PACKAGES}
    return {"cpu": cpu, "cores": os.cpu_count() or 0, "python": platform.python_version(), **versions}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which to run; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    console = Console()
    table = Table("benchmark", "figure", "value")
    for name in arguments.names or BENCHMARKS:
        with console.status(f"measuring {name}"):
            run = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            console.print(f"benchmark {name} failed with status {run.returncode}", style="red")
            return 1
        figures = json.loads(run.stdout)
        (arguments.out / f"{name}.json").write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")
        for key, value in figures.items():
            table.add_row(name, key, f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)
    console.print(f"files: {arguments.out}/*.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
