"""Text reports about a recording, in the layout of CARLA's `show_recorder_*` calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embedded_carla.recorder import details
from embedded_carla.recorder.format import readable
from embedded_carla.recorder.packets import NO_ACTOR, ActorsAdded, FrameStart, Packet, PacketId, Rows
from embedded_carla.recorder.reader import RecordingReader
from embedded_carla.types import Float

MAX_REPORT_CHARACTERS = 128 << 20
MAX_KNOWN_ACTORS = 200_000
_NAME_WIDTH = 35
_CATEGORIES = "ovwto"  # indexed by ActorType; signs and sensors count as other


def file_info(path: Path, show_all: bool) -> str:
    """Events of each frame; with `show_all` everything that CARLA shows. Raises RecordingError."""
    with RecordingReader(path) as reader:
        return _joined(_info_lines(reader, show_all))


def collisions(path: Path, first: str, second: str) -> str:
    """Start of each collision between actors of two categories, in either order.

    Categories: o other, v vehicle, w walker, t traffic light, h hero, a any. Raises RecordingError.
    """
    with RecordingReader(path) as reader:
        return _joined(_collision_lines(reader, first, second))


def actors_blocked(path: Path, least_s: float, least_cm: float) -> str:
    """Actors that moved less than `least_cm` for at least `least_s`, the longest first. Raises RecordingError."""
    with RecordingReader(path) as reader:
        return _joined(_blocked_lines(reader, least_s, least_cm))


def _joined(lines: Iterator[str]) -> str:
    parts, size = [], 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_REPORT_CHARACTERS:
            parts.append(f"\nThe report is cut here: it is longer than {MAX_REPORT_CHARACTERS >> 20} MiB.\n")
            break
        parts.append(line)
    return readable("\n".join(parts))


def _head(reader: RecordingReader) -> Iterator[str]:
    header = reader.header
    yield f"Version: {header.version}"
    yield f"Map: {header.map_name}"
    try:
        date = time.strftime("%m/%d/%y %H:%M:%S", time.localtime(header.date_s))
    except (OverflowError, ValueError, OSError):
        date = f"{header.date_s} s after 1970"
    yield f"Date: {date}"
    yield ""


def _tail(reader: RecordingReader, last: FrameStart, seconds: str) -> Iterator[str]:
    yield ""
    yield f"Frames: {last.number}"
    yield f"Duration: {seconds} seconds"
    if reader.is_cut:
        yield f"The file ends within a frame, after frame {last.number}."
    yield ""


_NO_FRAME = FrameStart(0, 0.0, 0.0)


# ---------------------------------------------------------------- info


def _info_lines(reader: RecordingReader, show_all: bool) -> Iterator[str]:
    yield from _head(reader)
    last = _NO_FRAME
    events = (PacketId.ACTORS_ADDED, *details.EVENTS)
    for frame in reader.frames():
        last = frame.start
        lines = [line for packet in frame.packets(*(() if show_all else events)) for line in _packet_lines(packet)]
        if lines or show_all:
            yield f"Frame {last.number} at {last.elapsed_s:g} seconds"
            yield from lines
    yield from _tail(reader, last, f"{last.elapsed_s:g}")


def _packet_lines(packet: Packet) -> Iterator[str]:
    match packet:
        case ActorsAdded(actors):
            for event in actors:
                yield from details.created(event)
        case Rows(kind, rows) if kind in details.EVENTS:
            yield from map(details.EVENTS[kind], rows.tolist())
        case _:
            yield from details.details(packet)


# ---------------------------------------------------------------- collisions


@dataclass(slots=True)
class _Known:
    """Category letter and type of actors by id."""

    actors: dict[int, tuple[str, str]]

    def take(self, packet: Packet) -> None:
        if isinstance(packet, ActorsAdded):
            for event in packet.actors:
                if len(self.actors) < MAX_KNOWN_ACTORS:
                    kind = _CATEGORIES[event.kind] if event.kind < len(_CATEGORIES) else "o"
                    self.actors[event.actor] = (kind, event.type_id[:200])

    def of(self, actor: int) -> tuple[str, str]:
        return ("o", "") if actor == NO_ACTOR else self.actors.get(actor, ("o", ""))


def _collision_lines(reader: RecordingReader, first: str, second: str) -> Iterator[str]:
    yield from _head(reader)
    yield f"{'Time':>8} {'Types':>6} {'Id':>6} {'Actor 1':<{_NAME_WIDTH}} {'Id':>6} {'Actor 2':<{_NAME_WIDTH}}"
    known, last = _Known({}), _NO_FRAME
    before: set[tuple[int, int]] = set()
    shown = False
    for frame in reader.frames():
        last = frame.start
        now: set[tuple[int, int]] = set()
        for packet in frame.packets(PacketId.ACTORS_ADDED, PacketId.COLLISIONS):
            known.take(packet)
            if isinstance(packet, Rows):
                for _, *pair in packet.rows.tolist():
                    found = _matching(known, pair, first, second)
                    if found is not None:
                        if found not in before and found not in now:
                            shown = True
                            yield _collision_line(known, last, *found)
                        now.add(found)
        before = now
    # CARLA's output stream keeps the number format of the lines above.
    yield from _tail(reader, last, f"{last.elapsed_s:.0f}" if shown else f"{last.elapsed_s:g}")


def _matching(known: _Known, pair: list[int], first: str, second: str) -> tuple[int, int] | None:
    """The pair's ids in the order in which they match the categories; None when they do not match."""
    actor, other, actor_is_hero, other_is_hero = pair

    def fits(category: str, who: int, is_hero: int) -> bool:
        return category == "a" or category == known.of(who)[0] or (category == "h" and bool(is_hero))

    if fits(first, actor, actor_is_hero) and fits(second, other, other_is_hero):
        return (actor, other)
    if fits(first, other, other_is_hero) and fits(second, actor, actor_is_hero):
        return (other, actor)
    return None


