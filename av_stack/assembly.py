"""Assembles the pipeline of a drive: chooses, for each module that has an oracle, the oracle or the sensors."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from av_core.types import CameraModel, LaneGraph, RadarModel, Truth, VehicleParameters
from av_stack.pipeline import Pipeline, Stages
from control import ControlConfig, Controller
from perception.daylight import Daylight
from perception.device import PerceptionBackend
from perception.lanes.detector import LaneDetector
from perception.localization.localizer import Localizer
from perception.map_index import MapIndex
from perception.stages.detection import CameraDetector
from perception.stages.ego import EgoSource, OracleEgo
from perception.stages.health import RigHealthMonitor
from perception.stages.lights import CameraLights, LightSource, OracleLights
from perception.stages.objects import CameraObjects, ObjectSource, OracleObjects
from planning import Planner, PlanningConfig, Predictor, Route

DETECTOR_ORACLES = ("detection", "lights")
"""Modules that need the detector, unless their output comes from the simulator."""

ORACLES = (*DETECTOR_ORACLES, "localization")
"""Modules whose output may come from the simulator instead of the sensors."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Configurations of planning and control, the cameras, the first of which looks ahead, and the radars."""

    planning: PlanningConfig
    control: ControlConfig
    cameras: tuple[CameraModel, ...]
    radars: tuple[RadarModel, ...] = ()


def build_pipeline(
    graph: LaneGraph,
    vehicle: VehicleParameters,
    route: Route,
    settings: Settings,
    truth: Callable[[], Truth],
    oracles: Collection[str] = (),
    backend: PerceptionBackend | None = None,
) -> Pipeline:
    """The pipeline that drives along `route`, of the stages that `build_stages` chooses."""
    return Pipeline(build_stages(graph, vehicle, route, settings, truth, oracles, backend))


def build_stages(
    graph: LaneGraph,
    vehicle: VehicleParameters,
    route: Route,
    settings: Settings,
    truth: Callable[[], Truth],
    oracles: Collection[str] = (),
    backend: PerceptionBackend | None = None,
) -> Stages:
    """The stages of a drive along `route`.

    `truth` returns the simulator's truth of the current tick, for the `oracles`; the other modules use `backend`.
    Raises `ValueError` where a module has neither an oracle nor a detector.
    """
    backend = backend if backend is not None else PerceptionBackend(LaneDetector(), None)
    front = settings.cameras[0].name
    objects: ObjectSource = OracleObjects(front, truth)
    if "detection" not in oracles:
        objects = CameraObjects(settings.cameras, MapIndex(graph))
    localizer: EgoSource = Localizer(graph) if "localization" not in oracles else OracleEgo(graph, truth)
    lights: LightSource = OracleLights(graph, truth)
    if "lights" not in oracles:
        lights = CameraLights(settings.cameras, graph)
    needed = {camera.name for camera in (*objects.cameras, *lights.cameras)}
    detected = [camera.name for camera in settings.cameras if camera.name in needed]
    planner = Planner(graph, vehicle, settings.planning, list(lights.cameras))
    planner.set_route(route)
    radars = [radar.name for radar in settings.radars] if "detection" not in oracles else []
    return Stages(
        front=front,
        health=RigHealthMonitor(front, [name for name in detected if name != front], radars),
        lanes=backend.lanes,
        localizer=localizer,
        detector=CameraDetector(detected, backend),
        objects=objects,
        lights=lights,
        predictor=Predictor(graph, settings.planning.prediction),
        planner=planner,
        controller=Controller(vehicle, settings.control),
        daylight=Daylight(),
    )
