"""Closed-loop speed on the embedded server with a 640x360 camera.

Prints steps per second without and with oracles, and the median time of each stage.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from av_stack.assembly import DETECTOR_ORACLES, Settings, build_pipeline
from av_stack.mission import mission_route, world_spec
from av_stack.run import needed_weights
from av_stack.server_process import ServerProcess
from av_stack.world.carla.world import CarlaWorld
from perception.device import build_backend
from scenarios.model import Scenario, load_scenario
from sim_configs.load import load_rig, load_stack

STEPS = 400
WARM_UP_STEPS = 40


def main() -> int:
    scenario = load_scenario("town_drive")
    alone_per_s, alone_ms = measured(scenario, ())
    with_oracles_per_s, _ = measured(scenario, DETECTOR_ORACLES)
    figures = {
        "closed_loop_steps_per_s": alone_per_s,
        "required_steps_per_s": 20.0,
        "stage_median_ms": alone_ms,
        "steps_per_s_with_oracles": with_oracles_per_s,
        "vehicles": scenario.traffic.vehicles,
    }
    print(json.dumps(figures))
    return 0


def measured(scenario: Scenario, oracles: tuple[str, ...]) -> tuple[float, dict[str, float]]:
    """Steps per second and the median time of each stage, ms; without `oracles` the car drives by the camera alone."""
    rig, stack = load_rig("compact"), load_stack(scenario.ego.stack)
    with ServerProcess(("--map", scenario.map)) as address:
        world = CarlaWorld(address, world_spec(scenario, rig, scenario.weather))
        try:
            route = mission_route(world.lane_graph, scenario, stack.planning)
            settings = Settings(stack.planning, stack.control, rig.cameras, rig.radars)
            backend = build_backend(rig.cameras, needed_weights(oracles), "cpu")
            pipeline = build_pipeline(world.lane_graph, world.vehicle, route, settings, world.truth, oracles, backend)
            world.show_pictures(pipeline.begin)
            for _ in range(WARM_UP_STEPS):
                world.apply(pipeline.step(world.tick()).command)
            stages: dict[str, list[float]] = {"tick": []}
            started = time.perf_counter()
            for _ in range(STEPS):
                before = time.perf_counter()
                frame = world.tick()
                stages["tick"].append(1e3 * (time.perf_counter() - before))
                step = pipeline.step(frame)
                world.apply(step.command)
                for name, took_ms in step.stage_ms.items():
                    stages.setdefault(name, []).append(took_ms)
            wall_s = time.perf_counter() - started
        finally:
            world.close()
    return round(STEPS / wall_s, 1), {name: round(float(np.median(values)), 3) for name, values in stages.items()}


if __name__ == "__main__":
    sys.exit(main())
