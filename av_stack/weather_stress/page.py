"""The page of a study: limits, curves or heat maps, and pictures of the same moments, in one file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from av_stack.report.parts import MISSING, figure, page, text
from av_stack.weather_stress.curves import curves, heat_maps
from av_stack.weather_stress.tables import limit_words

SCRIPTS = ("boot.js", "weather.js")

COLUMNS_MAX = 6
"""Largest number of weathers of which the page shows pictures."""


def weather_page(content: Mapping[str, Any], out: Path) -> str:
    """The page as HTML; pictures are read from the folders of the runs in `out`, where they are there."""
    plots = curves(content) if len(content["axes"]) == 1 else []
    return page(
        "weather.html",
        SCRIPTS,
        {"curves": plots, "maps": heat_maps(content) if len(content["axes"]) == 2 else []},
        title=text(f"weather stress {content['name']}"),
        header=_header(content),
        found=_found(content),
        limits=_limits(content["limits"]),
        pictures=_pictures(content, out),
        runs=_runs(content),
        problems=_problems(content["problems"]),
    )


def _header(content: Mapping[str, Any]) -> str:
    axes = ", ".join(axis["name"] for axis in content["axes"])
    count = len(content["units"])
    told = "1 drive, " if count == 1 else f"{count} drives, each "
    head = f"<h1>{text(content['name'])}: {text(axes)}</h1>"
    return f'{head}<span class="meta">{told}compared with itself in its own weather</span>'


def _found(content: Mapping[str, Any]) -> str:
    if content["search"] is None:
        return ""
    lines = "".join(
        f"<tr><td>{text(limit['module'])}</td><td>{text(limit_words(limit, content))}</td></tr>"
        for limit in content["limits_found"]
    )
    first = "".join(
        f"<li>{text(unit)}: {text(', '.join(modules) or 'none')}</li>"
        for unit, modules in content["failed_first"].items()
    )
    name = text(content["search"]["name"])
    return (
        f'<div class="card pad"><h2>Where each module first misses its limit ({name})</h2>'
        f"<table><thead><tr><th>module</th><th>value</th></tr></thead><tbody>{lines}</tbody></table>"
        f"<h2>Failed first, of perception</h2><ul>{first}</ul></div>"
    )


def _limits(limits: Sequence[Mapping[str, Any]]) -> str:
    lines = "".join(
        f"<tr><td>{text(limit['module'])}</td><td>{text(limit['what'])}</td>"
        f'<td class="num">{"at least" if limit["is_least"] else "at most"} {limit["value"]:g}</td>'
        f"<td>{text(limit['reason'])}</td></tr>"
        for limit in limits
    )
    head = "<tr><th>module</th><th>figure</th><th>limit</th><th>why</th></tr>"
    return (
        f'<div class="card pad"><h2>Stated limits</h2><table><thead>{head}</thead><tbody>{lines}</tbody></table></div>'
    )


def _pictures(content: Mapping[str, Any], out: Path) -> str:
    """The first unit's pictures: a column for its own weather and one for each of some others."""
    unit = content["units"][0]["name"]
    there = [each for each in content["points"] if each["unit"] == unit and "look" in each["folders"]]
    there = sorted(there[1:], key=lambda each: _order(each["point"]))
    step = max(1, -(-len(there) // (COLUMNS_MAX - 1)))
    chosen = [next(each for each in content["points"] if each["unit"] == unit), *there[::step]]
    names = sorted(path.name for path in (out / chosen[0]["folders"]["look"]).glob("frame_*.jpg"))
    if not names:
        return ""
    heads = "".join(f"<th>{text(words(each['point']))}</th>" for each in chosen)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_image(out / each['folders']['look'] / name)}</td>" for each in chosen) + "</tr>"
        for name in names
    )
    return (
        f'<div class="card pad pictures"><h2>The same moments of {text(unit)}, with the lanes and boxes that the stack '
        f"sees</h2><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _image(path: Path) -> str:
    if not path.is_file():
        return MISSING
    return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(path.read_bytes()).decode()}">'


def _order(point: Mapping[str, Any] | None) -> tuple[float, str]:
    first = next(iter((point or {}).values()), 0.0)
    return (0.0, first) if isinstance(first, str) else (float(first), "")


def words(point: Mapping[str, Any] | None) -> str:
    """A weather in words."""
    if point is None:
        return "own weather"
    return ", ".join(f"{name} {value if isinstance(value, str) else f'{value:g}'}" for name, value in point.items())


def _runs(content: Mapping[str, Any]) -> str:
    lines = ""
    for each in sorted(
        content["points"], key=lambda one: (one["unit"], one["point"] is not None, _order(one["point"]))
    ):
        values, folder = each["figures"], each["folders"].get("drive")
        score = figure(values.get("driving_score"), 1)
        link = f'<a href="{quote(folder)}/report.html">{score}</a>' if folder else MISSING
        shares = "".join(
            f'<td class="num">{figure(values.get(limit["figure"]), 3)}</td>'
            for limit in content["limits"]
            if limit["module"] != "drive"
        )
        lines += f"<tr><td>{text(each['unit'])}</td><td>{text(words(each['point']))}</td>{shares}"
        lines += f'<td class="num">{link}</td></tr>'
    heads = "".join(
        f'<th class="num">{text(limit["figure"])}</th>' for limit in content["limits"] if limit["module"] != "drive"
    )
    head = f'<tr><th>drive</th><th>weather</th>{heads}<th class="num">driving score</th></tr>'
    return f'<div class="card pad"><h2>All runs</h2><table><thead>{head}</thead><tbody>{lines}</tbody></table></div>'


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    items = "".join(f"<li>{text(problem)}</li>" for problem in problems)
    return f'<div class="warning">Runs that crashed or did not start, in no figure:<ul>{items}</ul></div>'
