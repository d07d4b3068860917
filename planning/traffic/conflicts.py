"""Conflicts: where and when a predicted road user is in the corridor that the ego will sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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

_PARTS, _FINE_PARTS = (3, 1), (7, 3)
"""Number of parts into which a road user's box is split, along and across; both are odd, so that one is its middle. A
close look needs more: a part that juts into the corridor counts as a whole."""

_FINE_S = 0.05
"""Time between two poses in a close look. At 16 m/s, a step of the prediction is as long as a car."""


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
    corridor: Corridor,
    items: Sequence[TrackedObject],
    x_m: Float,
    y_m: Float,
    yaw_rad: Float,
    config: BehaviorConfig,
    parts: tuple[int, int] = _PARTS,
) -> BoxProjection:
    """Project items (H,) at (H, T) poses, each split into `parts` along and across: (H, T, parts)."""
    length = np.array([one.length_m for one in items])[:, None, None]
    width = np.array([one.width_m for one in items])[:, None, None]
    margin = np.array([_margin_m(one, config) for one in items])[:, None, None]
    along_share, across_share = (part.ravel() for part in np.meshgrid(*map(_middles, parts), indexing="ij"))
    shape = (*x_m.shape, len(along_share))
    along, across = length * along_share, width * across_share
    c, s = np.cos(yaw_rad)[..., None], np.sin(yaw_rad)[..., None]
    return project_boxes(
        corridor,
        x_m[..., None] + along * c - across * s,
        y_m[..., None] + along * s + across * c,
        np.broadcast_to(yaw_rad[..., None], shape),
        np.broadcast_to(length / parts[0], shape),
        np.broadcast_to(width / parts[1], shape),
        np.broadcast_to(margin, shape),
    )


def _middles(count: int) -> Float:
    """The middles of `count` equal parts of a box, as fractions of its size from its middle on."""
    return (np.arange(count, dtype=np.float64) - 0.5 * (count - 1)) / count


def _margin_m(item: TrackedObject, config: BehaviorConfig) -> float:
    return config.walker_margin_m if item.kind is ObjectKind.PEDESTRIAN else config.corridor_margin_m


def conflicts_of(
    corridor: Corridor,
    objects: Sequence[PredictedObject],
    times_s: Float,
    config: BehaviorConfig,
    closely: bool = False,
) -> list[Conflict]:
    """The conflicts of road users by all their predicted ways, at `times_s` (T,) from now.

    `closely` finds their places and times more exactly: they are up to 1 m smaller than otherwise, and hardly depend on
    the moments of the steps.
    """
    ways = [(one.item, mode) for one in objects for mode in one.modes]
    if not ways:
        return []
    x = np.array([mode.x_m for _, mode in ways])
    y = np.array([mode.y_m for _, mode in ways])
    yaw = np.array([mode.yaw_rad for _, mode in ways])
    boxes = project_items(corridor, [item for item, _ in ways], x, y, yaw, config)
    blocked: NDArray[np.bool_] = np.any(boxes.blocks, axis=2)
    found: list[Conflict] = []
    for row, (item, mode) in enumerate(ways):
        steps = np.flatnonzero(blocked[row])
        if not len(steps):
            continue
        if not closely:
            found.append(_conflict_of(row, item, mode, boxes, steps, times_s, times_s[-1]))
            continue
        from_s, to_s = times_s[max(steps[0] - 1, 0)], times_s[min(steps[-1] + 1, len(times_s) - 1)]
        fine_s = np.linspace(from_s, to_s, round((to_s - from_s) / _FINE_S) + 1)
        fine = _at(mode, times_s, fine_s)
        parts = project_items(corridor, [item], fine.x_m[None], fine.y_m[None], fine.yaw_rad[None], config, _FINE_PARTS)
        fine_steps = np.flatnonzero(np.any(parts.blocks[0], axis=1))
        if len(fine_steps):
            found.append(_conflict_of(0, item, fine, parts, fine_steps, fine_s, times_s[-1]))
    return found


def _at(mode: PredictedMode, times_s: Float, fine_s: Float) -> PredictedMode:
    """A predicted way, given at `times_s`, at the times `fine_s`."""
    x_m, y_m, yaw_rad = (np.interp(fine_s, times_s, each) for each in (mode.x_m, mode.y_m, np.unwrap(mode.yaw_rad)))
    return replace(mode, x_m=x_m, y_m=y_m, yaw_rad=yaw_rad)


def _conflict_of(
    row: int,
    item: TrackedObject,
    mode: PredictedMode,
    boxes: BoxProjection,
    steps: NDArray[np.int64],
    times_s: Float,
    horizon_s: float,
) -> Conflict:
    """The conflict of a road user that takes the way `mode`: box `row` is in the corridor at the time `steps`.

    The way ends at `times_s[-1]`, and is predicted until `horizon_s`.
    """
    first, last = int(steps[0]), int(steps[-1])
    blocks = boxes.blocks[row]
    s, half = boxes.s_m[row], boxes.half_s_m[row]
    middle = s.shape[1] // 2
    turn = float(mode.yaw_rad[first] - boxes.path_yaw_rad[row, first, middle])
    if item.kind is ObjectKind.PEDESTRIAN:
        turn = float(np.arctan2(item.velocity_mps[1], item.velocity_mps[0]) - boxes.path_yaw_rad[row, first, middle])
    if times_s[last] == horizon_s:
        leave_s = horizon_s + 2.0
    elif last == len(times_s) - 1:
        leave_s = float(times_s[last])
    else:
        leave_s = _crossed_s(boxes.aside_m[row], times_s, last + 1, last)
    return Conflict(
        item=item,
        low_s_m=float((s - half)[blocks].min()),
        high_s_m=float((s + half)[blocks].max()),
        enter_s=_crossed_s(boxes.aside_m[row], times_s, first - 1, first) if first > 0 else float(times_s[0]),
        leave_s=leave_s,
        s_at_enter_m=float(s[first, middle]),
        half_s_at_enter_m=0.5 * item.length_m,
        along_mps=float(item.speed_mps * np.cos(turn)),
        turn_rad=abs(float(wrap_angle(mode.yaw_rad[first] - item.yaw_rad))),
        ends_along=bool(np.cos(mode.yaw_rad[last] - boxes.path_yaw_rad[row, last, middle]) > ALONG_SHARE),
        on_approach=mode.on_approach,
        must_yield=mode.must_yield,
    )


def _crossed_s(aside_m: Float, times_s: Float, outside: int, inside: int) -> float:
    """When a box comes into the corridor or leaves it, between a time outside and one inside; `aside_m` is (T, n)."""
    far_m, near_m = float(aside_m[outside].min()), float(aside_m[inside].min())
    share = far_m / (far_m - near_m) if far_m > 0.0 > near_m else 1.0
    return float(times_s[outside] + share * (times_s[inside] - times_s[outside]))
