"""Runs `av-stack eval perception`: visits maps in every weather and compares perception with the truth.

The raw scores of a visit are written to a file when the visit ends, so that a stopped run can resume.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_core.types import CameraModel, Rig
from av_stack.evaluation.boxes import BOX_NOISE
from av_stack.evaluation.charts import draw_figures
from av_stack.evaluation.dashcam import dashcam_lanes
from av_stack.evaluation.detection import EVERY_SCORE, dashcam_figures
from av_stack.evaluation.detection import figures as detection_figures
from av_stack.evaluation.detection_samples import gather_moments
from av_stack.evaluation.eval_visits import Detect, Raw, Visitor, visit_path
from av_stack.evaluation.health import HealthEvaluation
from av_stack.evaluation.lanes import LaneEvaluation
from av_stack.evaluation.lights import LightEvaluation
from av_stack.evaluation.ranging_scores import RangingScores
from av_stack.evaluation.rig_detection import rig_figures
from av_stack.evaluation.table import Figure, write_figures
from av_stack.server_process import ServerProcess
from av_stack.world.carla.weather import named_weathers, weather_presets
from perception.detection.detector import CONFIDENCE_MIN, Detector
from perception.detection.networks import network_for
from perception.detection.weights import SHIPPED, network_size
from perception.device import resolve_device
from perception.stages.lights import looks_ahead

DRIVEN = ("lanes", "health")
"""Parts that are measured on drives through all weathers."""

PARTS = (*DRIVEN, "ranging", "lights", "detection", "dashcam")
"""The parts that can be measured."""

DETECTION_MAP = "Town02"
"""Map on which the detector is measured; it was trained on other maps. CARLA's own map, read from `EvalSpec.maps`."""

LIGHTS_FAR_M = 40.0
"""Largest distance before a stop line from which a light is observed, m."""

WIDTH_PX, HEIGHT_PX = 640, 360
"""Size of the pictures for the detector, px: that of the compact rig."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EvalSpec:
    """What to measure, and how much of it.

    * `parts`: some of `PARTS`; `map_names`: maps to visit; `weathers`: presets, empty for all.
    * `frames`: scored pictures in each weather on each visit.
    * `places`: standing places on each map, for lanes.
    * `drives`: drives on each map, for lanes and health. Ranging has the same number of drives of its own, among road
      users of all kinds, with the seeds `seed`, `seed + 1`, ...
    * `lights`: stop lines on each map at which lights are observed.
    * `scenes`: rounds of pictures for detection, on `DETECTION_MAP`; a round has eight pictures of each weather.
    * `maps`: folder with more .xodr maps.
    * `weights`: a user's own detector; None for the shipped one.
    * `dashcam`: folder of real pictures.
    * `like`, one of `SHIPPED`: use the network and input sizes of a drive on this device; None for the present device.
    """

    parts: tuple[str, ...] = (*DRIVEN, "ranging")
    map_names: tuple[str, ...] = ("city_grid",)
    weathers: tuple[str, ...] = ()
    frames: int = 8
    places: int = 4
    drives: int = 1
    lights: int = 4
    scenes: int = 1
    seed: int = 77
    maps: Path | None = None
    weights: Path | None = None
    dashcam: Path | None = None
    like: str | None = None

    def __post_init__(self) -> None:
        for part in self.parts:
            if part not in PARTS:
                raise ConfigError(f"unknown part {part}; there are {', '.join(PARTS)}")
        for name in self.weathers:
            if name not in weather_presets():
                raise ConfigError(f"unknown weather {name}; there are {', '.join(weather_presets())}")
        if self.like is not None and self.like not in SHIPPED:
            raise ConfigError(f"--like {self.like}: allowed are {', '.join(SHIPPED)}")
        if "detection" in self.parts and not (self.maps and (self.maps / f"{DETECTION_MAP}.xodr").is_file()):
            raise ConfigError(f"detection is measured on {DETECTION_MAP}: --maps DIR must hold {DETECTION_MAP}.xodr")
        if "dashcam" in self.parts and self.dashcam is None:
            raise ConfigError("the part dashcam needs --dashcam DIR with the real pictures")

    @property
    def presets(self) -> tuple[str, ...]:
        """The weathers to measure in."""
        return self.weathers or named_weathers()


def evaluate(spec: EvalSpec, rig: Rig, out: Path, tell: Tell) -> list[Figure]:
    """Make the missing visits and return all figures; writes `out/perception.json`, `.md` and charts.

    `tell` is called with the current activity. Raises ConfigError if `out` holds a run with other settings.
    """
    _claim_folder(out, spec, rig)
    for map_name in spec.map_names:
        _visit_map(spec, rig, map_name, out, tell)
    figures = gather(spec, out)
    if "detection" in spec.parts:
        figures += _detection_figures(spec, rig, out, tell)
    if "dashcam" in spec.parts and spec.dashcam is not None:
        tell("looking at real pictures")
        figures += dashcam_lanes(spec.dashcam, out)
    device, like, weights = _device_and_weights(spec)
    ran_on = {**machine(), "device": device, "detector": f"{weights.name} as on {like}"}
    about = {**ran_on, **_settings(spec), "rig": ", ".join(camera.name for camera in rig.cameras)}
    write_figures(figures, about, out, "perception")
    draw_figures(figures, out)
    return figures


def gather(spec: EvalSpec, out: Path) -> list[Figure]:
    """The figures of all finished visits."""
    lanes, ranging = LaneEvaluation(), RangingScores()
    health, lights = HealthEvaluation(), LightEvaluation()
    parts: dict[str, Any] = {"lanes": lanes, "ranging": ranging, "health": health, "lights": lights}
    for path in sorted(visit_path(out, "x").parent.glob("*.json")):
        for name, raw in json.loads(path.read_text()).items():
            parts[name].add_raw(raw)
    return [figure for name, part in parts.items() if name in spec.parts for figure in part.figures()]


def _visits(spec: EvalSpec, map_name: str) -> Iterator[tuple[str, str, int]]:
    """(file name, kind, number) of every visit to a map. Drives come last, because each of them loads the map again."""
    if "lanes" in spec.parts:
        yield from ((f"{map_name}-stand-{n}", "stand", n) for n in range(spec.places))
    if "lights" in spec.parts:
        yield from ((f"{map_name}-lights-{n}", "lights", n) for n in range(spec.lights))
    if set(spec.parts) & set(DRIVEN):
        yield from ((f"{map_name}-drive-{n}", "drive", n) for n in range(spec.drives))
    if "ranging" in spec.parts:
        yield from ((f"{map_name}-ranging-{n}", "ranging", n) for n in range(spec.drives))


def _visit_map(spec: EvalSpec, rig: Rig, map_name: str, out: Path, tell: Tell) -> None:
    missing = [visit for visit in _visits(spec, map_name) if not visit_path(out, visit[0]).is_file()]
    if not missing:
        return
    detect = _detector(spec).detect if any(kind == "lights" for _, kind, _ in missing) else None
    maps = () if spec.maps is None else ("--maps", str(spec.maps))
    with ServerProcess(("--map", map_name, "--seed", str(spec.seed), *maps)) as address:
        visitor = Visitor(address, map_name, rig, spec.seed, spec.frames)
        try:
            for number, (name, kind, which) in enumerate(missing):
                tell(f"{name} ({number + 1} of {len(missing)} visits left on {map_name})")
                _write_atomically(visit_path(out, name), _run_visit(visitor, spec, kind, which, detect))
        finally:
            visitor.close()


def _run_visit(visitor: Visitor, spec: EvalSpec, kind: str, number: int, detect: Detect | None) -> Raw:
    if kind == "stand":
        return visitor.stand(number, spec.places, spec.presets)
    if kind == "drive":
        return visitor.drive(number, spec.presets, frozenset(spec.parts))
    if kind == "ranging":
        return visitor.ranging(number, spec.presets)
    assert detect is not None
    return visitor.lights(number, spec.lights, spec.presets, LIGHTS_FAR_M, detect)


def _write_atomically(path: Path, raw: Raw) -> None:
    """Write the file atomically: a run may be stopped while it writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(raw))
    part.rename(path)


