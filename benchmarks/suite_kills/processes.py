"""Finds the processes of a suite, by what Linux tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CLIENT, SERVER = "av_stack.suite.child", "embedded_carla"


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    words: tuple[str, ...]


def processes() -> list[Process]:
    """Every process that still runs."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            status = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if status[0] != "Z":
            found.append(Process(int(entry.name), int(status[1]), tuple(words)))
    return found


def clients(folder: str) -> list[Process]:
    """The runs that write below a folder whose path begins so."""
    return [one for one in processes() if CLIENT in one.words and any(word.startswith(folder) for word in one.words)]


def servers(folder: str) -> list[Process]:
    """The servers of these runs."""
    parents = {client.pid for client in clients(folder)}
    return [one for one in processes() if SERVER in one.words and one.parent in parents]


def children(pid: int) -> list[Process]:
    return [one for one in processes() if one.parent == pid]
