"""The folder of a suite: every run in a folder of its own, which appears whole or not at all.

An attempt writes to `attempts/NAME.NUMBER`. Once it counts, its entry is written there as run.json, and the folder is
renamed to NAME: with that rename, and not before, the run is done. `journal.jsonl` gets a line for each step, and is
never rewritten. So whatever is killed, and whenever: a run is done exactly once, or is still to be done.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_stack.recording.atomic_file import write_atomically
from av_stack.recording.recorder import REPORT
from av_stack.suite.attempt import read_result
from av_stack.suite.entries import entry, summary
from av_stack.suite.fingerprint import fingerprint_id, refuse_differences
from av_stack.suite.job import Attempt, Job, Task
from av_stack.suite.verdict import INTERRUPTED

SUITE, JOURNAL, ATTEMPTS, RUN, LOCK = "suite.json", "journal.jsonl", "attempts", "run.json", "suite.lock"


class SuiteFolder:
    """The folder of a suite, for one process at a time; a context manager.

    Without `resume` the suite starts anew, and the runs of an earlier suite in the folder are removed. With `resume`,
    finished runs and crashed attempts are kept. Raises ConfigError if another process uses the folder, or if its
    results have another fingerprint.
    """

    def __init__(self, path: Path, fingerprint: Mapping[str, Any], jobs: Sequence[Job], resume: bool) -> None:
        self.path = path
        self._fingerprint, self._jobs, self._resume = fingerprint, jobs, resume
        self._id = fingerprint_id(fingerprint)
        self._done: dict[str, dict[str, Any]] = {}
        self._attempts: dict[str, list[Attempt]] = defaultdict(list)
        self._journal = -1
        self._lock = -1

    def __enter__(self) -> SuiteFolder:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigError(f"--out {self.path}: {error.strerror}") from None
        try:
            self._take_lock()
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (self._journal, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._journal = self._lock = -1

    def entries(self) -> list[dict[str, Any]]:
        """The entries of the runs that are done, in the order of the suite."""
        return [self._done[job.name] for job in self._jobs if job.name in self._done]

    def left(self) -> list[Job]:
        """The runs that are still to be done. After a resume, runs whose last attempt crashed are among them."""
        return [job for job in self._jobs if job.name not in self._done]

    def begin(self, job: Job) -> tuple[Task, Path]:
        """The next attempt at `job`, and the new folder that it writes to."""
        task = Task(job, len(self._attempts[job.name]) + 1)
        folder = self._folder_of(task.name)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._note("began", task.job, number=task.number)
        return task, folder

    def note(self, task: Task, attempt: Attempt) -> None:
        """Log how an attempt ended."""
        self._attempts[task.job.name].append(attempt)
        self._note("ended", task.job, number=task.number, **asdict(attempt))

    def keep(self, task: Task) -> dict[str, Any]:
        """Mark the run as done with this attempt, which was noted before; returns its entry in suite.json."""
        folder = self._folder_of(task.name)
        found = entry(task.job, read_result(folder), self._attempts[task.job.name])
        write_atomically(folder / RUN, json.dumps({"suite": self._id, "entry": found}, indent=2) + "\n")
        os.rename(folder, self.path / task.job.name)
        self._done[task.job.name] = found
        self._note("kept", task.job, number=task.number)
        self._write_suite()
        return found

    def keep_refusal(self, job: Job, refused: Attempt) -> dict[str, Any]:
        """Mark the run as done without an attempt, because it cannot start."""
        task, _ = self.begin(job)
        self.note(task, refused)
        return self.keep(task)

    # ---------------------------------------------------------------- open

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(
                f"--out {self.path}: another suite is being driven there; wait, or give another folder"
            ) from None

    def _open(self) -> None:
        before = self._stored_fingerprint()
        if self._resume and before is not None:
            refuse_differences(before, self._fingerprint, f"--resume: {self.path / SUITE}")
        elif not self._resume:
            self._clear(before)
        descriptor = os.open(self.path / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._journal = descriptor
        (self.path / ATTEMPTS).mkdir(exist_ok=True)
        self._recover()
        self._write_suite()

    def _stored_fingerprint(self) -> Mapping[str, Any] | None:
        path = self.path / SUITE
        if not path.is_file():
            return None
        try:
            found: Mapping[str, Any] = json.loads(path.read_text())["fingerprint"]
        except (ValueError, KeyError, TypeError):
            if self._resume:
                raise ConfigError(f"--resume: {path} was not written by this version; give another --out") from None
            return None
        return found

    def _clear(self, before: Mapping[str, Any] | None) -> None:
        """Remove the files of an earlier suite: first its runs, and last suite.json, which names them."""
        names = {job.name for job in self._jobs} | set(before["runs"] if before is not None else ())
        for folder in (*(self.path / name for name in sorted(names)), self.path / ATTEMPTS):
            shutil.rmtree(folder, ignore_errors=True)
        for name in (REPORT, JOURNAL, SUITE):
            (self.path / name).unlink(missing_ok=True)

    def _recover(self) -> None:
        """Take over the finished runs, log the attempts that were cut off, and remove the folders of these attempts."""
        lines = self._journal_lines()
        open_tasks: dict[str, Task] = {}
        kept: set[str] = set()
        jobs = {job.name: job for job in self._jobs}
        for line in (line for line in lines if line["run"] in jobs):
            task = Task(jobs[line["run"]], line["number"])
            if line["event"] == "began":
                open_tasks[task.name] = task
            elif line["event"] == "ended":
                open_tasks.pop(task.name, None)
                told = {key: line[key] for key in ("end", "error", "seconds", "crash")}
                self._attempts[task.job.name].append(Attempt(**told))
            else:
                kept.add(task.name)
        for task in open_tasks.values():
            self.note(task, Attempt(INTERRUPTED, "the suite was ended", 0.0))
            shutil.rmtree(self._folder_of(task.name), ignore_errors=True)
        for job in self._jobs:
            self._take_over(job, kept)

    def _take_over(self, job: Job, kept: set[str]) -> None:
        found = self._stored_entry(job)
        if found is None:
            return
        task = Task(job, len(found["attempts"]))
        if task.name not in kept:  # the suite was killed right after the rename
            self._note("kept", job, number=task.number)
        if found["crash"] is None:
            self._done[job.name] = found
        else:  # driven again: its files go back to the attempts
            os.rename(self.path / job.name, self._folder_of(task.name))
            self._note("reopened", job, number=task.number)

    def _stored_entry(self, job: Job) -> dict[str, Any] | None:
        """The entry in the folder of a finished run; None if the folder has none of this suite."""
        try:
            content = json.loads((self.path / job.name / RUN).read_text())
            found: dict[str, Any] = content["entry"]
            return found if content["suite"] == self._id else None
        except (OSError, ValueError, KeyError, TypeError):  # absent, or cut off by the end of the machine
            return None

    # ---------------------------------------------------------------- write

    def _folder_of(self, task_name: str) -> Path:
        return self.path / ATTEMPTS / task_name

    def _journal_lines(self) -> list[dict[str, Any]]:
        """The whole lines of the journal; a last line that was cut off is removed."""
        data = (self.path / JOURNAL).read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._journal, len(whole))
        return [json.loads(line) for line in whole.splitlines()]

    def _note(self, event: str, job: Job, **details: Any) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now, "event": event, "run": job.name, **details}) + "\n"
        os.write(self._journal, line.encode())
        os.fsync(self._journal)

    def _write_suite(self) -> None:
        done = self.entries()
        content = {
            "suite": self._fingerprint["suite"],
            "fingerprint": self._fingerprint,
            "is_complete": len(done) == len(self._jobs),
            "summary": summary(done),
            "drives": done,
        }
        write_atomically(self.path / SUITE, json.dumps(content, indent=2) + "\n")
