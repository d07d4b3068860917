"""Conflicts: where and when a predicted road user is in the corridor that the ego will sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.frames import wrap_angle
from av_core.types import (
    Constraint,
    ConstraintKind,
    Float,
    ObjectKind,
    PredictedMode,
    PredictedObject,
    TrackedObject,
)
from planning.config import BehaviorConfig
from planning.reference_path import Route
from planning.traffic.corridor import BoxProjection, Corridor, project_boxes

AGAINST_RAD = 2.44
"""A road user whose heading differs from the ego's approach by more is oncoming."""

OTHER_ROAD_RAD = 0.35
"""A road user whose heading differs from the ego's by more comes from another road; one that turns by no more stays on
its road."""

INSIDE_M = 0.3
"""The place of a conflict has a margin, so that others still pass an ego that is so far inside it."""

ALONG_SHARE = 0.5
"""A road user with less than this share of its speed along the path crosses it, or comes towards the ego."""

_PARTS = np.array([-1.0, 0.0, 1.0]) / 3.0
"""A road user's box is split into three along its length; centres of the three, as fractions of the length."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Where (arc length on the route) and when a predicted road user is in the ego's corridor.

    The `*_at_enter_*` fields hold for the moment of entry; `along_mps` is the road user's speed along the path, and
    `turn_rad` the angle by which it turns until then. `ends_along`: at last it drives along the path. `on_approach` and
    `must_yield` as in `PredictedMode`.
    """

    item: TrackedObject
    low_s_m: float
    high_s_m: float
    enter_s: float
    leave_s: float
    s_at_enter_m: float
    half_s_at_enter_m: float
    along_mps: float
    turn_rad: float
    ends_along: bool
    on_approach: bool
    must_yield: bool

    @property
    def front_at_enter_m(self) -> float:
        """Arc length of the road user's front when it enters."""
        return self.s_at_enter_m + self.half_s_at_enter_m

    @property
    def rear_at_enter_m(self) -> float:
        """Arc length of the road user's rear when it enters."""
        return self.s_at_enter_m - self.half_s_at_enter_m

    @property
    def advance_m(self) -> float:
        """How far the road user drives along the path while it is in the corridor."""
        return self.high_s_m - self.front_at_enter_m

    @property
    def crosses(self) -> bool:
        """Whether the road user drives across the path, or against it, rather than along it."""
        return self.along_mps <= ALONG_SHARE * self.item.speed_mps

    def turned_rad(self, route: Route, s_m: float) -> float:
        """Angle between the heading of the road user now and that of the route at an arc length, without a sign."""
        return abs(float(wrap_angle(self.item.yaw_rad - float(route.curve.pose_at(s_m)[2]))))


def crossing_cause(item: TrackedObject) -> Constraint:
    """The constraint of an ego that stops for a road user on its way."""
    is_walker = item.kind is ObjectKind.PEDESTRIAN
    return Constraint(ConstraintKind.PEDESTRIAN if is_walker else ConstraintKind.CROSSING_TRAFFIC, str(item.track_id))


def leader_cause(item: TrackedObject, speed_mps: float, config: BehaviorConfig) -> Constraint:
    """The constraint of an ego that follows a vehicle of this speed, or stands behind it."""
    moves = speed_mps > config.moving_leader_mps
    return Constraint(ConstraintKind.LEADER if moves else ConstraintKind.OBSTACLE, str(item.track_id))


def project_items(
    corridor: Corridor, items: Sequence[TrackedObject], x_m: Float, y_m: Float, yaw_rad: Float, config: BehaviorConfig
) -> BoxProjection:
    """Project items (H,) at (H, T) poses, each as three boxes along its length: (H, T, 3)."""
    length = np.array([one.length_m for one in items])[:, None, None]
    width = np.array([one.width_m for one in items])[:, None, None]
    margin = np.array([_margin_m(one, config) for one in items])[:, None, None]
    shape = (*x_m.shape, len(_PARTS))
    along = length * _PARTS
    return project_boxes(
        corridor,
        x_m[..., None] + along * np.cos(yaw_rad)[..., None],
        y_m[..., None] + along * np.sin(yaw_rad)[..., None],
        np.broadcast_to(yaw_rad[..., None], shape),
        np.broadcast_to(length / len(_PARTS), shape),
        np.broadcast_to(width, shape),
        np.broadcast_to(margin, shape),
    )


def _margin_m(item: TrackedObject, config: BehaviorConfig) -> float:
    return config.walker_margin_m if item.kind is ObjectKind.PEDESTRIAN else config.corridor_margin_m


def conflicts_of(
    corridor: Corridor, objects: Sequence[PredictedObject], times_s: Float, config: BehaviorConfig
) -> list[Conflict]:
    """The conflicts of road users by all their predicted ways, at `times_s` (T,) from now."""
    ways = [(one.item, mode) for one in objects for mode in one.modes]
    if not ways:
        return []
    x = np.array([mode.x_m for _, mode in ways])
    y = np.array([mode.y_m for _, mode in ways])
    yaw = np.array([mode.yaw_rad for _, mode in ways])
    boxes = project_items(corridor, [item for item, _ in ways], x, y, yaw, config)
    blocked: NDArray[np.bool_] = np.any(boxes.blocks, axis=2)
    return [
        _conflict_of(row, item, mode, boxes, np.flatnonzero(blocked[row]), times_s)
        for row, (item, mode) in enumerate(ways)
        if np.any(blocked[row])
    ]


def _conflict_of(
    row: int, item: TrackedObject, mode: PredictedMode, boxes: BoxProjection, steps: NDArray[np.int64], times_s: Float
) -> Conflict:
    """The conflict of a road user that takes the way `mode`: box `row` is in the corridor at the time `steps`."""
    first, last = int(steps[0]), int(steps[-1])
    blocks = boxes.blocks[row]
    s, half = boxes.s_m[row], boxes.half_s_m[row]
    turn = float(mode.yaw_rad[first] - boxes.path_yaw_rad[row, first, 1])
    if item.kind is ObjectKind.PEDESTRIAN:
        turn = float(np.arctan2(item.velocity_mps[1], item.velocity_mps[0]) - boxes.path_yaw_rad[row, first, 1])
    beyond = last == len(times_s) - 1
    return Conflict(
        item=item,
        low_s_m=float((s - half)[blocks].min()),
        high_s_m=float((s + half)[blocks].max()),
        enter_s=_crossed_s(boxes.aside_m[row], times_s, first - 1, first) if first > 0 else 0.0,
        leave_s=float(times_s[last]) + 2.0 if beyond else _crossed_s(boxes.aside_m[row], times_s, last + 1, last),
        s_at_enter_m=float(s[first, 1]),
        half_s_at_enter_m=0.5 * item.length_m,
        along_mps=float(item.speed_mps * np.cos(turn)),
        turn_rad=abs(float(wrap_angle(mode.yaw_rad[first] - item.yaw_rad))),
        ends_along=bool(np.cos(mode.yaw_rad[last] - boxes.path_yaw_rad[row, last, 1]) > ALONG_SHARE),
        on_approach=mode.on_approach,
        must_yield=mode.must_yield,
    )


def _crossed_s(aside_m: Float, times_s: Float, outside: int, inside: int) -> float:
    """When a box comes into the corridor or leaves it, between a time outside and one inside; `aside_m` is (T, 3)."""
    far_m, near_m = float(aside_m[outside].min()), float(aside_m[inside].min())
    share = far_m / (far_m - near_m) if far_m > 0.0 > near_m else 1.0
    return float(times_s[outside] + share * (times_s[inside] - times_s[outside]))
