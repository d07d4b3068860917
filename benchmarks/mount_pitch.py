"""Measures the camera pitch found from one picture: `python -m benchmarks.mount_pitch --map NAMES --out FILE`.

A car stands on straight lanes with a line on both sides, with cameras of known pitch from 8 degrees up to 8 degrees
down, in turn in each weather. The search starts from a level camera. "one trial" searches around that guess only,
which shows what trying several pitches gains.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from av_core.types import CameraModel, Image, Lane, LaneGraph, MarkingKind, Pose2D, Rig
from av_stack.checks import parse_list
from av_stack.evaluation.eval_visits import spawn_point
from av_stack.server_process import ServerProcess, embedded_town
from av_stack.world.carla.stand import Place, Stand
from av_stack.world.spec import WorldSpec
from benchmarks.__main__ import machine
from perception.lanes.self_calibration import angles_of, turned_camera, vanishing_point

PITCHES_DEG = (-8.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0)
WEATHERS = ("ClearNoon", "WetCloudyNoon", "CloudySunset", "ClearNight", "SoftRainSunset")
LEVEL = CameraModel("level", 640, 360, math.radians(60.0), 2.1, 0.0, 1.6)
AHEAD_M = 40.0
"""Length over which the road is straight, even and marked."""

CURVATURE_MAX_1PM, GRADE_CHANGE_MAX = 5e-4, 0.005
HEADING_MAX_RAD = 0.03
"""Largest heading error of the car in its lane."""

PAINTED = frozenset({MarkingKind.SOLID, MarkingKind.BROKEN, MarkingKind.SOLID_SOLID})
WITHIN_DEG = 1.0
DRAWS = 5000
SEED = 5

Find = Callable[[Image, CameraModel], float | None]
"""Pitch, rad, from one picture and a guess; None where nothing is found."""


@dataclass(frozen=True, slots=True)
class Look:
    """One picture through a camera of known pitch."""

    map_name: str
    weather: str
    pitch_deg: float
    bgr: Image


def one_trial(bgr: Image, guess: CameraModel) -> float | None:
    point = vanishing_point(bgr, guess)
    return None if point is None else angles_of(point, guess)[0]


def all_trials(bgr: Image, guess: CameraModel) -> float | None:
    camera = turned_camera(bgr, guess)
    return None if camera is None else camera.pitch_rad


def looks(map_name: str, maps: Path | None, places: int) -> Iterator[Look]:
    """Pictures from `places` straight places of one map, in turn in each of `WEATHERS`."""
    cameras = tuple(replace(LEVEL, name=f"{deg:g}", pitch_rad=math.radians(deg)) for deg in PITCHES_DEG)
    folder = [] if maps is None else ["--maps", str(maps)]
    with ServerProcess(["--map", map_name, *folder]) as address:
        at = spawn_point(address, 1)
        stand = Stand(address, WorldSpec(map_name, at, (at,), Rig(cameras), seed=SEED, xodr=embedded_town(map_name)))
        try:
            rng = np.random.default_rng(SEED)
            for number, place in enumerate(straight_places(stand.world.lane_graph, places, rng)):
                weather = WEATHERS[number % len(WEATHERS)]
                stand.stage.set_weather(weather)
                pictures = stand.go(place).cameras
                for camera, deg in zip(cameras, PITCHES_DEG, strict=True):
                    yield Look(map_name, weather, deg, pictures[camera.name].bgr)
        finally:
            stand.close()


def straight_places(graph: LaneGraph, count: int, rng: np.random.Generator) -> list[Place]:
    """Up to `count` places where the lane ahead is straight, even, and marked on both sides."""
    lanes = [lane for lane in graph.lanes.values() if not lane.is_junction and lane.length_m > AHEAD_M + 5.0]
    found: list[Place] = []
    for _ in range(DRAWS if lanes else 0):
        lane = lanes[int(rng.integers(len(lanes)))]
        row = lane.curve.row_at(rng.uniform(1.0, lane.length_m - AHEAD_M - 1.0))
        if is_plain(lane, row):
            x, y, z = (float(value) for value in lane.points[row])
            yaw = float(lane.yaw_rad[row]) + float(rng.uniform(-HEADING_MAX_RAD, HEADING_MAX_RAD))
            grade = math.atan2(float(lane.points[row + 1, 2]) - z, float(lane.s_m[row + 1] - lane.s_m[row]))
            found.append(Place(Pose2D(x, y, yaw), z, grade))
        if len(found) == count:
            break
    return found


def is_plain(lane: Lane, row: int) -> bool:
    """Whether the lane ahead of `row` is straight, of even grade, and has a line on both sides."""
    ahead = slice(row, lane.curve.row_at(lane.s_m[row] + AHEAD_M))
    grade = np.diff(lane.points[ahead, 2]) / np.diff(lane.s_m[ahead])
    is_marked = PAINTED.issuperset((*lane.left_marking[ahead], *lane.right_marking[ahead]))
    is_straight = float(np.abs(lane.curvature_1pm[ahead]).max()) <= CURVATURE_MAX_1PM
    return is_marked and is_straight and float(np.ptp(grade)) <= GRADE_CHANGE_MAX


def score(some: list[Look], find: Find) -> dict[str, float | int]:
    """Shares of the pictures in which the pitch is found within `WITHIN_DEG`, found wrong, and not found."""
    found = [(find(look.bgr, LEVEL), look.pitch_deg) for look in some]
    errors = np.array([abs(math.degrees(rad) - deg) for rad, deg in found if rad is not None])
    return {
        "pictures": len(some),
        "within_1_deg": float((errors <= WITHIN_DEG).sum() / len(some)),
        "wrong": float((errors > WITHIN_DEG).sum() / len(some)),
        "not_found": 1.0 - len(errors) / len(some),
        "median_error_deg": float(np.median(errors)) if len(errors) else math.nan,
        "largest_error_deg": float(errors.max()) if len(errors) else math.nan,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--map", default="city_grid,country_road,motorway", help="names of maps, comma-separated")
    parser.add_argument("--maps", type=Path, help="folder with more .xodr maps")
    parser.add_argument("--places", type=int, default=10, help="places on each map")
    parser.add_argument("--out", type=Path, default=Path("out/mount_pitch.json"))
    told = parser.parse_args()
    seen: list[Look] = []
    for name in parse_list(told.map):
        seen += looks(name, told.maps, told.places)
        print(f"{name}: {sum(look.map_name == name for look in seen)} pictures", flush=True)
    groups = {"all": seen}
    for look in seen:
        groups.setdefault(look.map_name, []).append(look)
        groups.setdefault(f"pitch {look.pitch_deg:+g}", []).append(look)
    report = {
        group: {"one trial": score(some, one_trial), "all trials": score(some, all_trials)}
        for group, some in groups.items()
    }
    told.out.parent.mkdir(parents=True, exist_ok=True)
    told.out.write_text(json.dumps({"machine": machine(), "figures": report}, indent=1) + "\n")
    print(json.dumps(report["all"], indent=1))


if __name__ == "__main__":
    main()
