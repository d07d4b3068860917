"""The logic of a suite, with a function in place of the process that drives: retries, crashes, kills, resumes."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from av_core.errors import ConfigError
from av_stack.suite.fingerprint import fingerprint
from av_stack.suite.folder import SuiteFolder
from av_stack.suite.job import Attempt, Job, Options, Task
from av_stack.suite.pool import LocalPool
from av_stack.suite.runner import run_suite

CRASH = Attempt("crashed", "the server went away", 1.0, "the server went away")
ARRIVED = Attempt("arrived", None, 1.0)


def job(name: str, **changes: Any) -> Job:
    return Job(name, "scenario", f"name: {name}", "city_grid", **changes)


THREE = [job("one"), job("two"), job("three")]


class Drives:
    """Stands for the processes that drive: ends as `ends` says for each run, otherwise well; notes every attempt."""

    def __init__(self, ends: Mapping[str, Sequence[Attempt]] | None = None) -> None:
        self._ends = {name: list(rest) for name, rest in (ends or {}).items()}
        self.names: list[str] = []
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()

    def __call__(self, task: Task, path: Path, stop: threading.Event) -> Attempt:
        with self._lock:
            self.names.append(task.job.name)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        rest = self._ends.get(task.job.name)
        attempt = rest.pop(0) if rest else ARRIVED
        stop.wait(0.005)
        (path / "result.json").write_text(json.dumps(figures(attempt)))
        with self._lock:
            self.at_once -= 1
        return attempt


class Told:
    """Observer that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def began(self, task: Task) -> None:
        self.lines.append(f"began {task.name}")

    def ended(self, task: Task, attempt: Attempt, will_repeat: bool) -> None:
        self.lines.append(f"ended {task.name}{' again' if will_repeat else ''}")

    def kept(self, entry: Mapping[str, Any]) -> None:
        self.lines.append(f"kept {entry['scenario']}")


def figures(attempt: Attempt) -> dict[str, Any]:
    done = float(attempt.end == "arrived")
    scores = {"driving_score": 100.0 * done, "driving_score_2_1": 100.0 * done}
    found = {"end": attempt.end, "error": attempt.error, "route_completion": done, "driven_m": 18.0, "time_s": 6.0}
    return {**found, **scores, "shortcomings": [] if done else ["0 % of the route"], "oracles": []}


def suite(
    out: Path, drives: Drives, jobs: Sequence[Job] = THREE, resume: bool = False, workers: int = 1, seed: int = 1
) -> dict[str, Any]:
    """Drive a suite to its end; returns suite.json."""
    with SuiteFolder(out, fingerprint("three", jobs, Options(seed=seed)), jobs, resume) as folder:
        pool = LocalPool(workers, drives)
        try:
            run_suite(folder, pool, Told())
        finally:
            pool.close()
    return stored(out)


def stored(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "suite.json").read_text())
    return content


def journal(out: Path) -> list[dict[str, Any]]:
    """Its whole lines; a kill can cut the last one off."""
    text = (out / "journal.jsonl").read_text()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def kept(out: Path) -> Counter[str]:
    return Counter(line["run"] for line in journal(out) if line["event"] == "kept")


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_run_is_driven_once_and_by_as_many_workers_as_asked_for(tmp_path: Path, workers: int) -> None:
    drives = Drives()
    content = suite(tmp_path, drives, workers=workers)
    assert sorted(drives.names) == ["one", "three", "two"]
    assert drives.most_at_once <= workers
    assert [entry["scenario"] for entry in content["drives"]] == ["one", "two", "three"]
    assert content["is_complete"]
    assert kept(tmp_path) == {"one": 1, "two": 1, "three": 1}
    assert not list((tmp_path / "attempts").iterdir())


def test_a_crash_is_repeated_once_and_no_failure_to_drive(tmp_path: Path) -> None:
    content = suite(tmp_path, Drives({"one": [CRASH], "two": [CRASH, CRASH]}))
    one, two, three = content["drives"]
    assert one["crash"] is None
    assert [attempt["crash"] for attempt in one["attempts"]] == ["the server went away", None]
    assert two["crash"] == "the server went away"
    assert len(two["attempts"]) == 2
    assert two["shortcomings"] == []
    assert len(three["attempts"]) == 1
    told = content["summary"]
    assert (told["passed"], told["failed"], told["crashed"], told["crashed_attempts"]) == (2, 0, 1, 3)
    assert told["driving_score"] == 100.0  # that of the crashed run does not count


def test_bad_driving_is_not_repeated(tmp_path: Path) -> None:
    drives = Drives({"one": [Attempt("time-out after 30 s", None, 1.0)]})
    content = suite(tmp_path, drives)
    assert drives.names == ["one", "two", "three"]
    assert content["drives"][0]["shortcomings"] == ["0 % of the route"]
    assert content["summary"]["failed"] == 1


