"""A study: the reference drives, then rounds of drives and looks in other weathers, each round a suite of its own.

The weathers of a round depend only on the results of the rounds before it. So a resumed study makes the same rounds
again, and finds the finished runs in their folders.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Literal

from rich.console import Console

from av_core.errors import AvStackError
from av_stack.recording.recorder import RECORDING
from av_stack.suite.attempt import do_work, drive, read_result
from av_stack.suite.entries import is_driven
from av_stack.suite.fingerprint import fingerprint
from av_stack.suite.folder import SUITE, SuiteFolder
from av_stack.suite.job import Attempt, Job, Options, Task, Work
from av_stack.suite.pool import LocalPool, Pool
from av_stack.suite.progress import SuiteProgress, told_entry
from av_stack.suite.runner import run_suite
from av_stack.suite.sources import refuse_if_none_can_start, scenario_jobs, with_map_digests
from av_stack.weather_stress.drive_figures import drive_figures
from av_stack.weather_stress.figures import Figure, look_figures
from av_stack.weather_stress.look import LOOK
from av_stack.weather_stress.pictures import moments, write_recorded
from av_stack.weather_stress.reference import read_reference, read_truths
from av_stack.weather_stress.weathers import Point, Unit, label

REFERENCE, ROUND = "reference", "round_"
OWN: Point = ()
"""The point of the scenario's own weather."""

LOOK_COMMAND = "weather-look"
"""The hidden command of `av-stack` that a look runs."""

