"""The reference drive: the recorded drive with which the looks in all other weathers are compared."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from av_core.types import CameraModel, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.reader import DriveReader
from av_stack.replay.perception_scores import StepScore, score_step
from av_stack.world.carla.map import lane_graph_of_text
from perception.map_index import MapIndex


@dataclass(frozen=True, slots=True)
class Reference:
    """The steps of a recorded drive of the stack: for each, the truth, the stack's decision and perception's scores."""

    camera: CameraModel
    truths: tuple[Truth, ...]
    steps: tuple[AgentStep, ...]
    scores: tuple[StepScore, ...]


def read_reference(recording: Path) -> Reference:
    """The reference in a recording of the stack. Raises ConfigError where it cannot be read."""
    with closing(DriveReader(recording)) as reader:
        reader.has_pictures = False
        setup, unpacker = reader.setup, reader.steps_unpacker()
        camera, index = setup.rig.cameras[0], MapIndex(lane_graph_of_text(setup.map_text, setup.map_name))
        truths, steps, scores = [], [], []
        for tick in reader.ticks():
            step = unpacker.unpack(tick.step)
            truths.append(tick.truth)
            steps.append(step)
            if step.result is not None:
                scores.append(score_step(tick.truth, step.result.scene, camera, index))
    return Reference(camera, tuple(truths), tuple(steps), tuple(scores))


def read_truths(recording: Path) -> tuple[Truth, ...]:
    """The truth of every step of a recording; none where there is no recording."""
    if not recording.is_file():
        return ()
    with closing(DriveReader(recording)) as reader:
        reader.has_pictures = False
        return tuple(tick.truth for tick in reader.ticks())
