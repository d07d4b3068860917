"""Measures the radars on an embedded server: `python -m benchmarks.radar_view --out FILE`.

On an open crossing, one car at a time crosses the ego's way, overtakes it, drives beside it or comes towards it. A
track counts whose position is right within 2 m and whose velocity is right within 2 m/s, relative to the ego. Then the
ego drives past parked cars in a town where nothing else moves, and every moving track is a false one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import carla
import numpy as np

from av_core.frames import map_to_carla_points, map_to_carla_yaw
from av_core.types import Pose2D, Rig
from av_stack.server_process import ServerProcess
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import DEFAULT_STEP_S, WorldSpec
from benchmarks.__main__ import machine
from benchmarks.markdown_tables import placed
from benchmarks.radar_view.manoeuvres import END_S, START_S, Manoeuvre, manoeuvres
from benchmarks.radar_view.open_crossing import map_text
from benchmarks.radar_view.perceiver import Perceiver
from benchmarks.radar_view.scoring import Match, lead_s, match
from benchmarks.radar_view.street import cost, false_tracks
from benchmarks.radar_view.table import tables
from perception.detection.weights import SHIPPED
from perception.device import PerceptionBackend, build_backend
from perception.map_index import MapIndex
from sim_configs.load import load_rig

MAP, START = "open_crossing", (-150.0, 1.75)
GOAL_S = 3.0
HEIGHT_M = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.radar_view", description=__doc__)
    parser.add_argument("--rig", default="compact")
    parser.add_argument("--per-kind", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=2.0, help="of the drive past parked cars")
    parser.add_argument("--only", default="", help="a part of the kind's name")
    parser.add_argument("--no-camera", action="store_true", help="the radars alone, which is quicker")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", type=Path, help="the page whose table is replaced; needs the camera and the drive")
    arguments = parser.parse_args()
    rig = load_rig(arguments.rig)
    if arguments.no_camera:
        rig = replace(rig, cameras=())
    backend = None if arguments.no_camera else build_backend(rig.cameras, SHIPPED["cpu"], "cpu")
    table = [each for each in manoeuvres(arguments.per_kind, arguments.seed) if arguments.only in each.kind]
    leads: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for manoeuvre, by_sensors in _drive(rig, table, backend):
        for sensors, matches in by_sensors.items():
            leads[manoeuvre.kind][sensors].append(lead_s(matches))
            told = f"{manoeuvre.kind} {manoeuvre.number} ego {manoeuvre.ego_mps:.1f} {sensors}: {lead_s(matches):.2f} s"
            print(told, flush=True)
            if arguments.verbose:
                for one in matches[::5]:
                    print(f"   {one.time_s:6.2f} s  {one.position_m:6.2f} m  {one.velocity_mps:6.2f} m/s")
    figures: dict[str, Any] = {
        "kinds": {kind: {name: _summary(each) for name, each in parts.items()} for kind, parts in leads.items()}
    }
    if arguments.minutes > 0.0:
        figures |= {"parked_street": false_tracks(rig, backend, arguments.minutes), "cost": cost(rig)}
    print(json.dumps(figures, indent=2))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"machine": machine(), **figures}, indent=2) + "\n")
    if arguments.page is not None:
        arguments.page.write_text(placed(arguments.page.read_text(), "radar_view", tables(figures)))


def _summary(leads: list[float]) -> dict[str, float]:
    told = np.array(leads)
    return {
        "drives": len(told),
        "share_3_s_before": float(np.mean(told >= GOAL_S - 1e-6)),
        "median_s": float(np.median(told)),
        "shortest_s": float(told.min()),
    }


def _drive(
    rig: Rig, table: list[Manoeuvre], backend: PerceptionBackend | None
) -> Iterator[tuple[Manoeuvre, dict[str, list[Match]]]]:
    """Each manoeuvre with the matches of its ticks, by sensors."""
    with tempfile.TemporaryDirectory() as folder, ServerProcess(("--map", "country_road")) as address:
        xodr = Path(folder) / f"{MAP}.xodr"
        xodr.write_text(map_text())
        world = CarlaWorld(address, WorldSpec(MAP, START, (START,), rig, xodr=xodr), silence_max_s=60.0)
        try:
            index = MapIndex(world.lane_graph)
            for manoeuvre in table:
                perceiver = Perceiver(rig, world.lane_graph, index, backend)
                yield manoeuvre, _run(world, manoeuvre, perceiver)
        finally:
            world.close()


def _run(world: CarlaWorld, manoeuvre: Manoeuvre, perceiver: Perceiver) -> dict[str, list[Match]]:
    server, ego = world.episode.world, world.episode.ego
    blueprint = server.get_blueprint_library().find(manoeuvre.blueprint)
    _place(ego, manoeuvre.ego_at(START_S), manoeuvre.ego_mps)
    other = cast("carla.Vehicle", server.spawn_actor(blueprint, _transform(manoeuvre.other_at(START_S))))
    out: dict[str, list[Match]] = defaultdict(list)
    try:
        _place(other, manoeuvre.other_at(START_S), manoeuvre.other_mps)
        for tick in range(1, round((END_S - START_S) / DEFAULT_STEP_S) + 1):
            frame = world.tick()
            perceived, truth = perceiver.update(frame), world.truth()
            there = next(each for each in truth.objects if each.track_id == other.id)
            for sensors, tracks in perceived.tracks.items():
                time_s = START_S + tick * DEFAULT_STEP_S
                out[sensors].append(match(time_s, tracks, perceived.ego, truth, there))
    finally:
        other.destroy()
    return out


def _place(car: carla.Vehicle, pose: Pose2D, speed_mps: float) -> None:
    car.set_transform(_transform(pose))
    car.enable_constant_velocity(carla.Vector3D(x=speed_mps))


def _transform(pose: Pose2D) -> carla.Transform:
    x, y = map_to_carla_points(np.array([pose.x_m, pose.y_m]))
    return carla.Transform(
        carla.Location(x=float(x), y=float(y), z=HEIGHT_M), carla.Rotation(yaw=float(map_to_carla_yaw(pose.yaw_rad)))
    )


if __name__ == "__main__":
    main()
