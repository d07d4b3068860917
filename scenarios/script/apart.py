"""Finds actors of a script that would stand at one place, or in the ego."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from av_core.errors import RouteError
from av_core.frames import map_to_carla_points, map_to_vehicle
from av_core.types import Pose2D
from scenarios.script.model import Script
from scenarios.script.places import Roads
from scenarios.script.situation import EGO, distance_m

APART_M = {"vehicle": 1.0, "walker": 0.3, "static": 0.1}
"""Smallest allowed distance between the middles of two actors of one kind; for two kinds, the smaller value holds."""

EGO_LENGTH_M, EGO_WIDTH_M = 4.9, 1.8
"""Size of the ego at the start; the middle of the box is where its route begins."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An actor that is spawned before the drive begins."""

    pose: Pose2D
    blueprint: str

    @property
    def apart_m(self) -> float:
        return APART_M.get(self.blueprint.split(".", 1)[0], 0.1)


def standing_actors(script: Script, roads: Roads) -> dict[str, Standing]:
    """The actors that are spawned before the drive begins, by name. Raises RouteError for a place off the map."""
    return {
        name: Standing(roads.pose(actor.place, f"actor {name}"), actor.blueprint)
        for name, actor in script.actors.items()
        if not actor.waits
    }


def check_apart(actors: Mapping[str, Standing], ego: Pose2D | None = None) -> None:
    """Raise RouteError, with the names, if two actors would stand at one place, or one would stand in the ego.

    `ego` is the pose of the ego's middle.
    """
    for (name, one), (other_name, other) in combinations(actors.items(), 2):
        if distance_m(one.pose, other.pose) < min(one.apart_m, other.apart_m):
            raise RouteError(f"actors {name} and {other_name} are at one place, {_where(one.pose)}")
    for name, one in actors.items():
        if ego is not None:
            ahead, left = (float(value) for value in map_to_vehicle((one.pose.x_m, one.pose.y_m), ego))
            if abs(ahead) < EGO_LENGTH_M / 2.0 and abs(left) < EGO_WIDTH_M / 2.0:
                raise RouteError(f"actor {name} stands in the {EGO}, at {_where(one.pose)}")


def _where(pose: Pose2D) -> str:
    x, y = (float(value) for value in map_to_carla_points((pose.x_m, pose.y_m)))
    return f"({x:.1f}, {y:.1f})"


def ego_pose(script: Script, roads: Roads) -> Pose2D:
    """The pose of the ego's middle at the start."""
    if script.ego_place is not None:
        return roads.pose(script.ego_place, "ego_place")
    x, y, yaw = roads.route.curve.pose_at(0.0)
    return Pose2D(float(x), float(y), float(yaw))
