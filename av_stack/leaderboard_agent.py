"""The stack as an agent for CARLA Leaderboard 2's evaluator: `--agent .../av_stack/leaderboard_agent.py`.

`--agent-config` is the name of the track, such as MAP or SENSORS (the default). docs/agents.md says what each track
does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# The evaluator puts this folder first on the path, where `agents` would hide CARLA's package of that name; and its own
# folder, where `scenarios` would hide ours.
sys.path[:] = [str(_HERE.parent), *(path for path in sys.path if Path(path or ".").resolve() != _HERE)]

import numpy as np  # noqa: E402
from leaderboard.autoagents.autonomous_agent import (  # type: ignore[import-not-found]  # noqa: E402
    AutonomousAgent,
    Track,
)

from av_core.errors import ConfigError, WorldError  # noqa: E402
from av_core.frames import carla_to_map_yaw  # noqa: E402
from av_core.types import ControlCommand, LaneGraph, Pose2D, Stamp, Truth  # noqa: E402
from av_stack.agents.leaderboard.plan_route import geo_reference, map_of_plan, route_on_map, route_on_plan  # noqa: E402
from av_stack.agents.leaderboard.sensor_data import GNSS, MAP, sensor_frame, sensor_specs  # noqa: E402
from av_stack.agents.leaderboard.vehicle import MKZ_2020, REAR_AXLE_X_M  # noqa: E402
from av_stack.assembly import Settings, build_pipeline  # noqa: E402
from av_stack.pipeline import Pipeline  # noqa: E402
from av_stack.world.carla.controls import vehicle_control  # noqa: E402
from av_stack.world.carla.map import lane_graph_of_text  # noqa: E402
from perception.detection.weights import SHIPPED  # noqa: E402
from perception.device import build_backend, resolve_device  # noqa: E402
from planning import continued  # noqa: E402
from sim_configs.load import load_rig, load_stack  # noqa: E402

RIG = {"cpu": "compact", "cuda": "full"}
FIXES = 20
"""Number of GNSS fixes whose mean gives the georeference of the plan's start, in the SENSORS track."""

WAITING = ControlCommand(throttle=0.0, brake=1.0, steer=0.0)
"""The command until all sensors and the map have sent data."""


def get_entry_point() -> str:
    """The name of the agent's class, for the evaluator."""
    return "AvStackAgent"


class AvStackAgent(AutonomousAgent):  # type: ignore[misc]  # the evaluator is not typed
    """Drives the evaluator's route with the stack's pipeline, by the sensors that the track allows."""

    def setup(self, path_to_conf_file: str) -> None:
        name = path_to_conf_file or Track.SENSORS.value
        names = [track.value for track in Track]
        if name not in names:
            raise ConfigError(f"--agent-config {name!r:.80}: expected the name of the track, one of {', '.join(names)}")
        self.track = Track(name)
        self._with_map = name.startswith(Track.MAP.value)  # MAP_QUALIFIER differs only in the number of sensors
        self._device, why = resolve_device("auto", has_weights=True)
        print(why)
        self._rig = load_rig(RIG[self._device])
        self._stack = load_stack("default")
        self._pipeline: Pipeline | None = None
        self._fixes: list[Any] = []
        self._frames = 0
        self._first_s: float | None = None

    def sensors(self) -> list[dict[str, Any]]:
        return sensor_specs(self._rig, REAR_AXLE_X_M, with_map=self._with_map)

    def run_step(self, input_data: dict[str, tuple[int, Any]], timestamp: float) -> Any:
        if self._pipeline is None:
            graph = self._graph(input_data)
            if graph is None:
                return vehicle_control(WAITING)
            self._pipeline = self._make_pipeline(graph)
        if self._first_s is None:
            self._first_s = timestamp
        self._frames += 1
        frame = sensor_frame(self._rig, input_data, Stamp(self._frames, timestamp - self._first_s))
        return vehicle_control(self._pipeline.step(frame).command)

    def destroy(self) -> None:
        self._pipeline = None

    def _plan(self) -> list[Pose2D]:
        """The evaluator's plan, whose points are up to 200 m apart, in the map frame."""
        points = []
        for transform, _ in self._global_plan_world_coord:
            at, yaw_rad = transform.location, float(carla_to_map_yaw(transform.rotation.yaw))
            points.append(Pose2D(at.x, -at.y, yaw_rad))
        return points

    def _graph(self, input_data: dict[str, tuple[int, Any]]) -> LaneGraph | None:
        """The map of the MAP track, or in the SENSORS track a map made from the plan; None until it is available."""
        if self._with_map:
            return lane_graph_of_text(input_data[MAP][1]["opendrive"]) if MAP in input_data else None
        self._fixes.append(input_data[GNSS][1][:2])
        if len(self._fixes) < FIXES:
            return None
        plan = self._plan()
        start = plan[0]  # the evaluator puts the middle of the vehicle there, and GNSS is at its rear axle
        x_m = start.x_m + REAR_AXLE_X_M * np.cos(start.yaw_rad)
        y_m = start.y_m + REAR_AXLE_X_M * np.sin(start.yaw_rad)
        return map_of_plan(plan, geo_reference(np.array(self._fixes), Pose2D(x_m, y_m, start.yaw_rad)))

    def _make_pipeline(self, graph: LaneGraph) -> Pipeline:
        config = self._stack
        find = route_on_map if self._with_map else route_on_plan
        route = find(graph, self._plan())
        print(f"route of {route.length_m:.0f} m on {graph.name}")
        route = continued(graph, route, config.planning.route)
        backend = build_backend(self._rig.cameras, SHIPPED[self._device], self._device)
        settings = Settings(config.planning, config.control, self._rig.cameras, self._rig.radars)
        return build_pipeline(graph, MKZ_2020, route, settings, _no_truth, (), backend)


def _no_truth() -> Truth:
    raise WorldError("the Leaderboard gives no truth")
