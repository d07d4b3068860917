"""Inspects the files that a drive left: whether strict readers open them, and the simulated time that they reach."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import av
from mcap.reader import make_reader
from mcap.records import Message
from mcap.stream_reader import StreamReader

NAMES = {"result.json", "recording.mcap", "drive.mp4", "report.html", "thumbnail.jpg"}


def inspect(folder: Path, work: Path, rerun: str | None) -> dict[str, Any]:
    """State of each file in `folder` (absent, complete, or its fault), and the simulated time that it reaches."""
    found: dict[str, Any] = {"strangers": sorted(path.name for path in folder.iterdir() if path.name not in NAMES)}
    found["result"] = _result(folder / "result.json")
    found["recording"], found["recording_s"] = _recording(folder / "recording.mcap")
    found["video"], found["video_s"] = _video(folder / "drive.mp4")
    if rerun is not None and found["recording"] == "complete":
        found["rerun"] = _rerun(rerun, folder / "recording.mcap", work / "recording.rrd")
    return found


def _result(path: Path) -> str:
    if not path.exists():
        return "absent"
    try:
        return "complete" if "route_completion" in json.loads(path.read_text()) else "incomplete"
    except ValueError as error:
        return f"not JSON: {error}"


def _recording(path: Path) -> tuple[str, float | None]:
    """State and end of a recording, read by its index and from beginning to end, with every checksum verified."""
    if not path.exists():
        return "absent", None
    try:
        with path.open("rb") as file:
            indexed = [message.log_time for _, _, message in make_reader(file, validate_crcs=True).iter_messages()]
            file.seek(0)
            records = StreamReader(file, validate_crcs=True).records
            in_order = sum(1 for record in records if isinstance(record, Message))
    except Exception as error:  # noqa: BLE001 - a reader may fail in many ways; each is a finding
        return f"unreadable: {error!r:.200}", None
    if len(indexed) != in_order:
        return f"index has {len(indexed)} of {in_order} messages", None
    return "complete", max(indexed) / 1e9 if indexed else None


def _video(path: Path) -> tuple[str, float | None]:
    if not path.exists():
        return "absent", None
    try:
        with av.open(str(path)) as video:
            times_s = [frame.time for frame in video.decode(video=0) if frame.time is not None]
    except (av.FFmpegError, ValueError) as error:
        return f"unreadable: {error!r:.200}", None
    return "complete", max(times_s) if times_s else None


def _rerun(rerun: str, path: Path, made: Path) -> str:
    """Whether Rerun converts the recording to its own format, `made`, with data in it."""
    done = subprocess.run([rerun, "mcap", "convert", str(path), "-o", str(made)], capture_output=True, text=True)
    size_bytes = made.stat().st_size if made.exists() else 0
    made.unlink(missing_ok=True)
    return "complete" if done.returncode == 0 and size_bytes > 0 else f"{done.returncode}: {done.stderr[-200:]}"
