"""The stack with one part left out, as agents: `--agent benchmarks.drives.reduced:WithoutRadars --step-limit 120`.

Ranging cannot be left out: without a distance, what is detected has no place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from av_core.errors import WorldError
from av_core.types import CameraImage, ControlCommand, LaneEstimate, SensorFrame, Truth
from av_stack.agents.custom import AgentSetup
from av_stack.assembly import Settings, build_stages
from av_stack.pipeline import Pipeline, Stages
from perception.detection.weights import SHIPPED
from perception.device import build_backend
from perception.lanes.detector import LaneDetector
from planning import continued
from sim_configs.load import load_stack

DEVICE = "cpu"


class WholeStack:
    """The stack with nothing left out, the base of the agents below."""

    def setup(self, setup: AgentSetup) -> None:
        """Build the pipeline of the stack's default configuration, and take out what this class leaves out."""
        config, cameras = load_stack("default"), setup.rig.cameras
        settings = self.reduced_settings(Settings(config.planning, config.control, cameras, setup.rig.radars))
        backend = build_backend(cameras, SHIPPED[DEVICE], DEVICE)
        route = continued(setup.lane_graph, setup.route, config.planning.route)
        stages = build_stages(setup.lane_graph, setup.vehicle, route, settings, _no_truth, (), backend)
        self._pipeline = Pipeline(self.reduced_stages(stages))

    def step(self, frame: SensorFrame) -> ControlCommand:
        return self._pipeline.step(frame).command

    def reduced_settings(self, settings: Settings) -> Settings:
        return settings

    def reduced_stages(self, stages: Stages) -> Stages:
        return stages


class WithoutRadars(WholeStack):
    """The stack on a rig without radars: the health monitor misses none, and sweeps are dropped."""

    def reduced_settings(self, settings: Settings) -> Settings:
        return replace(settings, radars=())


class WithoutLanes(WholeStack):
    """The stack with a lane detector that sees no line: the pose comes from GNSS, IMU, wheels and the map alone."""

    def reduced_stages(self, stages: Stages) -> Stages:
        return replace(stages, lanes=cast(LaneDetector, NoLanes()))


class NoLanes:
    """Stands in for the lane detector and sees no line."""

    def update(self, image: CameraImage, speed_mps: float, yaw_rate_radps: float) -> LaneEstimate:
        return LaneEstimate(image.stamp, None, None)


def _no_truth() -> Truth:
    raise WorldError("the stack without oracles needs no truth")
