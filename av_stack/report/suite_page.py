"""The page of a suite: all drives in a table, crashes apart, plots per type and weather, links to each drive's page."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any
from urllib.parse import quote

from av_stack.report.infractions import WORDS
from av_stack.report.parts import MISSING, figure, page, percent, text
from av_stack.report.suite_data import Suite, SuiteDrive

SCRIPTS = ("boot.js", "suite.js")

COLUMNS = ("", "drive", "type", "map", "weather", "score 2.0", "score 2.1", "route", "infractions", "time", "end")
NUMBERS = {"score 2.0", "score 2.1", "route", "infractions", "time"}


def suite_page(suite: Suite, pictures: Mapping[str, bytes], linked: Iterable[str]) -> str:
    """The page as HTML. `pictures` are JPEG by the drive's name; `linked` names the drives that have a page."""
    links = set(linked)
    return page(
        "suite.html",
        SCRIPTS,
        _plots(suite),
        title=text(f"suite {suite.name}"),
        header=_header(suite),
        plots="".join(f'<div class="card" id="{name}"></div>' for name in ("per-type", "per-weather", "per-kind")),
        drives=_drive_table(suite.driven, pictures, links),
        refused=_refused_table(suite.refused),
        crashes=_crash_table(suite.crashed, links),
        unended=_unended(suite.unended),
    )


def _header(suite: Suite) -> str:
    driven = suite.driven
    good = sum(not drive.value("shortcomings") for drive in driven)
    state = f"{len(suite.unended)} not ended yet" if suite.unended else "complete"
    boxes = [
        (f"{good} of {len(driven)}", "drives as expected"),
        (_mean(driven, "driving_score"), "mean score 2.0"),
        (_mean(driven, "driving_score_2_1"), "mean score 2.1"),
        (percent(_mean_of(driven, "route_completion")), "mean route"),
        (str(len(suite.crashed)), "crashes"),
        *([(str(len(suite.refused)), "did not start")] if suite.refused else []),
    ]
    agents = ", ".join(sorted({str(drive.value("agent")) for drive in driven if drive.value("agent")}))
    oracles = ", ".join(dict.fromkeys(name for drive in driven for name in drive.value("oracles") or ()))
    meta = [state, *([f"agent {agents}"] if agents else []), f"oracles: {oracles or 'none'}"]
    shown = "".join(f'<div class="score"><b>{text(value)}</b><span>{name}</span></div>' for value, name in boxes)
    head = f'<h1>suite {text(suite.name)}</h1><span class="meta">{text(" · ".join(meta))}</span>'
    return f'{head}<div class="scores">{shown}</div>'


def _mean_of(drives: Sequence[SuiteDrive], key: str) -> float | None:
    values = [drive.value(key) for drive in drives if drive.value(key) is not None]
    return fmean(values) if values else None


def _mean(drives: Sequence[SuiteDrive], key: str) -> str:
    return figure(_mean_of(drives, key), 1)


def _drive_table(drives: Sequence[SuiteDrive], pictures: Mapping[str, bytes], links: set[str]) -> str:
    if not drives:
        return '<p class="none">No drive has ended yet.</p>'
    head = "".join(f"<th{' class=num' if name in NUMBERS else ''}>{name}</th>" for name in COLUMNS)
    lines = "".join(_drive_row(drive, pictures, links) for drive in drives)
    return f'<table class="drives"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _drive_row(drive: SuiteDrive, pictures: Mapping[str, bytes], links: set[str]) -> str:
    jpeg = base64.b64encode(pictures.get(drive.name, b"")).decode()
    picture = f'<img alt="" src="data:image/jpeg;base64,{jpeg}">' if jpeg else ""
    lacks = drive.value("shortcomings") or ()
    log = drive.result.get("infraction_log") or ()
    kinds = "; ".join(WORDS.get(entry["kind"], entry["kind"]) for entry in log)
    tone = "bad" if lacks else "good"
    cells = [
        ("", _linked(drive, picture, links)),
        ("", _linked(drive, text(drive.name), links)),
        ("", text(", ".join(drive.types)) if drive.types != (drive.name,) else MISSING),
        ("", text(drive.value("map") or MISSING)),
        ("", text(drive.value("weather") or MISSING)),
        ("num", _score(drive.value("driving_score"))),
        ("num", _score(drive.value("driving_score_2_1"))),
        ("num", percent(drive.value("route_completion"))),
        ("num", f'<span title="{text(kinds)}">{len(log)}</span>'),
        ("num", figure(drive.value("time_s"), 0, "s")),
        ("", f'<span class="{tone}">{text(drive.value("end") or MISSING)}</span>'
             + (f"<br>{text('; '.join(lacks))}" if lacks else "")),
    ]  # fmt: skip
    return "<tr>" + "".join(f"<td{f' class={css}' if css else ''}>{cell}</td>" for css, cell in cells) + "</tr>"


