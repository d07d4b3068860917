"""The page and the curves of a study, from stored figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from av_stack.weather_stress.curves import curves, heat_maps
from av_stack.weather_stress.page import weather_page
from av_stack.weather_stress.tables import limit_words, search_lines


def point(unit: str, at: dict[str, Any] | None, score: float, lines: float | None) -> dict[str, Any]:
    figures = {"driving_score": score, "lines_kept": lines}
    kind = "reference" if at is None else "round_01"
    folders = {"drive": f"{kind}/drive_{unit}", "look": f"{kind}/look_{unit}"}
    return {"unit": unit, "point": at, "figures": figures, "samples": {}, "folders": folders}


def content(axes: list[dict[str, Any]], points: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    limits = [{"module": "lanes", "figure": "lines_kept", "value": 0.9, "is_least": True, "what": "w", "reason": "r"}]
    units: list[dict[str, Any]] = [{"name": name, "scenario": "town", "seed": 1, "weather": {}} for name in ("a", "b")]
    return {
        "name": "<town>", "units": units, "axes": axes, "points": points, "limits": limits, "search": None,
        "confidence": 0.95, "problems": [], **more,
    }  # fmt: skip


@pytest.fixture
def sweep() -> dict[str, Any]:
    points = [
        point(unit, at, score, lines)
        for unit, off in (("a", 0.0), ("b", 10.0))
        for at, score, lines in (
            (None, 90.0 - off, 1.0),
            ({"fog_density": 50.0}, 60.0 - off, 0.5),
            ({"fog_density": 100.0}, 30.0 - off, None),
        )
    ]
    return content([{"name": "fog_density", "values": [100.0, 50.0]}], points)


def test_curves_are_means_with_bands(sweep: dict[str, Any]) -> None:
    by_title = {curve["title"]: curve for curve in curves(sweep)}
    [score] = by_title["driving score (2.0)"]["lines"]
    assert score["x"] == [50.0, 100.0]
    assert score["mean"] == [55.0, 25.0]
    assert score["high"][1] == pytest.approx(25.0 + 12.706 * 5.0, abs=0.01)
    assert (score["low"][0], score["high"][0]) == (0.0, 100.0)  # the band ends where a score cannot be
    lanes = by_title["lane lines right (share)"]
    assert lanes["lines"][0]["x"] == [50.0]  # unknown in the other
    assert lanes["limits"] == [0.9]
    assert "stopping distance (m)" not in by_title


def test_two_axes_make_maps() -> None:
    at = [{"preset": name, "wetness": wet} for name in ("ClearNoon", "ClearNight") for wet in (0.0, 50.0)]
    points = [point("a", each, 10.0 * number, None) for number, each in enumerate(at)]
    axes: list[dict[str, Any]] = [
        {"name": "preset", "values": ["ClearNoon", "ClearNight"]},
        {"name": "wetness", "values": [0.0, 50.0]},
    ]
    [score] = heat_maps(content(axes, points))
    assert score["z"] == [[0.0, 20.0], [10.0, 30.0]]
    assert (score["x_title"], score["y_title"]) == ("preset", "wetness")


def test_the_page_has_curves_pictures_and_links_and_no_raw_names(sweep: dict[str, Any], tmp_path: Path) -> None:
    for folder in ("reference/look_a", "round_01/look_a"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "frame_7.jpg").write_bytes(b"jpeg")
    page = weather_page(sweep, tmp_path)
    assert "<h1>&lt;town&gt;: fog_density</h1>" in page
    assert page.count("data:image/jpeg;base64,anBlZw==") == 3
    assert 'href="round_01/drive_b/report.html"' in page
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    assert len(json.loads(found[1])["curves"]) == 2
    assert "http://" not in page.split('id="plotly"')[0]


def searched(interval: dict[str, Any] | None, never: int = 0, unknown: int = 0, kept: float | None = 48.0) -> Any:
    limits = [{"unit": name, "kept": kept, "missed": 52.0, "fraction": 0.5, "is_known": True} for name in ("a", "b")]
    found = {"module": "lanes", "interval": interval, "never": never, "unknown": unknown, "limits": limits}
    more = {
        "search": {"name": "fog_density", "first": 0.0, "second": 100.0},
        "limits_found": [found],
        "failed_first": {"a": ["lanes"], "b": []},
    }
    return content([{"name": "fog_density", "values": []}], [], **more), found


def test_limits_are_told_in_words() -> None:
    told, found = searched({"mean": 50.0, "low": 48.4375, "high": 51.5625, "count": 2})
    assert limit_words(found, told) == "50, 95 % interval 48.44 to 51.56 over 2 drives"
    assert list(search_lines(told))[1:] == [
        "  lanes         50, 95 % interval 48.44 to 51.56 over 2 drives",
        "failed first in a: lanes",
        "failed first in b: no module of perception",
    ]
    told, found = searched({"mean": 50.0, "low": None, "high": None, "count": 1}, never=1, kept=None)
    assert limit_words(found, told) == (
        "50, of one drive, so without an interval; missed at the mild end already in 2; met to the end in 1, which "
        "count as 100"
    )
    told, found = searched(None)
    assert limit_words(found, told) == "met up to 100"
    told, found = searched(None, unknown=2)
    assert limit_words(found, told) == "not known: too few samples"
