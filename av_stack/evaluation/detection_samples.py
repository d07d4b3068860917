"""Renders pictures of a populated town in every weather, detects, and keeps labels and detections on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from av_core.types import CameraImage, CameraModel, Detection, Stamp
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, capture
from av_stack.world.carla.client import connect
from av_stack.world.carla.weather import named_weathers
from perception.detection.detector import Detector
from perception.detection.labels import Label
from perception.detection.measure import Sample

FIRST_SEED = 900_000
"""First seed for evaluation; training and its validation use lower seeds."""

VIEWS = 8
"""Cars that take pictures in each scene."""

GUESTS = 24
"""People who walk near the cameras in each scene."""

Moment = tuple[Sample, ...]
"""The samples of all cameras of one car at the same time, in the order of the cameras."""


def gather_moments(
    detectors: Sequence[Detector],
    rig: Sequence[CameraModel],
    map_name: str,
    maps: Path | None,
    rounds: Sequence[int],
    kept: Path,
    tell: Callable[[int, int], None],
) -> list[Moment]:
    """The moments of all `rounds` on `map_name`; a round renders every weather preset with a seed of its own.

    `detectors` holds one detector for each camera of `rig`. If `rig` is empty, it holds one detector, and the camera is
    like the compact rig's, mounted at a different place on each car. Each round is kept as a file in the folder `kept`,
    and read from there when it exists. `tell(done, all)` is called after each new moment.
    """
    presets = named_weathers()
    moments: list[Moment] = []
    for number in rounds:
        path = kept / f"{map_name}-{FIRST_SEED + number}.json"
        if not path.is_file():
            spec = CaptureSpec(
                map_name, FIRST_SEED + number, weathers=presets, scenes=len(presets), shots=1, views=VIEWS,
                guests=GUESTS,
            )  # fmt: skip
            of = len(rounds) * len(presets) * spec.views
            found = _take_moments(detectors, rig, spec, maps, partial(_count, tell, len(moments), of))
            kept.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps([[asdict(sample) for sample in moment] for moment in found]))
            part.rename(path)
        moments += [tuple(_to_sample(raw) for raw in moment) for moment in json.loads(path.read_text())]
    return moments


def _count(tell: Callable[[int, int], None], before: int, of: int, now: int) -> None:
    tell(before + now, of)


def _take_moments(
    detectors: Sequence[Detector],
    rig: Sequence[CameraModel],
    spec: CaptureSpec,
    maps: Path | None,
    tell: Callable[[int], None],
) -> list[Moment]:
    folder = [] if maps is None else ["--maps", str(maps)]
    moments: list[Moment] = []
    samples: list[Sample] = []
    with ServerProcess(["--map", spec.map_name, "--seed", str(spec.seed), *folder]) as address:
        client = connect(address)
        for shot in capture(client, spec, spec.weathers, rig):
            image = CameraImage(Stamp(len(moments), 0.0), shot.camera, shot.bgr)
            samples.append(Sample(shot.labels, detectors[len(samples)].detect(image), shot.weather))
            if len(samples) == len(detectors):
                moments.append(tuple(samples))
                samples = []
                tell(len(moments))
    return moments


def _to_sample(raw: Mapping[str, Any]) -> Sample:
    labels = tuple(Label(**{**label, "box_px": tuple(label["box_px"])}) for label in raw["labels"])
    found = tuple(Detection(**{**one, "box_px": tuple(one["box_px"])}) for one in raw["found"])
    return Sample(labels, found, raw["group"])
