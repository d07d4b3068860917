"""Tables of driven runs: agents on the scenario types, weathers, looks, branches, faults, and the two judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks import markdown_tables
from benchmarks.verdicts import AGENTS

Rows = Sequence[Mapping[str, Any]]


def agents(rows: Rows) -> str:
    """What each agent got on the routes that it drove, and what the stack got on the same ones."""
    cells = []
    for agent in AGENTS:
        own = [row["verdicts"][agent] for row in rows if agent in row["verdicts"]]
        if not own:
            continue
        scores = [one["score"] for one in own if one["score"] is not None]  # a crash has none
        both = [row["verdicts"] for row in rows if {agent, "stack"} <= row["verdicts"].keys()]
        cells.append(
            (
                agent,
                str(len(own)),
                _share(one["passed"] for one in own),
                f"{mean(scores):.1f}" if scores else "–",
                _share(one["stack"]["passed"] for one in both) if agent != "stack" else "",
            )
        )
    names = ("agent", "routes driven", "passed", "mean score 2.1", "the stack on the same routes")
    return markdown_tables.rows(names, cells)


def types(rows: Rows) -> str:
    """How many of the two routes of each type the stack and the autopilot passed, and what the stack lacked."""
    by_type: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_type[row["type"]].append(row["verdicts"])
    cells = []
    for name, verdicts in by_type.items():
        lacks = Counter("; ".join(one["stack"]["shortcomings"]) for one in verdicts if "stack" in one)
        cells.append(
            (
                f"`{name}`",
                *(_share(one[agent]["passed"] for one in verdicts if agent in one) for agent in ("stack", "autopilot")),
                " / ".join(f"{lack} (both)" if count == 2 else lack for lack, count in lacks.items() if lack),
            )
        )
    return markdown_tables.rows(("type", "stack passed", "autopilot passed", "what the stack lacked"), cells)


def weathers(suite: Mapping[str, Any]) -> str:
    """One drive in each weather of the suite."""
    cells = [
        (
            drive["weather"],
            f"{100.0 * drive['route_completion']:.0f} %",
            f"{drive['driving_score']:.0f}",
            str(sum(drive[name] for name in ("collisions", "red_lights", "stop_signs"))),
        )
        for drive in suite["drives"]
    ]
    return markdown_tables.rows(("weather", "route completed", "driving score 2.0", "infractions"), cells)


def looks(drives: Mapping[str, Mapping[str, Any]]) -> str:
    """One drive in each look that no training picture had."""
    cells = [
        (
            name,
            f"{100.0 * drive['route_completion']:.0f} %",
            f"{drive['driving_score']:.0f}",
            f"{drive['time_s']:.0f} s",
        )
        for name, drive in drives.items()
    ]
    return markdown_tables.rows(("look", "route completed", "driving score 2.0", "time"), cells)


def branches(study: Mapping[str, Any]) -> str:
    """How far each branch of one drive repeats it to the bit, and when one with a changed gain first differs."""
    cells = [_branch("none", one) for one in study["branches"]]
    cells.append(_branch(f"`{study['change']}`", study["changed"]))
    names = (
        "change",
        "branch at",
        "steps restored",
        "equal to the bit after it",
        "first different command",
        "farthest",
    )
    return markdown_tables.rows(names, cells)


def _branch(change: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    command = one["first_differences"].get("command")
    return (
        change,
        f"{one['branch_s']:.2f} s",
        str(one["restored_steps"]),
        f"{one['equal_steps']} of {one['compared_steps']} steps",
        "–" if command is None else f"`{command['field']}` at {command['time_s']:.2f} s",
        f"{one['farthest_m']:.2g} m" if one["farthest_m"] else "0 m",
    )


def faults(table: Mapping[str, Any]) -> str:
    """What each fault led to, beside the same drive without one."""
    whole = float(table["cases"][0]["driving_score"])
    cells = [
        (
            f"`{case['case']}`",
            case["wanted"] or "–",
            f"{case['reached_s']:.2f} s" if case["reached_s"] is not None else "–",
            str(case["collisions"]),
            f"{1.0 - case['driving_score'] / whole:.2f}" if "driving_score" in case else "–",
        )
        for case in table["cases"]
    ]
    return markdown_tables.rows(("fault", "state wanted", "reached after", "collisions", "score lost"), cells)


def judges(runs: Sequence[Mapping[str, Any]]) -> str:
    """On how many routes the unmodified Leaderboard evaluator and this project's judge came to the same verdict."""
    equal = [run for run in runs if not run["differs"]]
    causes = Counter(run["cause"] for run in runs if run["differs"])
    kinds = {name for run in runs for name in run["types"].split(", ")}
    cells = [("equal", str(len(equal)))]
    cells += [(cause or "no cause found", str(count)) for cause, count in causes.most_common()]
    table = markdown_tables.rows(("verdict and score under both judges", f"of {len(runs)} runs"), cells)
    return f"{table}\nThe runs are of {len(kinds)} types.\n"


def _share(passed: Any) -> str:
    """How many of some are true, "3 of 4"; a dash where there are none."""
    given = list(passed)
    return f"{sum(given)} of {len(given)}" if given else "–"
