"""Manages the files of one drive in its folder: recording, video and result."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from av_core.errors import AvStackError, ConfigError
from av_core.types import CameraModel, LaneGraph, Rig, SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.atomic_file import write_atomically
from av_stack.recording.background import JOBS_WAITING_MAX, BackgroundWriter
from av_stack.recording.bird_view import BirdView
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.map_topic import map_message
from av_stack.recording.overlay import Hud, draw, picture_of
from av_stack.recording.video import VideoWriter
from av_stack.recording.writer import Recording
from planning import Route
from scenarios.judging.judge import Progress

RECORDING, VIDEO, RESULT = "recording.mcap", "drive.mp4", "result.json"
REPORT, THUMBNAIL = "report.html", "thumbnail.jpg"
"""Files that are made from the other files after the drive, see `av_stack.report`."""

EXPLANATION = "explain.json"
"""File with the causes of the drive's infractions, see `av_stack.explain`."""

VIDEO_EVERY_STEPS = 2
"""Number of steps from one picture of the video to the next."""

WAITING_MAX_BYTES = 1 << 28
"""Largest memory for the pictures of the steps that wait to be written."""

RESULT_BYTES = 1 << 16
"""Disk space that is reserved for the result, which takes some 5 kB."""


class DriveFolder:
    """The folder that a drive writes to. Files of an earlier drive stay until `clear`, which removes them all at once.

    A context manager. It reserves space for the result, so that even a disk that fills up during the drive can hold it.
    Raises ConfigError where nothing can be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> DriveFolder:
        path = self.path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._reserve: IO[bytes] = tempfile.TemporaryFile(dir=path)
            os.posix_fallocate(self._reserve.fileno(), 0, RESULT_BYTES)
        except OSError as error:
            raise ConfigError(f"--out {path}: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._reserve.close()

    def clear(self) -> None:
        """Remove the files of an earlier drive."""
        clear_outputs(self.path)

    def write_result(self, figures: Mapping[str, Any]) -> None:
        """Write result.json in one step: it is complete or absent. Raises AvStackError where it cannot be written."""
        path, text = self.path / RESULT, json.dumps(figures, indent=2) + "\n"
        self._reserve.close()
        try:
            write_atomically(path, text)
        except OSError as error:
            raise AvStackError(f"{path}: the result cannot be written: {error.strerror}") from None


def clear_outputs(path: Path) -> None:
    """Remove the files of an earlier drive from the folder `path`."""
    for name in (RESULT, f"{RESULT}.part", RECORDING, VIDEO, REPORT, THUMBNAIL, EXPLANATION):
        (path / name).unlink(missing_ok=True)


class Recorder:
    """Writes recording and video in the background. If writing fails, both end there, and the drive goes on.

    The drive never waits: a step that comes while too many others wait is left out of both files and counted. Without
    `camera` there is no video. `close` writes what is waiting and never raises. After it, `error` says what went wrong;
    None if all was written.
    """

    def __init__(
        self,
        folder: Path,
        metadata: Mapping[str, Any],
        camera: CameraModel | None,
        graph: LaneGraph,
        route: Route,
        setup: DriveSetup,
    ) -> None:
        """Raises AvStackError or OSError where the files cannot be written at all."""
        self.error: str | None = None
        self._camera, self._route = camera, route
        map_around = map_message(graph, route)
        self._recording = Recording(folder / RECORDING, metadata, map_around, setup)
        self._open_files: list[Recording | VideoWriter] = [self._recording]
        self._video: VideoWriter | None = None
        if camera is not None:
            self._panel = BirdView(map_around["lanes"], camera.height_px)
            fps = round(1.0 / (setup.step_s * VIDEO_EVERY_STEPS))
            width_px = camera.width_px + self._panel.width_px
            self._video = VideoWriter(folder / VIDEO, width_px, camera.height_px, fps)
            self._open_files.append(self._video)
        self._background = BackgroundWriter("recording", _steps_waiting_max(setup.rig))

    @property
    def dropped_steps(self) -> int:
        """The number of steps that were left out."""
        return self._background.dropped

    def write(self, frame: SensorFrame, step: AgentStep, truth: Truth, progress: Progress) -> None:
        if self.error is None:
            self._background.submit(partial(self._write, frame, step, truth, progress))

    def write_verdict(self, verdict: Mapping[str, Any]) -> None:
        """Write the drive's verdict, and the number of dropped steps, at the end of the recording."""
        self._background.close()
        if self.error is None:
            try:
                self._recording.write_verdict({**verdict, "dropped_steps": self.dropped_steps})
            except AvStackError as error:
                self.error = str(error)

    def close(self) -> None:
        self._background.close()
        self._close_files()

    def _write(self, frame: SensorFrame, step: AgentStep, truth: Truth, progress: Progress) -> None:
        if self.error is not None:
            return
        try:
            self._recording.write(frame, step, truth, progress)
            if self._video is not None and self._camera is not None and frame.stamp.frame % VIDEO_EVERY_STEPS == 0:
                hud = Hud(truth.ego_speed_mps, progress.limit_mps, progress.progress_m, self._route.length_m)
                front = draw(picture_of(frame, self._camera), self._camera, step, hud)
                self._video.write(np.hstack([front, self._panel.draw(step, truth)]))
        except AvStackError as error:
            self.error = str(error)
            self._close_files()

    def _close_files(self) -> None:
        while self._open_files:
            try:
                self._open_files.pop().close()
            except AvStackError as error:
                self.error = self.error or str(error)


def _steps_waiting_max(rig: Rig) -> int:
    """Largest number of steps that may wait to be written, computed from the size of their pictures."""
    step_bytes = sum(3 * camera.width_px * camera.height_px for camera in rig.cameras)
    return max(1, min(JOBS_WAITING_MAX, WAITING_MAX_BYTES // max(step_bytes, 1)))