def test_a_job_that_cannot_start_does_not_stop_the_others(tmp_path: Path) -> None:
    drives = Drives()
    jobs = [job("one", refusal="one.yaml: unknown key nam"), *THREE[1:]]
    content = suite(tmp_path, drives, jobs)
    assert drives.names == ["two", "three"]
    assert content["drives"][0]["error"] == "one.yaml: unknown key nam"
    assert content["drives"][0]["shortcomings"] == ["one.yaml: unknown key nam"]
    assert content["summary"]["not_started"] == 1


def test_a_resume_drives_what_is_left_and_what_had_crashed(tmp_path: Path) -> None:
    suite(tmp_path, Drives({"two": [CRASH, CRASH]}))
    first = stored(tmp_path)["drives"][0]
    drives = Drives()
    content = suite(tmp_path, drives, resume=True)
    assert drives.names == ["two"]
    assert content["drives"][0] == first
    assert [attempt["crash"] is None for attempt in content["drives"][1]["attempts"]] == [False, False, True]
    assert (tmp_path / "attempts" / "two.2" / "result.json").is_file()  # to look at what crashed


def test_without_resume_a_suite_starts_anew(tmp_path: Path) -> None:
    suite(tmp_path, Drives())
    drives = Drives()
    suite(tmp_path, drives, THREE[:2], seed=2)
    assert drives.names == ["one", "two"]
    assert not (tmp_path / "three").exists()
    assert len(journal(tmp_path)) == 6


@pytest.mark.parametrize(
    ("jobs", "seed", "words"),
    [
        (THREE, 2, "options seed: 1 there, 2 now"),
        (THREE[:2], 1, "runs three: .* there, absent now"),
        ([*THREE[:2], Job("three", "scenario", "name: other", "city_grid")], 1, "runs three"),
        ([*THREE[:2], job("three", map_digest="other")], 1, "runs three"),
    ],
)
def test_results_that_do_not_belong_together_refuse_to_merge(
    tmp_path: Path, jobs: Sequence[Job], seed: int, words: str
) -> None:
    suite(tmp_path, Drives())
    before = stored(tmp_path)
    with pytest.raises(ConfigError, match=words):
        suite(tmp_path, Drives(), jobs, resume=True, seed=seed)
    assert stored(tmp_path) == before


@pytest.mark.parametrize(
    ("group", "key", "words"), [("version", "code", "version code"), ("machine", "processor", "machine processor")]
)
def test_results_of_another_version_or_machine_refuse_to_merge(
    tmp_path: Path, group: str, key: str, words: str
) -> None:
    suite(tmp_path, Drives())
    content = stored(tmp_path)
    content["fingerprint"][group][key] = "another"
    (tmp_path / "suite.json").write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=f"{words}: another there"):
        suite(tmp_path, Drives(), resume=True)


def test_one_process_at_a_time_drives_in_a_folder(tmp_path: Path) -> None:
    found = fingerprint("three", THREE, Options())
    with SuiteFolder(tmp_path, found, THREE, resume=False), pytest.raises(ConfigError, match="another suite"):
        SuiteFolder(tmp_path, found, THREE, resume=True).__enter__()


class KilledError(BaseException):
    """Stands for the end of the process."""


def test_a_kill_at_any_step_loses_no_run_and_repeats_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite is killed before, and in the middle of, every single write, and then resumed."""
    number = 0
    while True:
        out = tmp_path / str(number)
        with monkeypatch.context() as patch:
            steps = kill_at_step(patch, number)
            try:
                suite(out, Drives({"two": [CRASH]}), workers=2)
            except KilledError:
                pass
            else:
                break
        before = set(kept(out)) if (out / "journal.jsonl").exists() else set()
        drives = Drives({"two": [CRASH]})
        content = suite(out, drives, resume=True, workers=2)
        assert content["is_complete"], number
        assert [entry["scenario"] for entry in content["drives"]] == ["one", "two", "three"]
        assert kept(out) == {"one": 1, "two": 1, "three": 1}
        assert before.isdisjoint(drives.names)
        number += 1
    assert number == steps() > 20


def kill_at_step(patch: pytest.MonkeyPatch, number: int) -> Any:
    """Let the `number`th write to the disk, counted from 0, end the process; returns the count of the steps."""
    count = 0
    write, rename, replace = os.write, os.rename, os.replace

    def is_due() -> bool:
        nonlocal count
        count += 1
        return count == number + 1

    def cut_write(descriptor: int, data: bytes) -> int:
        if is_due():
            write(descriptor, data[: len(data) // 2])
            raise KilledError
        return write(descriptor, data)

    def cut_rename(source: Path, target: Path) -> None:
        if is_due():
            raise KilledError
        rename(source, target)
        if is_due():
            raise KilledError

    def cut_replace(source: Path, target: Path) -> None:
        if is_due():
            raise KilledError
        replace(source, target)

    patch.setattr(os, "write", cut_write)
    patch.setattr(os, "rename", cut_rename)
    patch.setattr(os, "replace", cut_replace)
    return lambda: count
