"""Drives random routes through towns that no training used, with each network and with the expert's labels.

    python -m benchmarks.imitation.held_back --maps MAPS --weights s0.pt s1.pt s2.pt blind.pt --record FILE.json

Every driver gets the same routes. `labels` stands for a network without error: the agent follows the labels that the
expert gives at each moment, so it shows what their form and the controllers allow. `expert` is the expert itself at the
wheel: what it fails, its labels cannot teach. A drive that the file holds is not driven again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from av_core.types import ControlCommand, Pose2D, Rig, SensorFrame
from av_stack.agents.base import Agent
from av_stack.imitation.choice import RIG, make_imitation
from av_stack.imitation.expert import Expert
from av_stack.imitation.following import PathFollower
from av_stack.imitation.geometry import path_points, seen_from
from av_stack.mission import mission_route, world_spec
from av_stack.server_process import ServerProcess, embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from av_stack.world.carla.world import CarlaWorld
from planning import Route
from scenarios.judging.judge import Judge
from scenarios.model import Scenario
from scenarios.random_routes import Length, random_scenario
from sim_configs.load import StackConfig, load_rig, load_stack

Driver = Path | str
"""The weights of a network, or LABELS or EXPERT."""

Decide = Callable[[SensorFrame], ControlCommand | None]

HELD_BACK = "Town02,Town10HD"
LABELS, EXPERT = "labels", "expert"

SEED = 7001
"""Of the routes; no data set of the project has it."""

LENGTH = Length(300.0, 900.0)
WEATHERS = ("ClearNoon", "CloudySunset", "WetNoon", "SoftRainNoon", "ClearNight")


SILENCE_MAX_S = 60.0
"""Many servers at once take long for their first pictures."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=Path, help="folder with the held-back .xodr maps")
    parser.add_argument("--map", default=HELD_BACK, help="towns, comma-separated")
    parser.add_argument("--vehicles", default="0,20", help="numbers of other vehicles, comma-separated")
    parser.add_argument("--routes", type=int, default=5, help="routes in each town")
    parser.add_argument("--weights", type=Path, nargs="*", default=[])
    parser.add_argument("--labels", action="store_true", help="drive with the expert's labels too")
    parser.add_argument("--expert", action="store_true", help="let the expert drive too")
    parser.add_argument("--workers", type=int, default=1, help="drives at the same time")
    parser.add_argument("--record", type=Path, required=True)
    given = parser.parse_args()
    drivers: list[Driver] = [*given.weights, *[LABELS] * given.labels, *[EXPERT] * given.expert]
    rows = json.loads(given.record.read_text())["drives"] if given.record.exists() else []
    driven = {(row["driver"], row["drive"]) for row in rows}
    todo = [
        (scenario, driver)
        for vehicles in map(int, given.vehicles.split(","))
        for scenario in scenarios(given.map.split(","), given.routes, vehicles, given.maps)
        for driver in drivers
        if (name_of(driver), scenario.name) not in driven
    ]
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(drive, scenario, driver, given.maps) for scenario, driver in todo]):
            rows.append(done.result())
            rows.sort(key=lambda row: (row["driver"], row["vehicles"], row["drive"]))
            given.record.write_text(json.dumps({"summary": summary(rows), "drives": rows}, indent=1) + "\n")
            print(done.result(), flush=True)


def name_of(driver: Driver) -> str:
    """What the record calls a driver."""
    return driver.stem if isinstance(driver, Path) else driver


def scenarios(towns: Sequence[str], routes: int, vehicles: int, maps: Path | None) -> list[Scenario]:
    """The same routes for every number of vehicles, with weathers in turn."""
    drawn = []
    for town in towns:
        graph = read_lane_graph(embedded_map_files(maps)[town])
        for number in range(routes):
            scenario = random_scenario(graph, town, SEED, number, LENGTH)
            changes = {
                "name": f"{town}_{number}_{vehicles}",
                "weather": WEATHERS[number % len(WEATHERS)],
                "traffic": scenario.traffic.model_copy(update={"vehicles": vehicles}),
            }
            drawn.append(scenario.model_copy(update=changes))
    return drawn


def drive(scenario: Scenario, driver: Driver, maps: Path | None) -> dict[str, Any]:
    """One drive to its end: the row of the record."""
    folder = [] if maps is None else ["--maps", str(maps)]
    camera = load_rig(RIG).cameras[0]
    rig = Rig((camera,) if isinstance(driver, Path) else ())
    with ServerProcess(["--map", scenario.map, *folder]) as address:
        world = CarlaWorld(address, world_spec(scenario, rig, scenario.weather), SILENCE_MAX_S)
        try:
            stack = load_stack(scenario.ego.stack)
            route = mission_route(world.lane_graph, scenario, stack.planning)
            judge = Judge(world.lane_graph, route, world.vehicle, scenario.timeout_s)
            if isinstance(driver, Path):
                decide = imitated(make_imitation(world, route, camera.name, stack.control, driver))
            else:
                decide = taught(world, route, stack, follows_labels=driver == LABELS)
            end: str | None = None
            while end is None:
                frame = world.tick()
                end = "arrived" if judge.is_arrived else judge.update(world.truth())
                command = decide(frame)
                if command is not None:
                    world.apply(command)
        finally:
            world.close()
    verdict = judge.verdict(end)
    row: dict[str, Any] = {"driver": name_of(driver), "drive": scenario.name, "map": scenario.map}
    row |= {"vehicles": scenario.traffic.vehicles, "weather": scenario.weather}
    row |= {name: getattr(verdict, name) for name in KEPT}
    return row | {name: getattr(verdict.infractions, name) for name in COUNTED}


def imitated(agent: Agent) -> Decide:
    """What the network does."""
    return lambda frame: agent.step(frame).command


def taught(world: CarlaWorld, route: Route, stack: StackConfig, *, follows_labels: bool) -> Decide:
    """What the expert does, or a network without error: the expert's labels, followed as the agent follows them."""
    expert = Expert(world.lane_graph, world.vehicle, route, stack, world.truth, load_rig(RIG).cameras[0])
    follower = PathFollower(world.vehicle, stack.control)

    def decide(frame: SensorFrame) -> ControlCommand | None:
        decision = expert.step(frame)
        if not follows_labels:
            return decision.command
        ego = decision.ego
        path_m = seen_from(path_points(decision.plan, route), Pose2D(ego.x_m, ego.y_m, ego.yaw_rad))
        return follower.step(ego, path_m, decision.target_mps)

    return decide


KEPT = ("end", "is_success", "route_completion", "driving_score", "lateral_rms_m", "time_s")
COUNTED = ("collisions_walker", "collisions_vehicle", "collisions_static", "red_lights", "stop_signs")


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By driver and number of vehicles: drives, mean route completion, successes and mean score."""
    told: dict[str, Any] = {}
    for driver in dict.fromkeys(row["driver"] for row in rows):
        for vehicles in sorted({row["vehicles"] for row in rows}):
            some = [row for row in rows if (row["driver"], row["vehicles"]) == (driver, vehicles)]
            if some:
                told[f"{driver}, {vehicles} vehicles"] = {
                    "drives": len(some),
                    "route_completion": round(float(np.mean([row["route_completion"] for row in some])), 4),
                    "successes": sum(row["is_success"] for row in some),
                    "driving_score": round(float(np.mean([row["driving_score"] for row in some])), 1),
                }
    return told


if __name__ == "__main__":
    main()
