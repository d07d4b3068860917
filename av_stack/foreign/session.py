"""Replays a recording of another program: runs perception on its pictures and its other sensors."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from av_core.errors import AvStackError, ConfigError
from av_core.types import CameraModel, SensorFrame
from av_stack.foreign.assemble import build_perception, disabled
from av_stack.foreign.optics import CAMERA
from av_stack.foreign.outputs import VIDEO, Outputs
from av_stack.foreign.report import CameraFigures, ForeignReport
from av_stack.foreign.source import ForeignSource
from av_stack.recording.recorder import DriveFolder
from av_stack.run import weights_label
from av_stack.suite.fingerprint import version
from perception.detection.weights import SHIPPED
from perception.lanes.self_calibration import MountCalibrator

MODULES = (
    "health",
    "self-calibration",
    "lanes",
    "localization",
    "objects",
    "lights",
    "prediction",
    "planning",
    "control",
)
"""All modules that a drive has, in the order of the data."""

Watch = Callable[[float], None]
"""Function that is called after every picture with the number of seconds that have been replayed."""


@dataclass(frozen=True, slots=True)
class ForeignOptions:
    """The folder for the files, and the settings of perception; without `weights` the shipped detector is used."""

    out: Path
    weights: Path | None = None
    device: str = "cpu"


def replay_foreign(source: ForeignSource, options: ForeignOptions, watch: Watch | None = None) -> ForeignReport:
    """Perceive the recording to its end, or as far as it can be read; writes the files of `Outputs` and result.json.

    Closes the source. Raises ConfigError where nothing can be written at all.
    """
    with closing(source), DriveFolder(options.out) as folder:
        if source.path.resolve() == (options.out / VIDEO).resolve():
            raise ConfigError(f"--out {options.out}: {source.path} would be overwritten")
        replayed = _Replay(source, options)
        problem = replayed.run(watch)
        report = replayed.report(source.problem or problem)
        folder.write_result(report.content())
        return report


class _Replay:
    def __init__(self, source: ForeignSource, options: ForeignOptions) -> None:
        self._source, self._disabled = source, disabled(source)
        self._weights = options.weights or SHIPPED[options.device]
        self._perception = build_perception(source, self._weights, options.device)
        self._mount = MountCalibrator(source.optics.camera)
        self._camera = source.optics.camera
        self._outputs = Outputs(options.out, self._camera, source.pictures_per_s)
        self._counts: Counter[str] = Counter()
        self._kinds: dict[int, str] = {}
        self._last_s = self._took_s = 0.0

    def run(self, watch: Watch | None) -> str | None:
        """Run perception on all pictures; returns the problem with the files in one line, None if there was none."""
        begin = time.perf_counter()
        try:
            for frame in self._source.frames():
                self._step(self._turned(frame))
                if watch is not None:
                    watch(frame.stamp.time_s)
        except AvStackError as error:
            return str(error)
        finally:
            problem = self._close()
            self._took_s = time.perf_counter() - begin
        return problem

    def _close(self) -> str | None:
        try:
            self._outputs.close()
        except AvStackError as error:
            return str(error)
        return None

    def _turned(self, frame: SensorFrame) -> SensorFrame:
        """The frame with the camera's present pitch and yaw from self-calibration."""
        image = frame.cameras[CAMERA]
        if self._source.optics.turns_itself:
            self._camera = self._mount.update(image.bgr)
        return replace(frame, cameras={CAMERA: replace(image, camera=self._camera)})

    def _step(self, frame: SensorFrame) -> None:
        perceived = self._perception.perceive(frame)
        scene, health = perceived.scene, perceived.health.front
        self._last_s = frame.stamp.time_s
        self._counts["pictures"] += 1
        self._counts["unwell"] += bool(health.faults)
        self._counts["left"] += scene.lanes.left is not None
        self._counts["right"] += scene.lanes.right is not None
        self._kinds |= {thing.track_id: thing.kind.value for thing in scene.objects}
        self._outputs.write(frame.cameras[CAMERA], scene, health, "localization" not in self._disabled)

    def report(self, problem: str | None) -> ForeignReport:
        pictures = self._counts["pictures"]
        return ForeignReport(
            recording=str(self._source.path),
            kind=self._source.kind,
            pictures=pictures,
            last_s=self._last_s,
            took_s=self._took_s,
            ran=tuple(name for name in MODULES if name not in self._disabled),
            disabled=self._disabled,
            camera=_camera_figures(self._camera, self._mount.is_calibrated),
            left_line_share=self._counts["left"] / max(pictures, 1),
            right_line_share=self._counts["right"] / max(pictures, 1),
            unwell_share=self._counts["unwell"] / max(pictures, 1),
            tracks=dict(Counter(self._kinds.values())),
            detector=weights_label(self._weights),
            notes=(*self._source.optics.notes, *self._source.notes),
            problem=problem,
            versions=version(),
        )


def _camera_figures(camera: CameraModel, is_calibrated: bool) -> CameraFigures:
    degrees = [math.degrees(angle) for angle in (camera.fov_x_rad, camera.pitch_rad, camera.yaw_rad)]
    fov, pitch, yaw = (round(angle, 3) for angle in degrees)
    return CameraFigures(camera.width_px, camera.height_px, fov, camera.z_m, pitch, yaw, is_calibrated)
