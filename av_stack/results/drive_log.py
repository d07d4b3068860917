"""The log of one drive: figures and recording step by step, and the result at the end."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from av_core.errors import AgentError, AvStackError
from av_core.types import CameraModel, LaneGraph, SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.interruption import held_back
from av_stack.recording.exact.setup import FAULTS_APART, DriveSetup
from av_stack.recording.recorder import DriveFolder, Recorder
from av_stack.results.report import Played, Statistics, result
from planning import Route
from scenarios.judging.judge import Judge
from scenarios.model import Scenario

VERDICT = (
    "end",
    "error",
    "driving_score",
    "route_completion",
    "infractions",
    "infraction_log",
    "faults",
    "supervision",
)
"""The keys of result.json that a recording also holds, at its end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Content of result.json, and the exit status of the command."""

    figures: dict[str, Any]
    exit_status: int


@dataclass(frozen=True, slots=True)
class DriveFacts:
    """Facts about a drive that its result names besides the figures."""

    scenario: Scenario
    rig: str
    oracles: Sequence[str]
    server_version: str
    played: Played
    agent: str
    faults: Sequence[str] = ()


class DriveLog:
    """Collects the figures of a drive, and writes its files.

    With `folder` the result is written there, and the files of an earlier drive are removed from it. With `setup` the
    drive is recorded, and with `camera` the recording has a video.

    Call `start` when the drive begins, `update` after every step, `finish` for the result, and `close` once, also after
    an error. `finish` may be called from another thread; the result and the recording then end with the same step, and
    later steps are ignored. Raises AvStackError or OSError where the files cannot be written at all.
    """

    def __init__(
        self,
        facts: DriveFacts,
        judge: Judge,
        route: Route,
        folder: DriveFolder | None,
        camera: CameraModel | None,
        graph: LaneGraph,
        setup: DriveSetup | None,
    ) -> None:
        self._facts, self._judge, self._folder = facts, judge, folder
        self._statistics = Statistics(route)
        self._lock = threading.Lock()
        self._is_finished = False
        self._recorder: Recorder | None = None
        if folder is not None:
            folder.clear()
        if folder is not None and setup is not None:
            drive = facts.scenario
            metadata = {"scenario": drive.name, "map": drive.map, "weather": drive.weather_label, "seed": drive.seed}
            metadata |= {"agent": facts.agent, "faults": FAULTS_APART.join(facts.faults)}
            self._recorder = Recorder(folder.path, metadata, camera, graph, route, setup)

    def start(self) -> None:
        """Start the clock: the drive begins now, after the world was built."""
        self._statistics.start()

    def update(self, frame: SensorFrame, step: AgentStep, truth: Truth) -> None:
        """Take in one step and the truth of its tick."""
        with held_back(), self._lock:
            if self._is_finished:
                return
            self._statistics.update(step.result, truth)
            if self._recorder is not None:
                self._recorder.write(frame, step, truth, self._judge.progress)

    def finish(self, end: str, error: str | None, status: int) -> Outcome:
        """Complete the files and write the result; arguments: how the drive ended, error, exit status."""
        with self._lock:
            self._is_finished = True
        measured = self._statistics.figures(self._judge.in_stop)
        facts = self._facts
        verdict = self._judge.verdict(end, error if status == AgentError.exit_status else None)
        version, played, agent = facts.server_version, facts.played, facts.agent
        figures = result(facts.scenario, facts.rig, verdict, measured, facts.oracles, version, error, played, agent)
        figures["faults"] = list(facts.faults)
        if self._folder is None:
            return Outcome(figures, status)
        recording_error, dropped_steps = self._end_recording(figures)
        figures |= {"recording_error": recording_error, "recording_dropped_steps": dropped_steps}
        self._folder.write_result(figures)
        return Outcome(figures, status or (AvStackError.exit_status if recording_error else 0))

    def _end_recording(self, figures: Mapping[str, Any]) -> tuple[str | None, int]:
        """Complete the recording, if there is one; returns its error and the number of steps that it lacks."""
        if self._recorder is None:
            return None, 0
        self._recorder.write_verdict({key: figures[key] for key in VERDICT})
        self._recorder.close()
        return self._recorder.error, self._recorder.dropped_steps

    def close(self) -> None:
        """Complete the recording and the video."""
        if self._recorder is not None:
            self._recorder.close()