def _linked(drive: SuiteDrive, content: str, links: set[str]) -> str:
    return f'<a href="{quote(drive.name)}/report.html">{content}</a>' if drive.name in links and content else content


def _score(value: float | None) -> str:
    bar = f'<span class="bar" style="width:{0.4 * value:.0f}px"></span> ' if value is not None else ""
    return bar + figure(value, 1)


def _refused_table(refused: Sequence[SuiteDrive]) -> str:
    if not refused:
        return ""
    lines = "".join(f"<tr><td>{text(run.name)}</td><td>{text(run.value('error'))}</td></tr>" for run in refused)
    head = "<tr><th>run</th><th>why</th></tr>"
    told = "Did not start: not in any figure above"
    return f'<div class="card"><h2 class="pad">{told}</h2><table>{head}{lines}</table></div>'


def _crash_table(crashed: Sequence[SuiteDrive], links: set[str]) -> str:
    if not crashed:
        return ""
    lines = "".join(
        f"<tr><td>{_linked(drive, text(drive.name), links)}</td><td>{text(drive.crash)}</td>"
        f'<td class="num">{len(drive.entry.get("attempts") or ()) or MISSING}</td></tr>'
        for drive in crashed
    )
    head = '<tr><th>drive</th><th>what crashed</th><th class="num">attempts</th></tr>'
    told = "Crashes of server, client or machine: no failures to drive, and not in any figure above"
    return f'<div class="card"><h2 class="pad">{told}</h2><table>{head}{lines}</table></div>'


def _unended(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f'<div class="card pad"><h2>Not ended yet</h2>{text(", ".join(names))}</div>'


def _plots(suite: Suite) -> dict[str, Any]:
    """Mean scores per type and weather, and the number of infractions per kind, for the scripts."""
    types: dict[str, list[SuiteDrive]] = defaultdict(list)
    weathers: dict[str, list[SuiteDrive]] = defaultdict(list)
    kinds: dict[str, int] = defaultdict(int)
    for drive in suite.driven:
        for name in drive.types:
            types[name].append(drive)
        weathers[_weather(drive)].append(drive)
        for entry in drive.result.get("infraction_log") or ():
            kinds[WORDS.get(entry["kind"], entry["kind"])] += 1
    return {
        "types": _means(types),
        "weathers": _means(weathers),
        "kinds": [{"name": name, "count": count} for name, count in sorted(kinds.items(), key=lambda item: item[1])],
    }


def _weather(drive: SuiteDrive) -> str:
    weather = drive.value("weather")
    return weather if isinstance(weather, str) else "other"


def _means(groups: Mapping[str, Sequence[SuiteDrive]]) -> list[dict[str, Any]]:
    found = [
        {
            "name": name,
            "drives": len(drives),
            "score_20": _mean_of(drives, "driving_score"),
            "score_21": _mean_of(drives, "driving_score_2_1"),
        }
        for name, drives in groups.items()
    ]
    return sorted(found, key=lambda each: (each["score_21"] or 0.0, str(each["name"])))