def _collision_line(known: _Known, frame: FrameStart, actor: int, other: int) -> str:
    (kind, name), (other_kind, other_name) = known.of(actor), known.of(other)
    return (
        f"{frame.elapsed_s:8.0f}   {kind} {other_kind}  {actor:6} {name:<{_NAME_WIDTH}} "
        f"{other:6} {other_name:<{_NAME_WIDTH}}"
    )


# ---------------------------------------------------------------- blocked


@dataclass(slots=True)
class _Stay:
    """An actor's location, the time since which it has stayed there, and for how long."""

    place: Float
    since_s: float
    duration_s: float


def _blocked_lines(reader: RecordingReader, least_s: float, least_cm: float) -> Iterator[str]:
    yield from _head(reader)
    yield f"{'Time':>8} {'Id':>6} {'Actor':<{_NAME_WIDTH}} {'Duration':>10}"
    known, last = _Known({}), _NO_FRAME
    stays: dict[int, _Stay] = {}
    found: list[tuple[float, str]] = []

    def note(actor: int) -> None:
        stay = stays[actor]
        if stay.duration_s >= least_s:
            name = known.of(actor)[1]
            line = f"{stay.since_s:8.0f} {actor:6} {name:<{_NAME_WIDTH}} {stay.duration_s:10.0f}"
            found.append((stay.duration_s, line))

    for frame in reader.frames():
        last = frame.start
        for packet in frame.packets(PacketId.ACTORS_ADDED, PacketId.POSITIONS):
            known.take(packet)
            if isinstance(packet, Rows):
                _follow(stays, packet, last, least_cm, note)
    for actor in stays:
        note(actor)
    found.sort(key=lambda item: -item[0])
    yield from (line for _, line in found)
    yield from _tail(reader, last, f"{last.elapsed_s:g}")


def _follow(
    stays: dict[int, _Stay], packet: Rows, frame: FrameStart, least_cm: float, moved: Callable[[int], None]
) -> None:
    places = packet.rows["location"].astype(np.float64)
    for actor, place in zip(packet.rows["actor"].tolist(), places, strict=True):
        stay = stays.get(actor)
        if stay is None:
            if len(stays) < MAX_KNOWN_ACTORS:
                stays[actor] = _Stay(place, frame.elapsed_s, 0.0)
        elif float(np.linalg.norm(place - stay.place)) < least_cm:
            if stay.duration_s == 0.0:
                stay.since_s = frame.elapsed_s
            stay.duration_s += max(frame.duration_s, 0.0)
        else:
            moved(actor)
            stays[actor] = _Stay(place, frame.elapsed_s, 0.0)
