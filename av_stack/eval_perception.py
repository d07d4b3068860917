"""`av-stack eval perception`: drives through every weather and compares perception with the truth."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from av_stack.errors import ConfigError
from av_stack.eval_lanes import LaneEvaluation
from av_stack.eval_ranging import RangingEvaluation
from av_stack.evaluation import Figure, write_figures
from av_stack.server_process import ServerProcess, embedded_town
from av_stack.world.carla_survey import Survey
from av_stack.world.carla_world import weather_presets
from av_stack.world.spec import Rig, WorldSpec
from perception.lanes.detector import LaneDetector
from perception.map_index import MapIndex

DRIVEN = ("lanes", "ranging")
PARTS = (*DRIVEN, "detection")
DETECTION_MAP = "Town02"
"""The detector learns on other maps only. The map file is CARLA's own: it comes with `maps`."""

STARTS = {"city_grid": (111.75, -147.5)}
WARM_FRAMES = 15
"""After a change of weather the camera's exposure and the lines' filters settle: not scored."""

VEHICLES = 40


@dataclass(frozen=True, slots=True)
class EvalSpec:
    """`frames` scored pictures of each weather, in each of `rounds`; the drive goes on from weather to weather.

    Detection is measured on pictures of its own, made on a map of its own in `maps`, eight of each weather in a round;
    `weights` are a user's own; `dashcam` is a folder of real stills.
    """

    parts: tuple[str, ...] = DRIVEN
    map_name: str = "city_grid"
    weathers: tuple[str, ...] = ()
    frames: int = 45
    rounds: int = 2
    seed: int = 77
    maps: Path | None = None
    weights: Path | None = None
    dashcam: Path | None = None

    def __post_init__(self) -> None:
        for part in self.parts:
            if part not in PARTS:
                raise ConfigError(f"unknown part {part}; there are {', '.join(PARTS)}")
        for name in self.weathers:
            if name not in weather_presets():
                raise ConfigError(f"unknown weather {name}; there are {', '.join(weather_presets())}")
        if self.map_name not in STARTS:
            raise ConfigError(f"no start is known on map {self.map_name}; there are {', '.join(STARTS)}")
        if "detection" in self.parts and not (self.maps and (self.maps / f"{DETECTION_MAP}.xodr").is_file()):
            raise ConfigError(f"detection is measured on {DETECTION_MAP}: --maps DIR must hold {DETECTION_MAP}.xodr")


def evaluate(spec: EvalSpec, rig: Rig, out: Path, tell: Callable[[str], None]) -> list[Figure]:
    """Drive and measure; writes `out/perception.json` and `.md`. `tell` is given what is being done."""
    figures = _drive(spec, rig, tell) if set(spec.parts) & set(DRIVEN) else []
    if "detection" in spec.parts:
        figures = [*figures, *_detect(spec, tell)]
    write_figures(figures, {**machine(), "map": spec.map_name, "seed": spec.seed}, out, "perception")
    return figures


def _detect(spec: EvalSpec, tell: Callable[[str], None]) -> list[Figure]:
    from av_stack.eval_detection import dashcam_figures, figures, gather
    from perception.detection.detector import Detector
    from perception.detection.networks import network_for
    from perception.detection.weights import COMPACT

    detector = Detector(network_for(spec.weights or COMPACT, 640, 360))
    say = "detecting in {} of {} pictures"
    samples = gather(detector, DETECTION_MAP, spec.maps, spec.rounds, lambda done, of: tell(say.format(done, of)))
    return figures(samples) + (dashcam_figures(detector, spec.dashcam) if spec.dashcam is not None else [])


def _drive(spec: EvalSpec, rig: Rig, tell: Callable[[str], None]) -> list[Figure]:
    start = STARTS[spec.map_name]
    world_spec = WorldSpec(
        spec.map_name,
        start,
        (start,),
        rig,
        seed=spec.seed,
        traffic_vehicles=VEHICLES,
        xodr=embedded_town(spec.map_name),
    )
    maps = () if spec.maps is None else ("--maps", str(spec.maps))
    with ServerProcess(("--map", spec.map_name, *maps)) as address:
        survey = Survey(address, world_spec)
        try:
            return _measure(survey, spec, rig, tell)
        finally:
            survey.close()


def _measure(survey: Survey, spec: EvalSpec, rig: Rig, tell: Callable[[str], None]) -> list[Figure]:
    camera = rig.cameras[0]
    lanes_of, detector = LaneEvaluation(MapIndex(survey.lane_graph), camera), LaneDetector()
    ranging = RangingEvaluation(camera.name)
    for weather in _order(spec.weathers or weather_presets(), spec.rounds):
        tell(f"driving in {weather}")
        survey.set_weather(weather)
        for number in range(WARM_FRAMES + spec.frames):
            frame = survey.look()
            sensors = frame.sensors
            lanes = detector.update(sensors.cameras[camera.name], sensors.wheel_speed_mps, sensors.imu.gyro_radps[2])
            if "ranging" in spec.parts:
                ranging.add(frame, lanes)
            if number >= WARM_FRAMES:
                lanes_of.add(weather, lanes, frame.truth.ego)
    figures = lanes_of.figures() if "lanes" in spec.parts else []
    return [*figures, *(ranging.figures() if "ranging" in spec.parts else [])]


def _order(weathers: Sequence[str], rounds: int) -> list[str]:
    """Each round begins elsewhere in the list, so that no weather is always met at the same place."""
    shift = max(len(weathers) // max(rounds, 1), 1)
    return [w for r in range(rounds) for w in np.roll(np.array(weathers), -r * shift).tolist()]


def machine() -> dict[str, str | int]:
    """What the figures were measured on."""
    versions = {name: version(name) for name in ("carla", "numpy", "opencv-python")}
    return {"cpu": platform.machine(), "cores": os.cpu_count() or 0, "python": platform.python_version(), **versions}
