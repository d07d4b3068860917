"""Compares two folders of one suite: `python -m benchmarks.suite_equal A B [--json FILE]`.

For each run: the verdict and the scores, every figure of result.json, and every message of the recording, byte for
byte. What measures time on a clock is left out: how long stages took, and which of them were late. The exit status is 1
where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mcap.reader import make_reader

CLOCKED = ("steps_per_s", "stage_ms")
"""Figures of result.json that measure time on a clock."""

STAGE_MS, SUPERVISION, LATE_STAGES = "/stage_ms", "/supervision", "late_stages"
"""The topic that measures time on a clock, the one that does so in one of its fields, and this field."""

VERDICT = ("end", "error", "driving_score", "driving_score_2_1", "route_completion", "shortcomings", "infractions")


def compare(first: Path, second: Path) -> dict[str, Any]:
    """What is equal in two suites: for each run its verdict, its other figures, and each topic of its recording."""
    one, other = (json.loads((folder / "suite.json").read_text()) for folder in (first, second))
    names = [entry["scenario"] for entry in one["drives"]]
    others = [entry["scenario"] for entry in other["drives"]]
    runs = {name: _compare_run(first / name, second / name) for name in names if name in others}
    return {
        "suite": one["suite"],
        "agent": one["fingerprint"]["options"]["agent"],
        "code": [one["fingerprint"]["version"]["code"], other["fingerprint"]["version"]["code"]],
        "processor": one["fingerprint"]["machine"]["processor"],
        "only_in_one": sorted(set(names) ^ set(others)),
        "runs": runs,
        "messages": sum(run["messages"] for run in runs.values()),
        "is_equal": names == others and bool(runs) and all(run["is_equal"] for run in runs.values()),
    }


def _compare_run(first: Path, second: Path) -> dict[str, Any]:
    one, other = (figures_of(folder) for folder in (first, second))
    here, there = _topics(first / "recording.mcap"), _topics(second / "recording.mcap")
    different = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    return {
        "end": one["end"],
        "driving_score": one["driving_score"],
        "is_verdict_equal": not set(VERDICT) & set(different),
        "different_figures": different,
        "different_topics": [topic for topic in {**here, **there} if here.get(topic) != there.get(topic)],
        "messages": sum(count for count, _ in here.values()),
        "is_equal": not different and here == there,
    }


def figures_of(folder: Path) -> dict[str, Any]:
    """The figures of result.json that measure no time on a clock. Agents other than the stack have no supervision."""
    figures: dict[str, Any] = json.loads((folder / "result.json").read_text())
    if figures.get("supervision") is not None:
        figures["supervision"].pop(LATE_STAGES)
    return {name: value for name, value in figures.items() if name not in CLOCKED}


def _topics(path: Path) -> Mapping[str, tuple[int, str]]:
    """For each topic, the number of its messages and a digest of their times and bytes."""
    counts: dict[str, int] = {}
    digests: dict[str, Any] = {}
    with path.open("rb") as file:
        for _, channel, message in make_reader(file).iter_messages():
            if channel.topic == STAGE_MS:
                continue
            data = _without_late_stages(message.data) if channel.topic == SUPERVISION else message.data
            total = digests.setdefault(channel.topic, hashlib.sha256())
            total.update(message.log_time.to_bytes(8, "little") + data)
            counts[channel.topic] = counts.get(channel.topic, 0) + 1
    return {topic: (counts[topic], digest.hexdigest()) for topic, digest in digests.items()}


def _without_late_stages(data: bytes) -> bytes:
    message: dict[str, Any] = json.loads(data)
    message.pop(LATE_STAGES, None)
    return json.dumps(message).encode()


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for name, run in found["runs"].items():
        told = "equal" if run["is_equal"] else f"differs: {run['different_figures']} {run['different_topics']}"
        yield f"{name}: {run['end']}, score {run['driving_score']:.1f}, {run['messages']} messages: {told}"
    for name in found["only_in_one"]:
        yield f"{name}: only in one of the folders"


def run_comparison(
    parser: argparse.ArgumentParser,
    compare: Callable[[Path, Path], dict[str, Any]],
    lines: Callable[[Mapping[str, Any]], Iterator[str]],
) -> int:
    """Compare the two folders of the command line, print and write what was found; 1 where anything differs.

    `lines` are what is printed of the answer of `compare`.
    """
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    found = compare(arguments.first, arguments.second)
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    for line in lines(found):
        print(line)
    print("equal" if found["is_equal"] else "not equal")
    return 0 if found["is_equal"] else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suite_equal", description=__doc__)
    return run_comparison(parser, compare, _lines)


if __name__ == "__main__":
    raise SystemExit(main())
