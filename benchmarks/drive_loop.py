"""The loop of one drive, step by step, for measurements of what is attached to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from av_stack.agents.base import AgentStep
from av_stack.assembly import Settings, build_pipeline
from av_stack.mission import mission_route, world_spec
from av_stack.run import needed_weights
from av_stack.server_process import ServerProcess
from av_stack.viewing.viewer import DriveStep
from av_stack.world.base import World
from av_stack.world.carla.world import CarlaWorld
from perception.device import build_backend
from scenarios.judging.judge import Judge
from scenarios.model import load_scenario
from sim_configs.load import load_rig, load_stack


class DriveLoop:
    """town_drive by the front camera alone, on a server of its own."""

    def __init__(self, closers: ExitStack) -> None:
        scenario, self.rig = load_scenario("town_drive"), load_rig("compact")
        stack = load_stack(scenario.ego.stack)
        address = closers.enter_context(ServerProcess(("--map", scenario.map)))
        self.world: World = CarlaWorld(address, world_spec(scenario, self.rig, scenario.weather))
        closers.callback(self.world.close)
        world = self.world
        self.route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, self.rig.cameras)
        backend = build_backend(self.rig.cameras, needed_weights(()), "cpu")
        self._pipeline = build_pipeline(world.lane_graph, world.vehicle, self.route, settings, world.truth, (), backend)
        world.show_pictures(self._pipeline.begin)
        self._judge = Judge(world.lane_graph, self.route, world.vehicle, scenario.timeout_s)

    def step(self) -> DriveStep:
        """One step of the drive."""
        frame = self.world.tick()
        assert frame is not None
        truth = self.world.truth()
        self._judge.update(truth)
        result = self._pipeline.step(frame)
        self.world.apply(result.command)
        return DriveStep(frame, AgentStep(result.command, result), truth, self._judge.progress)


def more_percent(times: Sequence[float], without: Sequence[float]) -> dict[str, float | list[float]]:
    """The median of the paired ratios, less one, and the quartiles: how much the machine's other work adds."""
    ratios = 100 * (np.divide(times, without) - 1.0)
    low, middle, high = (round(float(value), 1) for value in np.percentile(ratios, [25, 50, 75]))
    return {"median": middle, "quartiles": [low, high]}
