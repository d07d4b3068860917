"""The infractions of a drive for people: a description of each, and its effect on the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from av_stack.report.parts import text
from scenarios.judging.score import MINIMUM_SPEED_LOSS_20, MINIMUM_SPEED_WEIGHT_21, PENALTIES

WORDS = {
    "collision_walker": "collision with a pedestrian",
    "collision_vehicle": "collision with a vehicle",
    "collision_static": "collision with something static",
    "red_light": "red light",
    "stop_sign": "stop sign",
    "scenario_timeout": "scenario not finished in time",
    "failed_yield": "emergency vehicle not let pass",
    "minimum_speed": "slower than the traffic",
    "outside_lanes": "outside the lanes",
    "deviation": "left the route",
    "blocked": "blocked",
    "route_timeout": "route time-out",
    "agent_error": "error of the agent",
}
"""Words for each kind of `infraction_log`."""

_COUNTED_BY = {
    "collision_walker": "collisions_walker",
    "collision_vehicle": "collisions_vehicle",
    "collision_static": "collisions_static",
    "red_light": "red_lights",
    "stop_sign": "stop_signs",
    "scenario_timeout": "scenario_timeouts",
    "failed_yield": "failed_yields",
}
"""The key of `PENALTIES` for each kind that has one."""


def infraction_rows(result: Mapping[str, Any], explained: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """The log with `words`, and with the factor in 2.0 (`factor`) and the weight in 2.1 (`weight`) as text.

    `explained` are the infractions of explain.json; its verdict on an infraction, if any, becomes `verdict`.
    """
    verdicts = {(one.get("kind"), one.get("time_s")): one.get("verdict") for one in explained}
    counted = result.get("infractions") or {}
    slow = iter(counted.get("minimum_speed_percent") or ())
    found = []
    for entry in result.get("infraction_log") or ():
        factor, weight = _costs(entry["kind"], counted, slow)
        verdict = verdicts.get((entry["kind"], entry["time_s"]))
        words = WORDS.get(entry["kind"], entry["kind"])
        found.append({**entry, "words": words, "factor": factor, "weight": weight, "verdict": verdict})
    return found


def infraction_table(found: list[dict[str, Any]]) -> str:
    """The table; a click on a row moves the page to its time (`data-row`)."""
    if not found:
        return '<p class="none">No infraction was counted.</p>'
    lines = "".join(
        f'<tr data-row="{number}" tabindex="0" title="show this moment">'
        f'<td><span class="number">{number + 1}</span></td><td class="num">{entry["time_s"]:.1f} s</td>'
        f"<td><b>{text(entry['words'])}</b><br>{text(entry['what'])}{_verdict(entry)}</td>"
        f'<td class="num">{entry["factor"]}</td><td class="num">{entry["weight"]}</td></tr>'
        for number, entry in enumerate(found)
    )
    head = "".join(
        f'<th{css} title="{title}">{name}</th>'
        for name, css, title in (
            ("", "", ""),
            ("time", ' class="num"', "since the first tick"),
            ("infraction", "", ""),
            ("2.0", ' class="num"', "factor on the driving score 2.0"),
            ("2.1", ' class="num"', "weight in the driving score 2.1"),
        )
    )
    return f'<table id="infractions"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _verdict(entry: Mapping[str, Any]) -> str:
    """A line that says what decided the infraction; empty if this is not known."""
    found = entry["verdict"]
    if not found:
        return ""
    return f'<br><span class="cause" title="{text(found["meaning"])}">verdict: {text(found["words"])}</span>'


def _costs(kind: str, counted: Mapping[str, Any], slow: Any) -> tuple[str, str]:
    if kind in _COUNTED_BY:
        penalty = PENALTIES[_COUNTED_BY[kind]]
        return f"× {penalty.factor_20:.2f}", f"+ {penalty.weight_21:.2f}"
    if kind == "minimum_speed":
        lacking = 1.0 - next(slow, 100.0) / 100.0
        return f"× {1.0 - MINIMUM_SPEED_LOSS_20 * lacking:.2f}", f"+ {MINIMUM_SPEED_WEIGHT_21 * lacking:.2f}"
    if kind == "outside_lanes":
        share = 1.0 - counted.get("outside_lane_share", 0.0)
        return f"× {share:.2f}", f"× {share:.2f}"
    return "ends", "ends"
