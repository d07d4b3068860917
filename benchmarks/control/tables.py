"""The study's figures as tables, and the place in `docs/control.md` that they fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.markdown_tables import placed, rows

OURS, PUBLISHED = "ours", "CARLA's"
STRAIGHT_MAX_M, CURVE_MAX_M, SPEED_MAX_MPS = 0.10, 0.20, 0.30
SWINGS_MAX = 1
ON_STRAIGHTS = ("straight", "speed")

Row = Mapping[str, Any]
"""The figures of one drive, as `study.json` lists them."""


def fill(page: str, drives: Sequence[Row]) -> str:
    """The page with the three tables between their marks."""
    for name, table in (("errors", errors(drives)), ("step", steps(drives)), ("goals", goals(drives))):
        page = placed(page, name, table)
    return page


def text(drives: Sequence[Row]) -> str:
    return "\n".join((errors(drives), steps(drives), goals(drives)))


def errors(drives: Sequence[Row]) -> str:
    """Error RMS of each manoeuvre and road by speed: ours / CARLA's, m; of the speed steps in m/s."""
    speeds = _speeds(drives)
    cells = []
    for road, manoeuvre in _kinds(drives):
        pairs = (_pair(drives, road, manoeuvre, speed) for speed in speeds)
        key = measure(manoeuvre)
        cells.append([road, manoeuvre, *(f"{ours[key]:.3f} / {other[key]:.3f}" for ours, other in pairs)])
    return rows(["road", "manoeuvre", *(f"{speed:g} m/s" for speed in speeds)], cells)


def steps(drives: Sequence[Row]) -> str:
    """Of the step of 1 m: overshoot in m and time in s until the error stays below 0.1 m, ours / CARLA's."""
    speeds = _speeds(drives)
    cells = []
    for road in dict.fromkeys(each["road"] for each in drives):
        pairs = [_pair(drives, road, "step", speed) for speed in speeds]
        cells.append([road, "overshoot", *(" / ".join(f"{one['overshoot_m']:.2f}" for one in pair) for pair in pairs)])
        cells.append([road, "settled", *(" / ".join(_settled(one) for one in pair) for pair in pairs)])
    return rows(["road", "of the step", *(f"{speed:g} m/s" for speed in speeds)], cells)


def goals(drives: Sequence[Row]) -> str:
    """How many of the drives on each road meet each goal, and which do not."""
    names = ("lateral error", "speed error", "no oscillation", "better than CARLA's")
    cells = []
    for road in dict.fromkeys(each["road"] for each in drives):
        own = [each for each in drives if each["road"] == road and each["controller"] == OURS]
        for name, is_met in zip(names, (_is_close, _keeps_speed, _is_calm, _is_better_in(drives)), strict=True):
            failed = [f"{each['manoeuvre']} {each['speed_mps']:g}" for each in own if not is_met(each)]
            cells.append([road, name, f"{len(own) - len(failed)} of {len(own)}", ", ".join(failed) or "none"])
    return rows(["road", "goal", "met", "not met (manoeuvre, m/s)"], cells)


def measure(manoeuvre: str) -> str:
    """The figure that a manoeuvre is compared by."""
    return "speed_rms_mps" if manoeuvre == "speed" else "lateral_rms_m"


def _is_close(drive: Row) -> bool:
    """The step begins with an error of 1 m, so its RMS says nothing about this goal."""
    most = STRAIGHT_MAX_M if drive["manoeuvre"] in ON_STRAIGHTS else CURVE_MAX_M
    return bool(drive["manoeuvre"] == "step" or drive["lateral_rms_m"] <= most)


def _keeps_speed(drive: Row) -> bool:
    return bool(drive["speed_rms_mps"] <= SPEED_MAX_MPS)


def _is_calm(drive: Row) -> bool:
    return bool(drive["swings"] <= SWINGS_MAX and not drive["is_lost"])


def _is_better_in(drives: Sequence[Row]) -> Any:
    def is_better(drive: Row) -> bool:
        _, other = _pair(drives, drive["road"], drive["manoeuvre"], drive["speed_mps"])
        return bool(drive[measure(drive["manoeuvre"])] <= other[measure(drive["manoeuvre"])])

    return is_better


def _settled(drive: Row) -> str:
    return "never" if drive["settling_s"] is None else f"{drive['settling_s']:.1f}"


def _speeds(drives: Sequence[Row]) -> list[float]:
    return list(dict.fromkeys(each["speed_mps"] for each in drives))


def _kinds(drives: Sequence[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((each["road"], each["manoeuvre"]) for each in drives))


def _pair(drives: Sequence[Row], road: str, manoeuvre: str, speed_mps: float) -> tuple[Row, Row]:
    """Our drive and the peer's."""
    of = {
        each["controller"]: each
        for each in drives
        if (each["road"], each["manoeuvre"], each["speed_mps"]) == (road, manoeuvre, speed_mps)
    }
    return of[OURS], of[PUBLISHED]
