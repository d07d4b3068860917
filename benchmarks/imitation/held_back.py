"""Drives random routes through towns that no training used, with each network and with the expert's labels.

    python -m benchmarks.imitation.held_back --maps MAPS --weights s0.pt s1.pt s2.pt blind.pt --record FILE.json

Every driver gets the same routes. `labels` stands for a network without error: the agent follows the labels that the
expert gives at each moment, so it shows what their form and the controllers allow. A drive that the file holds is not
driven again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from av_core.types import EgoState, Pose2D, Rig
from av_stack.imitation.expert import Expert
from av_stack.imitation.following import plan_along
from av_stack.imitation.geometry import path_points, seen_from
from av_stack.mission import mission_route, world_spec
from av_stack.run import Options, run
from av_stack.server_process import ServerProcess, embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from av_stack.world.carla.world import CarlaWorld
from control import Controller
from perception.imitation.samples import TARGET_S
from scenarios.judging.judge import Judge
from scenarios.model import Scenario
from scenarios.random_routes import Length, random_scenario
from sim_configs.load import load_stack

HELD_BACK = "Town02,Town10HD"
LABELS = "labels"

SEED = 7001
"""Of the routes; no data set of the project has it."""

LENGTH = Length(300.0, 900.0)
WEATHERS = ("ClearNoon", "CloudySunset", "WetNoon", "SoftRainNoon", "ClearNight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=Path, help="folder with the held-back .xodr maps")
    parser.add_argument("--map", default=HELD_BACK, help="towns, comma-separated")
    parser.add_argument("--vehicles", default="0,20", help="numbers of other vehicles, comma-separated")
    parser.add_argument("--routes", type=int, default=5, help="routes in each town")
    parser.add_argument("--weights", type=Path, nargs="*", default=[])
    parser.add_argument("--labels", action="store_true", help="drive with the expert's labels too")
    parser.add_argument("--record", type=Path, required=True)
    given = parser.parse_args()
    drivers = [*(str(path) for path in given.weights), *([LABELS] if given.labels else [])]
    rows = json.loads(given.record.read_text())["drives"] if given.record.exists() else []
    for vehicles in map(int, given.vehicles.split(",")):
        for scenario in scenarios(given.map.split(","), given.routes, vehicles, given.maps):
            for driver in drivers:
                name = LABELS if driver == LABELS else Path(driver).stem
                if any((row["driver"], row["drive"]) == (name, scenario.name) for row in rows):
                    continue
                figures = (
                    labelled(scenario, given.maps) if driver == LABELS else imitated(scenario, Path(driver), given)
                )
                rows.append(
                    {"driver": name, "drive": scenario.name, "map": scenario.map, "vehicles": vehicles, **figures}
                )
                given.record.write_text(json.dumps({"summary": summary(rows), "drives": rows}, indent=1) + "\n")
                print(rows[-1], flush=True)


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


def imitated(scenario: Scenario, weights: Path, given: argparse.Namespace) -> dict[str, Any]:
    """A drive of the imitation."""
    figures = run(scenario, Options(maps=given.maps, agent="imitation", weights=weights, record="none")).figures
    return kept(figures)


def labelled(scenario: Scenario, maps: Path | None) -> dict[str, Any]:
    """A drive along the expert's labels, by the same controllers."""
    folder = [] if maps is None else ["--maps", str(maps)]
    with ServerProcess(["--map", scenario.map, *folder]) as address:
        world = CarlaWorld(address, world_spec(scenario, Rig(()), scenario.weather))
        try:
            stack = load_stack(scenario.ego.stack)
            route = mission_route(world.lane_graph, scenario, stack.planning)
            expert = Expert(world.lane_graph, world.vehicle, route, stack, world.truth)
            judge = Judge(world.lane_graph, route, world.vehicle, scenario.timeout_s)
            controller = Controller(world.vehicle, stack.control)
            end: str | None = None
            while end is None:
                frame = world.tick()
                end = judge.update(world.truth())
                decision = expert.step(frame)
                ego = decision.ego
                path_m = seen_from(path_points(decision.plan, route), Pose2D(ego.x_m, ego.y_m, ego.yaw_rad))
                target_mps = max(decision.plan.trajectory.at(TARGET_S).speed_mps, 0.0)
                plan = plan_along(frame.stamp, path_m, ego.speed_mps, target_mps)
                motion = (ego.speed_mps, ego.accel_mps2, ego.yaw_rate_radps)
                here = EgoState(frame.stamp, 0.0, 0.0, 0.0, *motion, np.zeros((4, 4)))
                world.apply(controller.step(plan, here))
                if judge.is_arrived:
                    end = "arrived"
        finally:
            world.close()
    verdict = judge.verdict(end)
    figures = {name: getattr(verdict, name) for name in KEPT}
    figures["infractions"] = {name: getattr(verdict.infractions, name) for name in COUNTED}
    return kept(figures)


KEPT = ("end", "is_success", "route_completion", "driving_score", "lateral_rms_m", "time_s")
COUNTED = ("collisions_walker", "collisions_vehicle", "collisions_static", "red_lights", "stop_signs")


def kept(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of a drive that the record has."""
    row = {name: figures[name] for name in KEPT}
    return row | {name: figures["infractions"][name] for name in COUNTED}


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
