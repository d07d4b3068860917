"""Closed loop on the embedded server: steps per second with a 640x360 camera, and what each stage takes."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from av_stack.mission import mission_route, world_spec
from av_stack.pipeline import Pipeline, Settings
from av_stack.server_process import ServerProcess
from av_stack.world.carla_world import CarlaWorld
from scenarios.model import load_scenario
from sim_configs.load import load_rig, load_stack

STEPS = 400
WARM_UP_STEPS = 40


def main() -> int:
    scenario = load_scenario("town_drive")
    rig, stack = load_rig(scenario.ego.rig), load_stack(scenario.ego.stack)
    with ServerProcess(("--map", scenario.map)) as address:
        world = CarlaWorld(address, world_spec(scenario, rig, scenario.weather))
        try:
            route = mission_route(world.lane_graph, scenario, stack.planning)
            settings = Settings(stack.planning, stack.control, rig.cameras[0])
            pipeline = Pipeline(world.lane_graph, world.vehicle, route, settings, world.truth)
            stages: dict[str, list[float]] = {"tick": []}
            started = time.perf_counter()
            for number in range(WARM_UP_STEPS + STEPS):
                if number == WARM_UP_STEPS:
                    started = time.perf_counter()
                    stages = {"tick": []}
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
    figures = {
        "closed_loop_steps_per_s": round(STEPS / wall_s, 1),
        "required_steps_per_s": 20.0,
        "stage_median_ms": {name: round(float(np.median(values)), 3) for name, values in stages.items()},
        "vehicles": scenario.traffic.vehicles,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
