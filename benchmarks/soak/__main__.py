"""Runs all soak tests, one after the other: `python -m benchmarks.soak [ticks|loads|vanish ...]`.

Stop it with Ctrl-C; the next start continues where it was. The figures are in FOLDER/*.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PARTS = ("vanish", "loads", "ticks")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which to run; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    arguments = parser.parse_args()
    worst = 0
    for part in arguments.parts or PARTS:
        command = [sys.executable, "-m", f"benchmarks.soak.{part}", "--out", str(arguments.out)]
        child = subprocess.Popen(command)
        try:
            status = child.wait()
        except KeyboardInterrupt:
            child.wait()
            return 130
        worst = max(worst, abs(status))
        if status < 0:
            print(f"{part}: the client died of signal {-status}", flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