Kind = Literal["drive", "look"]
KINDS: tuple[Kind, ...] = ("look", "drive")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One run of a round: a drive in a weather, or a look at the reference drive in it."""

    unit: Unit
    point: Point
    kind: Kind


@dataclass(slots=True)
class Measured:
    """The measurements of one unit in one weather; `folders` are the folders of its runs, `problems` its crashes."""

    figures: dict[str, Figure] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def values(self) -> dict[str, float | None]:
        return {name: figure.value for name, figure in self.figures.items()}

    def take(self, figures: Iterable[Figure]) -> None:
        self.figures |= {figure.name: figure for figure in figures}


@dataclass(frozen=True, slots=True)
class Place:
    """How a study runs: the folder of its files, the `kinds` of its runs, and the machines for them.

    With `ray` the runs go to the Ray cluster at this address, else they run on this machine. `workers` is the number of
    runs at a time; without it, one at a time on this machine.
    """

    out: Path
    workers: int | None
    options: Options
    console: Console
    resume: bool
    kinds: tuple[Kind, ...] = KINDS
    ray: str | None = None


class Study:
    """The measurements of all units in all weathers so far. Raises AvStackError where a reference drive has none."""

    def __init__(self, name: str, units: Sequence[Unit], place: Place) -> None:
        self.units, self.name, self.kinds, self._place = units, name, place.kinds, place
        self.measured: dict[tuple[str, Point], Measured] = {}
        self._rounds = 0
        self._wanted: dict[str, Wanted] = {}
        self._closers = ExitStack()

    def __enter__(self) -> Study:
        jobs = self._jobs([Wanted(unit, OWN, "drive") for unit in self.units])
        refuse_if_none_can_start(jobs)
        if not self._place.resume:
            remove_rounds(self._place.out)
        try:
            self._pool, self._machine = self._opened_pool()
            self._closers.callback(self._pool.close)
            self._drive_references(jobs)
        except BaseException:
            self._closers.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._closers.close()

    def at(self, unit: Unit, point: Point) -> Measured:
        """The measurements of a unit in a weather; in the unit's own weather, those of the reference drive."""
        return self.measured.setdefault((unit.name, OWN if unit.is_own(point) else point), Measured())

    def run_round(self, wanted: Sequence[Wanted]) -> None:
        """Run the drives and looks in these weathers; weathers that were measured before are not run again."""
        missing = [one for one in dict.fromkeys(wanted) if one.kind not in self.at(one.unit, one.point).folders]
        if not missing:
            return
        self._rounds += 1
        jobs = self._jobs(missing)
        folder = self._place.out / f"{ROUND}{self._rounds:02d}"
        self._wanted |= {job.name: one for job, one in zip(jobs, missing, strict=True)}
        with ExitStack() as closers:
            entries = self._run(folder, jobs, closers)
        for job, one in zip(jobs, missing, strict=True):
            take_in(self.at(one.unit, one.point), one.kind, folder / job.name, entries[job.name])

    def problems(self) -> list[str]:
        """The runs that crashed or did not start, in words."""
        return [problem for measured in self.measured.values() for problem in measured.problems]

    def reference_of(self, unit: Unit) -> Path:
        """The folder of the unit's reference drive."""
        return self.at(unit, OWN).folders["drive"]

    # ---------------------------------------------------------------- inside

    def _jobs(self, wanted: Sequence[Wanted]) -> list[Job]:
        tables = []
        for one in wanted:
            name = "_".join([one.kind, one.unit.name, label(one.point)])
            tables.append(one.unit.at(one.point).model_copy(update={"name": name}))
        return with_map_digests(scenario_jobs(tables, self._place.options), self._place.options.maps)

    def _drive_references(self, jobs: Sequence[Job]) -> None:
        folder = self._place.out / REFERENCE
        entries = self._run(folder, jobs, self._closers)  # its lock is held until the study ends
        for unit, job in zip(self.units, jobs, strict=True):
            measured, path = self.at(unit, OWN), folder / job.name
            take_in(measured, "drive", path, entries[job.name])
            if not is_driven(entries[job.name]):
                raise AvStackError(f"{unit.name}: no reference drive: {measured.problems[0]}")
            reference = read_reference(path / RECORDING)
            measured.take(look_figures(reference.scores, reference.scores))
            frames = moments(reference.scores)
            write_recorded(path / RECORDING, reference.steps, reference.camera, frames, path)
            measured.folders["look"] = path

    def _run(self, folder: Path, jobs: Sequence[Job], closers: ExitStack) -> dict[str, dict[str, Any]]:
        """Run a suite of these jobs; returns its entries by name. Jobs that its folder already holds are skipped."""
        title = f"{self.name} {folder.name}"
        print_of = fingerprint(title, jobs, self._place.options, self._machine)
        opened = closers.enter_context(SuiteFolder(folder, print_of, jobs, self._place.resume))
        done = len(opened.entries())
        capacity, console = self._pool.capacity, self._place.console
        with SuiteProgress(title, len(jobs), done, capacity, console, partial(told, self._wanted)) as progress:
            run_suite(opened, self._pool, progress)
        return {job.name: entry for job, entry in zip(jobs, opened.entries(), strict=True)}

    def _opened_pool(self) -> tuple[Pool, Mapping[str, str] | None]:
        """(the pool for the runs, the kind of machine that drives; None if it is this machine)."""
        place = self._place
        if place.ray is None:
            return LocalPool(place.workers or 1, self._attempt), None
        from av_stack.suite.ray_pool import RayPool

        cluster = RayPool(place.ray, place.workers, place.options, self._work_of)
        return cluster, cluster.machine

    def _attempt(self, task: Task, folder: Path, stop: Event) -> Attempt:
        work = self._work_of(task.job)
        if work is None:
            return drive(task.job, self._place.options.arguments(), folder, stop)
        return do_work(work, task.job, folder, stop)

    def _work_of(self, job: Job) -> Work | None:
        """The work for a job that is not a drive: a look at the recording of the unit's reference drive."""
        one = self._wanted.get(job.name)
        if one is None or one.kind == "drive":
            return None
        return Work(LOOK_COMMAND, self.reference_of(one.unit) / RECORDING)


def take_in(measured: Measured, kind: Kind, folder: Path, entry: Mapping[str, Any]) -> None:
    """Add the results of a run to the measurements of its weather."""
    measured.folders[kind] = folder
    if not is_driven(entry) or entry["error"]:
        measured.problems.append(f"{folder.name}: {entry['crash'] or entry['error']}")
    elif kind == "look":
        content = json.loads((folder / LOOK).read_text())
        measured.take(Figure(**figure) for figure in content["figures"])
    else:
        result = read_result(folder)
        assert result is not None  # it was driven
        measured.take(drive_figures(result, read_truths(folder / RECORDING)))


def told(by_name: Mapping[str, Wanted], entry: Mapping[str, Any]) -> str:
    """One line about a run that is done; a look has no score of its own."""
    one = by_name.get(entry["scenario"])
    is_look = one is not None and one.kind == "look" and is_driven(entry)
    return f"{entry['scenario']}: looked" if is_look else told_entry(entry)


def remove_rounds(out: Path) -> None:
    """Remove the rounds of an earlier study."""
    for path in sorted(out.glob(f"{ROUND}[0-9][0-9]")):
        if (path / SUITE).is_file():
            shutil.rmtree(path)