def _claim_folder(out: Path, spec: EvalSpec, rig: Rig) -> None:
    """Record the settings in `out`. Raises ConfigError if it holds visits with other settings."""
    path, own = out / "visits" / "settings.txt", json.dumps({**_settings(spec), "cameras": repr(rig.cameras)}, indent=1)
    if path.is_file() and path.read_text() != own:
        raise ConfigError(f"{out} holds an evaluation with other settings: choose another --out, or delete it")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(own)


def _settings(spec: EvalSpec) -> dict[str, Any]:
    """The settings as plain values for JSON; with the part ranging, also the description of the boxes' noise."""
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(spec).items()}
    return {**plain, "ranging_boxes": BOX_NOISE} if "ranging" in spec.parts else plain


def _device_and_weights(spec: EvalSpec) -> tuple[str, str, Path]:
    """(present device, device whose detector is used, weights of that detector)."""
    device, _ = resolve_device("auto", has_weights=True)
    like = spec.like or device
    return device, like, spec.weights or SHIPPED[like]


def _detector(spec: EvalSpec, confidence_min: float = CONFIDENCE_MIN) -> Detector:
    device, _, weights = _device_and_weights(spec)
    return Detector(network_for(weights, WIDTH_PX, HEIGHT_PX, device), confidence_min)


def _rig_detectors(spec: EvalSpec, cameras: Sequence[CameraModel]) -> list[Detector]:
    """One detector for each camera, as in a drive: on a GPU with a network size per camera, on a CPU the smallest."""
    device, like, weights = _device_and_weights(spec)
    sizes = [network_size(camera.width_px, camera.height_px) for camera in cameras]
    if like == "cpu":
        sizes = [min(sizes, key=prod)] * len(sizes)
    networks = {size: network_for(weights, *size, device) for size in dict.fromkeys(sizes)}
    return [Detector(networks[size], EVERY_SCORE) for size in sizes]


def _detection_figures(spec: EvalSpec, rig: Rig, out: Path, tell: Tell) -> list[Figure]:
    """The figures of the detector.

    With several cameras in the rig, its cameras that look ahead are used. With one camera, pictures are taken from
    random mounting places instead.
    """
    cameras = tuple(filter(looks_ahead, rig.cameras)) if len(rig.cameras) > 1 else ()
    detectors = _rig_detectors(spec, cameras) if cameras else [_detector(spec, EVERY_SCORE)]
    say = "detecting at {} of {} moments"
    moments = gather_moments(
        detectors, cameras, DETECTION_MAP, spec.maps, range(spec.scenes), out / "detection",
        lambda done, of: tell(say.format(done, of)),
    )  # fmt: skip
    figures = rig_figures(moments, cameras) if cameras else detection_figures([moment[0] for moment in moments])
    return figures + (dashcam_figures(_detector(spec, EVERY_SCORE), spec.dashcam) if spec.dashcam is not None else [])


def machine() -> dict[str, str | int]:
    """The machine and the versions of the libraries with which the figures were measured."""
    versions = {"carla": version("carla"), "numpy": np.__version__, "opencv": cv2.__version__}
    return {"cpu": platform.machine(), "cores": os.cpu_count() or 0, "python": platform.python_version(), **versions}
