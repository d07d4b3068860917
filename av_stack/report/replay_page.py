"""The pages of replays: the differences that a replay found, and the results on a foreign recording."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from av_stack.recording.recorder import RESULT
from av_stack.report.parts import figure, percent, rows, static, text

FOREIGN_VIDEO, FOREIGN_SCENES = "replay.mp4", "scenes.jsonl"
"""Files of a foreign recording's replay besides its result."""

Content = Mapping[str, Any]
"""The JSON of a replay, as `ReplayReport.content` and `ForeignReport.content` give it."""


def replay_page(content: Content) -> str:
    """The page of the replay of a drive, as HTML."""
    facts = [
        ("recording", text(content["recording"])),
        ("modules", text(", ".join(content["modules"]))),
        ("steps", f"{content['steps']}, {content['first_s']:.2f} s to {content['last_s']:.2f} s"),
        ("times real time", figure(content["times_real_time"], 2)),
    ]
    compared = content["comparison"]
    parts = [_list("Notes", [*_problem(content), *content["notes"]])]
    if compared is not None:
        equal = f"{compared['equal_steps']} of {compared['steps']}"
        facts += [
            ("compared with", text(compared["with"])),
            ("equal steps", f"{equal}, {compared['byte_equal_steps']} of them byte for byte"),
        ]
        parts.append(_differences(compared["fields"]))
    parts.append(_versions(content["versions"]))
    stages = ((name, figure(ms, 2, "ms")) for name, ms in content["stage_ms"].items())
    parts.append(_card("Mean time of each stage", rows(stages)))
    return _page(f"replay of {content['recording']}", _verdict(compared), [_card("Replay", rows(facts)), *parts])


def foreign_page(content: Content) -> str:
    """The page of a foreign recording's replay, which lies beside its video, as HTML."""
    camera = content["camera"]
    angles = f"pitch {camera['pitch_deg']:.1f}, yaw {camera['yaw_deg']:.1f} degrees"
    found = ", ".join(f"{count} {kind}" for kind, count in sorted(content["tracks"].items()))
    facts = [
        ("recording", text(content["recording"])),
        ("pictures", f"{content['pictures']}, {content['last_s']:.2f} s"),
        ("camera", f"{camera['width_px']}x{camera['height_px']} px, {angles}, {camera['height_m']:.2f} m high"),
        ("left line, right line", f"{percent(content['left_line_share'])}, {percent(content['right_line_share'])}"),
        ("camera unwell", percent(content["unwell_share"])),
        ("tracked road users", text(found or "none")),
        ("detector", text(content["detector"])),
    ]
    parts = [
        f'<div class="card"><video controls src="{FOREIGN_VIDEO}" width="100%"></video></div>',
        _card(content["kind"], rows(facts)),
        _list("Ran", content["ran"]),
        _list("Did not run", [f"{name}: {why}" for name, why in content["disabled"].items()]),
        _list("Notes", [*_problem(content), *content["notes"]]),
    ]
    return _page(f"replay of {content['recording']}", text(content["kind"]), parts)


def is_foreign_replay(folder: Path) -> bool:
    """Whether the folder holds the files of a foreign recording's replay."""
    return (folder / FOREIGN_SCENES).is_file() and (folder / RESULT).is_file()


def read_foreign_page(folder: Path) -> str:
    """The page of the replay in `folder`, from its result."""
    return foreign_page(json.loads((folder / RESULT).read_text()))


def _verdict(compared: Mapping[str, Any] | None) -> str:
    if compared is None:
        return "nothing was compared"
    return "every output is equal" if compared["is_equal"] else f"fields that differ: {len(compared['fields'])}"


def _problem(content: Content) -> list[str]:
    return [] if content["problem"] is None else [f"read no further: {content['problem']}"]


def _differences(fields: Sequence[Mapping[str, Any]]) -> str:
    if not fields:
        return ""
    head = "".join(f"<th>{name}</th>" for name in ("field", "steps", "at most", "first at", "there", "now"))
    lines = []
    for one in fields:
        first = one["first"]
        size = "" if one["size_max"] is None else f"{one['size_max']:.3g}"
        cells = (one["field"], one["steps"], size, f"{first['time_s']:.2f} s", first["there"], first["now"])
        lines.append("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in cells) + "</tr>")
    table = f"<table><tr>{head}</tr>{''.join(lines)}</table>"
    return f'<div class="card wide"><h2>Differences, the earliest first</h2>{table}</div>'


def _versions(versions: Mapping[str, Mapping[str, str]]) -> str:
    there, now = versions["there"], versions["now"]
    other = [name for name in sorted({*there, *now}) if there.get(name) != now.get(name)]
    told = [f"{name}: {there.get(name, 'absent')} there, {now.get(name, 'absent')} now" for name in other]
    return _list("Versions that differ", told)


def _list(title: str, items: Iterable[str]) -> str:
    told = "".join(f"<li>{text(item)}</li>" for item in items)
    return _card(title, f"<ul>{told}</ul>") if told else ""


def _card(title: str, content: str) -> str:
    return f'<div class="card"><h2>{text(title)}</h2>{content}</div>'


def _page(title: str, meta: str, parts: Iterable[str]) -> str:
    head = f'<meta charset="utf-8"><title>{text(title)}</title><style>{static("page.css")}</style>'
    header = f'<header><h1>{text(title)}</h1><span class="meta">{text(meta)}</span></header>'
    body = f'<main class="below">{"".join(parts)}</main>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{header}{body}</body></html>\n'
