"""Reads a recording of `av-stack run` for viewers, as they get a running drive: first its data, then every step."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_core.types import CameraImage, SensorFrame
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.packing import PackingError
from av_stack.recording.exact.reader import DriveReader, RecordedTick
from av_stack.recording.previews import PreviewReader
from av_stack.recording.schemas import MAP
from av_stack.viewing.viewer import DriveStep, ViewedDrive
from scenarios.judging.judge import Progress

CAMERA, JUDGE, STAGE_MS = "/camera/", "/judge", "/stage_ms"
NO_ROADS: Mapping[str, Any] = {"name": "", "lanes": [], "route": [], "stop_lines": []}


class RecordedView:
    """One recording: `drive` can be read at once, `steps` once. A file that is cut off is read as far as it goes.

    The pictures of a step's frame are its previews; cameras without a preview are left out. After `steps`, `problem`
    says in one line why it ended before the end of the file; None if it did not. Raises ConfigError if the file is no
    recording of `av-stack run`.
    """

    def __init__(self, path: Path) -> None:
        self._reader = DriveReader(path, (CAMERA, JUDGE, STAGE_MS, MAP))
        self._reader.has_pictures = False  # the previews are enough to look at
        self._unpacker = self._reader.steps_unpacker()
        self._previews: dict[str, PreviewReader] = defaultdict(PreviewReader)
        self._problem: str | None = None
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
        return self._problem or self._reader.problem

    def steps(self) -> Iterator[DriveStep]:
        """The steps in order, as far as they can be read."""
        ticks = self._ticks if self._first is None else chain([self._first], self._ticks)
        self._first = None
        for tick in ticks:
            try:
                step = self._step(tick)
            except PackingError as error:
                at_s = tick.frame.stamp.time_s
                self._problem = f"{self._reader.path}: can be read no further at {at_s:.2f} s: {error}"
                return
            yield step

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._reader.close()

    def _step(self, tick: RecordedTick) -> DriveStep:
        step, messages = self._unpacker.unpack(tick.step), tick.messages
        if step.result is not None and STAGE_MS in messages:
            step = _with_times(step, json.loads(messages[STAGE_MS])["stage_ms"])
        progress = Progress(**json.loads(messages[JUDGE]))
        return DriveStep(self._with_previews(tick), step, tick.truth, progress)

    def _with_previews(self, tick: RecordedTick) -> SensorFrame:
        """The frame of a tick with its previews as pictures. Raises PackingError where one is damaged."""
        cameras = {}
        for model in self.drive.rig.cameras:
            message = tick.messages.get(f"{CAMERA}{model.name}")
            bgr = self._previews[model.name].read(message) if message is not None else None
            if bgr is not None:
                cameras[model.name] = CameraImage(tick.frame.stamp, model, bgr[: model.height_px, : model.width_px])
        return replace(tick.frame, cameras=cameras)


def _with_times(step: AgentStep, stage_ms: Mapping[str, float]) -> AgentStep:
    assert step.result is not None
    return replace(step, result=replace(step.result, stage_ms=stage_ms))
