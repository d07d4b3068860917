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
"""Modules that use the detector, and have an oracle that can replace them."""

ORACLES = (*DETECTOR_ORACLES, "localization")
"""All modules that have an oracle: their output can come from the simulator's truth instead of the sensors."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Configurations of planning and control, and the cameras and radars; the first camera looks ahead."""

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
    """The pipeline that drives along `route`; arguments and errors as for `build_stages`."""
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

    * `oracles`: the modules, from `ORACLES`, that take their output from `truth`, the simulator's truth of the tick.
    * `backend`: runs the networks of all other modules.

    Raises ValueError if a module that needs the detector has no oracle, and `backend` has no detector.
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
