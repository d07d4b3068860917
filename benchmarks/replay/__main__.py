"""Measures recording and replay; each prints JSON, and writes it with `--out FILE`.

`codecs DRIVE.mcap`: size and time of lossless codecs on the drive's pictures. `cost`: what recording costs the loop of
a drive. `writing DRIVE.mcap`: CPU time and size of what is written. `speed DRIVE.mcap ...`: size of exactly recorded
drives, speed of their replay, and whether it is byte-equal. `branches`: whether branches of a drive repeat it to the
bit. `kept`: drive the short drives anew that tests replay, and replace their files; run it in the project's folder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.__main__ import machine
from benchmarks.replay.branches import measure_branches
from benchmarks.replay.codecs import compare_codecs
from benchmarks.replay.cost import measure_cost
from benchmarks.replay.kept import FOLDER, make_kept
from benchmarks.replay.speed import measure_speed
from benchmarks.replay.writing import measure_writing


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    codecs = what.add_parser("codecs")
    codecs.add_argument("recording", type=Path)
    codecs.add_argument("--pictures", type=int, default=60, help="so many, from the middle on (%(default)s)")
    cost = what.add_parser("cost")
    cost.add_argument("--rounds", type=int, default=15, help="blocks of each kind (%(default)s)")
    writing = what.add_parser("writing")
    writing.add_argument("recording", type=Path)
    speed = what.add_parser("speed")
    speed.add_argument("recordings", type=Path, nargs="+")
    branches = what.add_parser("branches")
    branches.add_argument("--seconds", type=float, default=26.0, help="length of the drive (%(default)s)")
    branches.add_argument("--count", type=int, default=10, help="branches without a change (%(default)s)")
    kept = what.add_parser("kept")
    kept.add_argument("--folder", type=Path, default=FOLDER)
    for each in (codecs, cost, writing, speed, branches, kept):
        each.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "codecs":
        figures = compare_codecs(arguments.recording, arguments.pictures)
    elif arguments.what == "cost":
        figures = measure_cost(arguments.rounds)
    elif arguments.what == "writing":
        figures = measure_writing(arguments.recording)
    elif arguments.what == "kept":
        figures = make_kept(arguments.folder)
    elif arguments.what == "branches":
        figures = measure_branches(arguments.seconds, arguments.count)
    else:
        figures = measure_speed(arguments.recordings)
    text = json.dumps({"machine": machine(), **figures}, indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
