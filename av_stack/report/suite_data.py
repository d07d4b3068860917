"""Reads the data of a suite: suite.json, and for each drive the files in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from av_stack.recording.recorder import RECORDING, RESULT
from av_stack.report.run_page import read_json
from av_stack.suite.verdict import NOT_STARTED

SUITE, ATTEMPTS = "suite.json", "attempts"


@dataclass(frozen=True, slots=True)
class SuiteDrive:
    """A drive of a suite that has ended: its entry in suite.json, and its result, which is empty if it wrote none."""

    name: str
    folder: Path
    entry: Mapping[str, Any]
    result: Mapping[str, Any]

    @property
    def crash(self) -> str | None:
        """What crashed; None for a drive that was driven."""
        crash: str | None = self.entry.get("crash")
        return crash

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its scenarios, each once; its own name where it has none."""
        parts = self.result.get("parts") or self.entry.get("parts") or ()
        return tuple(dict.fromkeys(str(part["type"]) for part in parts)) or (self.name,)

    def value(self, key: str) -> Any:
        """A figure of the entry, or else of the result; None where neither has it."""
        found = self.entry.get(key)
        return self.result.get(key) if found is None else found


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite that ended or still runs. `unended` names the drives that are planned or running."""

    name: str
    drives: tuple[SuiteDrive, ...]
    unended: tuple[str, ...]

    @property
    def driven(self) -> tuple[SuiteDrive, ...]:
        """The drives that started, without a crash of server, client or machine."""
        return tuple(drive for drive in self.drives if drive.crash is None and drive.value("end") != NOT_STARTED)

    @property
    def refused(self) -> tuple[SuiteDrive, ...]:
        """The runs that did not start, because their scenario or route is wrong."""
        return tuple(drive for drive in self.drives if drive.crash is None and drive.value("end") == NOT_STARTED)

    @property
    def crashed(self) -> tuple[SuiteDrive, ...]:
        return tuple(drive for drive in self.drives if drive.crash is not None)


def read_suite(folder: Path) -> Suite:
    """Read the suite in `folder`; a drive that suite.json does not name yet is included if its folder has a result."""
    content = read_json(folder / SUITE) or {}
    entries = [entry for entry in content.get("drives") or () if isinstance(entry, dict) and "scenario" in entry]
    drives = [_drive(folder / str(entry["scenario"]), entry) for entry in entries]
    named = {drive.name for drive in drives}
    others = [found for found in drive_folders(folder) if found.name not in named]
    results = {found: read_json(found / RESULT) for found in others}
    drives += [SuiteDrive(found.name, found, {}, result) for found, result in results.items() if result is not None]
    planned = list((content.get("fingerprint") or {}).get("runs") or ())
    running = [found.name for found, result in results.items() if result is None]
    ended = {drive.name for drive in drives}
    unended = [name for name in dict.fromkeys([*planned, *running]) if name not in ended]
    return Suite(str(content.get("suite", folder.resolve().name)), tuple(drives), tuple(unended))


def drive_folders(folder: Path) -> list[Path]:
    """The folders in `folder` that hold a drive."""
    found = (path for path in folder.iterdir() if path.is_dir() and path.name != ATTEMPTS)
    return sorted(path for path in found if any((path / name).is_file() for name in (RECORDING, RESULT)))


def is_suite(folder: Path) -> bool:
    """Whether `folder` holds a suite rather than a single drive."""
    return (folder / SUITE).is_file() or (not (folder / RECORDING).is_file() and bool(drive_folders(folder)))


def _drive(folder: Path, entry: Mapping[str, Any]) -> SuiteDrive:
    return SuiteDrive(str(entry["scenario"]), folder, entry, read_json(folder / RESULT) or {})
