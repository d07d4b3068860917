"""Questions about the scenery, and debug shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from embedded_carla import codec
from embedded_carla.handlers.registry import refusal, value, void
from embedded_carla.simulation import Simulation
from embedded_carla.types import SemanticTag, Transform

_ANY_LABEL = 255
_RAY_STEP_M = 0.25


def _colliders(simulation: Simulation, label: int) -> list[int]:
    tags = simulation.map.scenery.colliders.tag
    return list(range(len(tags))) if label == _ANY_LABEL else np.flatnonzero(tags == label).tolist()


def _world_box(simulation: Simulation, index: int) -> Any:
    boxes = simulation.map.scenery.colliders
    yaw_deg = float(np.degrees(boxes.yaw_rad[index]))
    return (boxes.centre[index].tolist(), boxes.half[index].tolist(), (0.0, yaw_deg, 0.0), 0)


@value("get_environment_objects")
def get_environment_objects(simulation: Simulation, label: int = _ANY_LABEL) -> Any:
    """The scenery's solid objects; their ids stay the same for a map."""
    boxes, found = simulation.map.scenery.colliders, []
    for i in _colliders(simulation, label):
        x, y, z = boxes.centre[i].tolist()
        pose = Transform(x, y, z, 0.0, float(np.degrees(boxes.yaw_rad[i])), 0.0)
        tag = int(boxes.tag[i])
        name = f"{SemanticTag(tag).name.title()}_{i}"
        found.append((codec.transform_to_wire(pose), _world_box(simulation, i), i + 1, name, tag))
    return found


@void("enable_environment_objects")
def enable_environment_objects(_simulation: Simulation, _ids: list[int], _enabled: bool) -> None:
    raise refusal("enable_environment_objects")


@value("get_all_level_BBs")
def get_all_level_bbs(simulation: Simulation, label: int = _ANY_LABEL) -> Any:
    return [_world_box(simulation, i) for i in _colliders(simulation, label)]


@value("get_names_of_all_objects")
def get_names_of_all_objects(simulation: Simulation) -> list[str]:
    return [name for _, _, _, name, _ in get_environment_objects(simulation, _ANY_LABEL)]


@value("project_point")
def project_point(simulation: Simulation, location: Any, direction: Any, distance: Any) -> Any:
    """The first surface along the ray."""
    start = np.array(codec.vector_from_wire(location, "location"))
    way = np.array(codec.vector_from_wire(direction, "direction"))
    length = float(np.linalg.norm(way))
    reach = min(codec.number(distance, "distance"), 10_000.0)
    found = [] if length == 0.0 else _hits(simulation, start, start + way / length * reach)
    return (True, found[0]) if found else (False, ((0.0, 0.0, 0.0), 0))


@value("cast_ray")
def cast_ray(simulation: Simulation, start: Any, end: Any) -> Any:
    return _hits(
        simulation, np.array(codec.vector_from_wire(start, "start")), np.array(codec.vector_from_wire(end, "end"))
    )


def _hits(simulation: Simulation, start: Any, end: Any) -> list[Any]:
    """Where the segment meets solid objects and the ground, nearest first, as LabelledPoint."""
    scenery = simulation.map.scenery
    found = _box_hits(scenery.colliders, start, end)
    length = float(np.linalg.norm(end - start))
    if length > 0.0:
        count = max(int(np.ceil(length / _RAY_STEP_M)), 1)
        t = np.linspace(0.0, 1.0, count + 1)
        points = start + t[:, None] * (end - start)
        below = scenery.ground.below(points)  # finds a surface up to 1 m above a point, so a step cannot miss it
        height = points[:, 2] - below.z
        cross = np.flatnonzero((height[:-1] > 0) & (height[1:] <= 0))
        for i in cross.tolist():
            share = height[i] / (height[i] - height[i + 1])
            at = float(t[i] + share * (t[i + 1] - t[i]))
            found.append((at, int(below.tag[i + 1])))
    return [((start + at * (end - start)).tolist(), tag) for at, tag in sorted(found)]


def _box_hits(boxes: Any, start: Any, end: Any) -> list[tuple[float, int]]:
    """(share of the segment, label) where it enters each box."""
    if not len(boxes.centre):
        return []
    cos, sin = np.cos(boxes.yaw_rad), np.sin(boxes.yaw_rad)

    def local(v: Any) -> Any:
        return np.stack([v[:, 0] * cos + v[:, 1] * sin, v[:, 1] * cos - v[:, 0] * sin, v[:, 2]], axis=1)

    a = local(start - boxes.centre)
    step = local(np.broadcast_to(end - start, boxes.centre.shape))
    step = np.where(np.abs(step) < 1e-12, 1e-12, step)
    near, far = (-boxes.half - a) / step, (boxes.half - a) / step
    enter = np.minimum(near, far).max(axis=1)
    leave = np.maximum(near, far).min(axis=1)
    hit = np.flatnonzero((enter <= leave) & (enter >= 0.0) & (enter <= 1.0))
    return [(float(enter[i]), int(boxes.tag[i])) for i in hit.tolist()]
