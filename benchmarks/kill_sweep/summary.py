"""Summary of a kill sweep: faults, and by target and signal the longest times and the largest losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

END_MAX_S = 5.0
LOSS_MAX_S = 1.0
FILES = ("recording", "video")


def summarise(done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Figures by target and signal, and of the disks; `faults` names each case that broke promises, and these."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for figures in done:
        name = f"{figures['target']} {figures['signal']}" if figures["target"] else "disks that fill"
        groups.setdefault(name, []).append(figures)
    return {
        "cases": len(done),
        "groups": {name: _group(groups[name]) for name in sorted(groups)},
        "faults": {figures["name"]: found for figures in done if (found := faults(figures))},
    }


def faults(figures: Mapping[str, Any]) -> list[str]:
    """The promises that a case broke, one line each."""
    found = []
    if figures["target"] and (figures["is_hung"] or figures["end_s"] > END_MAX_S):
        found.append(f"ended after {figures['end_s']} s")
    if not figures["target"] and figures["is_hung"]:
        found.append("hung")
    for name in ("left_processes", "temporary_files", "shared_memory", "strangers"):
        if figures[name]:
            found.append(f"{name}: {figures[name]}")
    if figures["result"] not in ("complete", "absent"):
        found.append(f"result: {figures['result']}")
    for name in FILES:
        if figures[name] not in ("complete", "absent"):
            found.append(f"{name}: {figures[name]}")
        loss_s = _loss_s(figures, name)
        if figures["target"] and loss_s is not None and loss_s > LOSS_MAX_S:
            found.append(f"{name} lacks {loss_s:.2f} s")
    if figures.get("rerun", "complete") != "complete":
        found.append(f"rerun: {figures['rerun']}")
    if not figures["target"] and figures["result"] != "complete" and figures["status"] != 2:
        found.append("no result")
    if figures["has_traceback"] and figures["phase"] != "loading":
        found.append("traceback")
    return found


def _loss_s(figures: Mapping[str, Any], name: str) -> float | None:
    """Simulated time of the drive that is missing in a file, s; None if the drive had not begun."""
    clock_s = figures["clock_s"]
    return None if clock_s is None else clock_s - (figures[f"{name}_s"] or 0.0)


def _group(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    losses = {name: [loss for one in figures if (loss := _loss_s(one, name)) is not None] for name in FILES}
    return {
        "cases": len(figures),
        "ended_before_signal": sum(one["ended_before_signal"] for one in figures),
        "longest_end_s": max(one["end_s"] for one in figures),
        "longest_until_all_gone_s": max(one["all_gone_s"] for one in figures),
        "left_processes": sum(one["left_processes"] for one in figures),
        "results": dict(Counter(one["result"] for one in figures)),
        "recordings": dict(Counter(one["recording"] for one in figures)),
        "videos": dict(Counter(one["video"] for one in figures)),
        "rerun": dict(Counter(one.get("rerun", "not asked") for one in figures)),
        "most_lacking_s": {name: round(max(losses[name], default=0.0), 2) for name in FILES},
        "statuses": {str(status): count for status, count in sorted(Counter(one["status"] for one in figures).items())},
    }
