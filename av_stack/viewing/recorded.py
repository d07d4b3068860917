"""Reads a recording of `av-stack run` as viewers get a running drive: what it is about, then every step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.reader import DriveReader, RecordedTick
from av_stack.recording.schemas import MAP
from av_stack.viewing.viewer import DriveStep, ViewedDrive
from scenarios.judging.judge import Progress

CAMERA, JUDGE, STAGE_MS = "/camera/", "/judge", "/stage_ms"
JPEG_START = b"\xff\xd8\xff"
NO_ROADS: Mapping[str, Any] = {"name": "", "lanes": [], "route": [], "stop_lines": []}

RecordedStep = tuple[DriveStep, dict[str, bytes]]
"""A step whose frame has no pictures, and the previews of these as JPEG by the camera's name."""


class RecordedView:
    """One recording: `drive` can be read at once, `steps` once. A file that is cut off is read as far as it goes.

    After `steps`, `problem` says in one line why it ended before the end of the file. Raises ConfigError where the file
    is none of `av-stack run`.
    """

    def __init__(self, path: Path) -> None:
        self._reader = DriveReader(path, (CAMERA, JUDGE, STAGE_MS, MAP))
        self._reader.has_pictures = False  # the previews are enough to look at
        self._unpacker = self._reader.steps_unpacker()
        self._ticks = self._reader.ticks()
        self._first = next(self._ticks, None)
        if self._first is None:
            self.close()
            raise ConfigError(self._reader.problem or f"{path}: holds no step")
        setup, roads = self._reader.setup, self._first.messages.get(MAP)
        name = str(json.loads(setup.scenario).get("name", path.stem))
        self.drive = ViewedDrive(
            name, setup.agent, json.loads(roads) if roads is not None else NO_ROADS, setup.rig, setup.vehicle
        )

    @property
    def problem(self) -> str | None:
        """Why the recording could not be read to its end."""
        return self._reader.problem

    def steps(self) -> Iterator[RecordedStep]:
        """The steps in order, as far as they can be read."""
        if self._first is not None:
            yield self._step(self._first)
            self._first = None
        for tick in self._ticks:
            yield self._step(tick)

    def close(self) -> None:
        """Safe to call twice."""
        self._reader.close()

    def _step(self, tick: RecordedTick) -> RecordedStep:
        step, messages = self._unpacker.unpack(tick.step), tick.messages
        if step.result is not None and STAGE_MS in messages:
            step = _with_times(step, json.loads(messages[STAGE_MS])["stage_ms"])
        progress = Progress(**json.loads(messages[JUDGE]))
        previews = {
            topic.removeprefix(CAMERA): data[data.find(JPEG_START) :]
            for topic, data in messages.items()
            if topic.startswith(CAMERA)
        }
        return DriveStep(tick.frame, step, tick.truth, progress), previews


def _with_times(step: AgentStep, stage_ms: Mapping[str, float]) -> AgentStep:
    assert step.result is not None
    return replace(step, result=replace(step.result, stage_ms=stage_ms))
