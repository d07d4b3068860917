"""The topics of a recording that a replay reads: /replay/setup once, and the inputs and results of every step.

Each message is a packed dataclass (`packing`), whose fields the topic's schema holds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import foxglove
import numpy as np

from av_core.types import SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.packing import packer
from av_stack.recording.exact.pictures import LosslessPicture, PictureEncoder
from av_stack.recording.exact.setup import DriveSetup

SETUP, FRAME, STEP, TRUTH, PICTURES = (
    "/replay/setup",
    "/replay/frame",
    "/replay/step",
    "/replay/truth",
    "/replay/camera",
)
"""Names of the topics; `PICTURES` is the prefix of one topic for each camera."""

ENCODING, SCHEMA_ENCODING = "msgpack", "av_stack fields"
NO_PICTURE = np.zeros((0, 0, 3), dtype=np.uint8)
"""Replaces each picture in a packed frame, because pictures have topics of their own."""


class ExactTopics:
    """Writes the topics of one recording to `context`, in the order in which `reader` needs them."""

    def __init__(self, setup: DriveSetup, context: foxglove.Context) -> None:
        self._context, self._has_pictures = context, setup.has_pictures
        self._setup: DriveSetup | None = setup
        self._kinds = {SETUP: DriveSetup, FRAME: SensorFrame, STEP: AgentStep, TRUTH: Truth}
        self._channels = {topic: self._channel(topic, kind) for topic, kind in self._kinds.items()}
        self._encoders: dict[str, tuple[foxglove.Channel, PictureEncoder]] = {}

    def write(self, frame: SensorFrame, step: AgentStep, truth: Truth, time_ns: int) -> None:
        """Write one step."""
        if self._setup is not None:
            self._log(SETUP, self._setup, time_ns)
            self._setup = None
        self._log(FRAME, without_pictures(frame), time_ns)
        if self._has_pictures:
            self._write_pictures(frame, time_ns)
        self._log(TRUTH, truth, time_ns)
        self._log(STEP, without_times(step), time_ns)

    def _write_pictures(self, frame: SensorFrame, time_ns: int) -> None:
        for name, image in frame.cameras.items():
            if name not in self._encoders:
                height_px, width_px = image.bgr.shape[:2]
                channel = self._channel(f"{PICTURES}/{name}", LosslessPicture)
                self._encoders[name] = channel, PictureEncoder(name, width_px, height_px)
            channel, encoder = self._encoders[name]
            channel.log(packer(LosslessPicture).pack(encoder.encode(image.bgr)), log_time=time_ns)

    def _log(self, topic: str, value: Any, time_ns: int) -> None:
        self._channels[topic].log(packer(self._kinds[topic]).pack(value), log_time=time_ns)

    def _channel(self, topic: str, kind: type) -> foxglove.Channel:
        schema = foxglove.Schema(name=f"av_stack.{kind.__name__}", encoding=SCHEMA_ENCODING, data=packer(kind).schema)
        return foxglove.Channel(topic, message_encoding=ENCODING, schema=schema, context=self._context)


def without_pictures(frame: SensorFrame) -> SensorFrame:
    """The frame with `NO_PICTURE` in the place of every picture."""
    return replace(frame, cameras={name: replace(image, bgr=NO_PICTURE) for name, image in frame.cameras.items()})


def without_times(step: AgentStep) -> AgentStep:
    """The step without the times of its stages, which differ in every run."""
    if step.result is None:
        return step
    return replace(step, result=replace(step.result, stage_ms={}))
