"""The page of one drive, made from its folder: result.json, recording.mcap and drive.mp4, as far as they are there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_stack.recording.recorder import EXPLANATION, RECORDING, RESULT, VIDEO
from av_stack.report.infractions import infraction_rows, infraction_table
from av_stack.report.parts import figure, page, percent, rows, text
from av_stack.report.recorded import Recorded, read_recording
from av_stack.report.run_data import page_data, video_time

EMBEDDED_BYTES_MAX = 8_000_000
"""A video of at most this size becomes part of the page; a larger one stays beside it."""

SCRIPTS = ("boot.js", "player.js", "timeline.js", "roads.js", "roadmap.js", "run.js")


@dataclass(frozen=True, slots=True)
class DriveFiles:
    """The files of a drive's folder; None for a file that does not exist or cannot be read, see `problems`.

    `explained` are the infractions of explain.json.
    """

    folder: Path
    result: Mapping[str, Any] | None
    recorded: Recorded | None
    video: Path | None
    problems: tuple[str, ...]
    explained: Sequence[Mapping[str, Any]] = ()


def read_drive(folder: Path) -> DriveFiles:
    """Read the files of a drive, also of one that was cut off or still runs."""
    problems: list[str] = []
    result, recorded = read_json(folder / RESULT), None
    if result is None:
        problems.append(f"no {RESULT}: the drive still runs, or was ended before it could write one")
    try:
        recorded = read_recording(folder / RECORDING)
        if recorded is None:
            problems.append(f"{RECORDING} holds no step")
    except FileNotFoundError:
        problems.append(f"no {RECORDING}: neither timeline nor map")
    except (ConfigError, OSError) as error:
        problems.append(f"{RECORDING} cannot be read: {error}")
    video = folder / VIDEO
    explained = (read_json(folder / EXPLANATION) or {}).get("infractions") or ()
    return DriveFiles(folder, result, recorded, video if video.is_file() else None, tuple(problems), explained)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None where it is absent or cut off."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def run_page(drive: DriveFiles, suite_link: str | None = None) -> str:
    """The page of a drive as HTML; `suite_link` leads to the page of its suite."""
    result = drive.result or {}
    found = infraction_rows(result, drive.explained)
    data = page_data(drive.recorded, found, result.get("parts") or ())
    embedded, video_words = "", "no video"
    if drive.video is not None and drive.recorded is not None:
        size_bytes = drive.video.stat().st_size
        data["video"] = video_time(drive.recorded) | {"file": VIDEO}
        video_words = f"{VIDEO} ({size_bytes / 1e6:.1f} MB) has to lie beside this page"
        if size_bytes <= EMBEDDED_BYTES_MAX:
            embedded = base64.b64encode(drive.video.read_bytes()).decode()
            video_words = f"the page contains {VIDEO} ({size_bytes / 1e6:.1f} MB)"
    return page(
        "run.html",
        SCRIPTS,
        data,
        title=text(f"{_name(drive)}: {result.get('end', 'not ended')}"),
        header=_header(drive, suite_link),
        infractions=infraction_table(found) if drive.result is not None else _no_result(),
        details="".join(f'<div class="card">{part}</div>' for part in _details(result)),
        footer=_footer(drive, video_words),
        video=embedded,
    )


def _name(drive: DriveFiles) -> str:
    known = drive.result or (drive.recorded.metadata if drive.recorded is not None else {})
    return str(known.get("scenario", drive.folder.resolve().name))


def _header(drive: DriveFiles, suite_link: str | None) -> str:
    known = drive.result or (drive.recorded.metadata if drive.recorded is not None else {})
    back = f'<a href="{text(suite_link)}">← suite</a>' if suite_link else ""
    meta = [str(known[key]) for key in ("map", "weather") if key in known]
    meta += [
        f"{name} {known[key]}" for key, name in (("seed", "seed"), ("agent", "agent")) if known.get(key) is not None
    ]
    if known.get("oracles"):
        meta.append(f"oracles: {', '.join(known['oracles'])}")
    head = f'{back}<h1>{text(_name(drive))}</h1><span class="meta">{text(" · ".join(meta))}</span>'
    problems = "".join(f'<span class="warning" style="margin:0">{text(each)}</span>' for each in drive.problems)
    return head + _verdict(drive.result) + problems


def _verdict(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return ""
    lacks = "; ".join(result.get("shortcomings") or ())
    tone = "bad" if lacks or result.get("error") else "good"
    told = f'<span class="end {tone}" title="{text(lacks)}">{text(result["end"])}</span>'
    scores = [
        (figure(result.get("driving_score"), 1), "score 2.0"),
        (figure(result.get("driving_score_2_1"), 1), "score 2.1"),
        (percent(result.get("route_completion")), "of the route"),
        (str(len(result.get("infraction_log") or ())), "infractions"),
    ]
    boxes = "".join(f'<div class="score"><b>{text(value)}</b><span>{name}</span></div>' for value, name in scores)
    return f'{told}<div class="scores">{boxes}</div>'


def _no_result() -> str:
    return '<p class="none">Without result.json nothing is known about infractions.</p>'


def _details(result: Mapping[str, Any]) -> list[str]:
    """The figures of result.json, in boxes."""
    if not result:
        return []
    boxes = [_drive_box(result), _driving_box(result)]
    if result.get("constraints"):
        boxes.append(_constraint_box(result["constraints"]))
    if result.get("behaviours"):
        boxes.append(_behaviour_box(result["behaviours"]))
    if result.get("events") or result.get("parts"):
        boxes.append(_script_box(result))
    return boxes


def _drive_box(result: Mapping[str, Any]) -> str:
    lacks = [text(each) for each in result.get("shortcomings") or ()]
    pairs = [
        ("ended", text(result["end"])),
        ("error", text(result["error"]) if result.get("error") else ""),
        ("lacks of what is expected", "<br>".join(lacks) or "nothing"),
        ("route", f"{percent(result['route_completion'], 1)} of {figure(result['route_length_m'], 0, 'm')}"),
        ("driven", f"{figure(result['driven_m'], 0, 'm')} in {figure(result['time_s'], 1, 's')}"),
        ("steps per second of computing", figure(result.get("steps_per_s"), 1)),
        ("cameras", text(result.get("rig", ""))),
        ("read from the simulator (oracles)", text(", ".join(result.get("oracles") or ()) or "nothing")),
    ]
    versions = ", ".join(f"{name} {value}" for name, value in (result.get("versions") or {}).items())
    return "<h2>Drive</h2>" + rows([*((n, v) for n, v in pairs if v), ("versions", text(versions))])


def _driving_box(result: Mapping[str, Any]) -> str:
    safety, comfort = result.get("safety") or {}, result.get("comfort") or {}
    least = figure(safety.get("time_to_collision_min_s"), 1, "s")
    if safety.get("at_s") is not None:
        at_s = safety["at_s"]
        what = text(f"{safety['object_kind']} {safety['object_id']}")
        least += f' <a href="#t={at_s:.2f}" data-time="{at_s:.2f}">{what} at {at_s:.1f} s</a>'
    error = result.get("localization_error") or {}
    pairs = [
        ("smallest time to collision", least),
        ("lateral error, RMS; largest", _pair(result.get("lateral_rms_m"), result.get("lateral_max_m"), "m")),
        ("outside lane; wrong way", _pair(result.get("outside_lane_m"), result.get("wrong_way_m"), "m")),
        ("localization error, RMS; largest", _pair(error.get("rms_m"), error.get("max_m"), "m")),
        ("mean speed of the limit, outside stops", percent(result.get("speed_ratio"))),
        ("comfortable", f"{percent(comfort.get('comfortable_share'))} of the time"),
        ("longitudinal jerk, RMS; largest", _pair(
            comfort.get("longitudinal_jerk_rms_mps3"), comfort.get("longitudinal_jerk_max_mps3"), "m/s³")),
        ("stops at red", text(result.get("stops_at_red", ""))),
        ("vehicles followed", text(result.get("vehicles_followed", ""))),
    ]  # fmt: skip
    return "<h2>Driving</h2>" + rows(pairs)


def _pair(first: float | None, second: float | None, unit: str) -> str:
    return f"{figure(first, 2)}; {figure(second, 2, unit)}"


def _constraint_box(constraints: Mapping[str, Mapping[str, float]]) -> str:
    return _times_box("What limited the speed", constraints, "lost", lambda spent: f"{spent['lost_m']:.0f} m")


def _behaviour_box(behaviours: Mapping[str, Mapping[str, float]]) -> str:
    return _times_box("What the ego did", behaviours, "times", lambda spent: f"{spent['times']}")


def _times_box(
    title: str,
    rows_by_name: Mapping[str, Mapping[str, float]],
    last_head: str,
    last_cell: Callable[[Mapping[str, float]], str],
) -> str:
    """A table of the time, and the time at a stand, that each row took; the last column is one of its own."""
    lines = "".join(
        f'<tr><th>{text(name)}</th><td class="num">{spent["time_s"]:.1f} s</td>'
        f'<td class="num">{spent["standing_s"]:.1f} s</td><td class="num">{last_cell(spent)}</td></tr>'
        for name, spent in rows_by_name.items()
    )
    head = f'<tr><th></th><th class="num">time</th><th class="num">standing</th><th class="num">{last_head}</th></tr>'
    return f"<h2>{title}</h2><table>{head}{lines}</table>"


def _script_box(result: Mapping[str, Any]) -> str:
    parts = "".join(
        f"<tr{_jump(part.get('began_s'))}><th>{text(part['type'])}</th>"
        f"<td>{_span(part.get('began_s'), part.get('ended_s'))}"
        f"{' <b class=bad>not in time</b>' if part.get('is_timed_out') else ''}"
        f"{' <b class=bad>could not be played</b>' if part.get('missing') else ''}</td></tr>"
        for part in result.get("parts") or ()
    )
    events = "".join(
        f"<tr{_jump(at_s)}><th>{text(name)}</th><td>{figure(at_s, 1, 's')}</td></tr>"
        for name, at_s in (result.get("events") or {}).items()
    )
    table = '<table class="facts">{}</table>'
    told = f"<h2>Scenarios</h2>{table.format(parts)}" if parts else ""
    return told + (f"<h2>Events of the script</h2>{table.format(events)}" if events else "")


def _jump(at_s: float | None) -> str:
    return "" if at_s is None else f' data-time="{at_s:.2f}" tabindex="0" title="show this moment"'


def _span(began_s: float | None, ended_s: float | None) -> str:
    return "did not begin" if began_s is None else f"{began_s:.1f} to {figure(ended_s, 1)} s"


def _footer(drive: DriveFiles, video_words: str) -> str:
    recorded = drive.recorded
    steps = f"{len(recorded.time_s)} recorded steps" if recorded is not None else "no recorded steps"
    return text(
        f"{steps}; {video_words}. The map frame is OpenDRIVE's: x east, y north. The lateral error is positive left of "
        "the lane's centre; it is not measured in junctions and lane changes. Infractions as in docs/judging.md."
    )
