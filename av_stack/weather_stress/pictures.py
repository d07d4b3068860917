"""The pictures of a study: the same moments of a drive in several weathers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
from mcap.reader import make_reader

from av_core.errors import ConfigError
from av_core.types import CameraModel, Image, SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.overlay import draw_boxes, draw_lanes
from av_stack.recording.previews import PreviewReader
from av_stack.recording.repair import open_recording
from av_stack.replay.perception_scores import StepScore
from scenarios.judging.judge import Judge

JPEG_QUALITY = 80
PICTURES = 3


def moments(scores: Sequence[StepScore]) -> list[int]:
    """Frame numbers for the pictures: in each third of a drive, the first step with the most visible objects."""
    found = []
    for number in range(PICTURES):
        part = scores[number * len(scores) // PICTURES : (number + 1) * len(scores) // PICTURES]
        if part:
            found.append(max(part, key=_seen).stamp.frame)
    return found


def picture_name(frame: int) -> str:
    return f"frame_{frame}.jpg"


class PictureTaker:
    """Watcher that writes the front camera's picture at some frames, with the lanes and boxes that the stack sees."""

    def __init__(self, folder: Path, camera: CameraModel, frames: Sequence[int]) -> None:
        self._folder, self._camera, self._frames = folder, camera, frozenset(frames)

    def watch(self, frame: SensorFrame, step: AgentStep, _truth: Truth, _judge: Judge) -> None:
        picture = frame.cameras.get(self._camera.name)
        if frame.stamp.frame in self._frames and picture is not None:
            _write(self._folder / picture_name(frame.stamp.frame), picture.bgr, self._camera, step)


def write_recorded(
    recording: Path, steps: Sequence[AgentStep], camera: CameraModel, frames: Sequence[int], folder: Path
) -> None:
    """Write the same pictures of a recorded drive, from its previews; `steps` are all steps of the recording."""
    previews = PreviewReader()
    with open_recording(recording) as file:
        messages = make_reader(file).iter_messages(topics=[f"/camera/{camera.name}"], log_time_order=False)
        for step, (_, _, message) in zip(steps, messages, strict=False):
            if step.result is None or step.result.stamp.frame not in frames:
                previews.skip(message.data)
                continue
            bgr = previews.read(message.data)
            if bgr is None:
                raise ConfigError(f"{recording}: a picture of the drive cannot be read")
            picture = bgr[: camera.height_px, : camera.width_px]
            _write(folder / picture_name(step.result.stamp.frame), picture, camera, step)


def _seen(score: StepScore) -> int:
    return sum(one.is_in_picture for one in score.objects) + len(score.lights) + sum(
        line.error_m is not None for line in score.lines
    )  # fmt: skip


def _write(path: Path, bgr: Image, camera: CameraModel, step: AgentStep) -> None:
    canvas = bgr.copy()
    if step.result is not None:
        draw_lanes(canvas, camera, step.result.scene.lanes)
        draw_boxes(canvas, step.result.scene.objects)
    _, jpeg = cv2.imencode(".jpg", canvas, (cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY))
    path.write_bytes(jpeg.tobytes())
