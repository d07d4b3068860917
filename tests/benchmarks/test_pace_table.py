"""The table of what keeps drives below the limit."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.pace import shares, table


def result(constraints: dict[str, tuple[float, float]], speed_ratio: float) -> dict[str, Any]:
    """As in result.json: by kind the seconds and the lost metres outside stops."""
    spent = {
        kind: {"outside_stops_s": time_s, "outside_stops_lost_m": lost_m}
        for kind, (time_s, lost_m) in constraints.items()
    }
    about = {"scenario": "a", "seed": 1, "weather": "ClearNoon", "end": "arrived", "route_completion": 1.0}
    return {**about, "oracles": [], "time_s": 60.0, "speed_ratio": speed_ratio, "constraints": spent}


def test_the_speed_and_what_the_constraints_took_make_up_the_limit() -> None:
    one = shares(result({"curve": (10.0, 30.0), "moving vehicle ahead": (30.0, 90.0)}, speed_ratio=0.4))
    assert one["took"] == {"curve": pytest.approx(0.15), "moving vehicle ahead": pytest.approx(0.45)}
    assert one["time"] == {"curve": 0.25, "moving vehicle ahead": 0.75}
    assert one["speed_ratio"] + sum(one["took"].values()) == pytest.approx(1.0)


def test_a_kind_that_took_nothing_anywhere_has_no_column() -> None:
    drives = [shares(result({"curve": (10.0, 30.0), "pedestrian": (1.0, 0.0)}, speed_ratio=0.9))]
    assert table(drives).splitlines() == [
        "| drive | outside stops | speed | curve |",
        "|---|---:|---:|---:|",
        "| a, seed 1 | 11 s | 90.0 % | 10.0 |",
    ]
