"""Draws the stack's estimates and plan from above, together with the truth, for the video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from av_core.types import Decision, Float, Image, ObjectKind, Pose2D, StepResult, TrackedObject, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.ground_view import EGO_CENTRE_M, EGO_M, NOSE_SHARE, GroundView, draw_lanes, fill
from av_stack.recording.overlay import BRAKING_BGR, FONT, OBJECT_BGR, PLAN_BGR, TEXT_BGR, WALKER_BGR

AHEAD_M, BEHIND_M = 56.0, 24.0
"""Length of road that the panel shows ahead of and behind the ego; ahead is up in the picture."""

WIDTH_SHARE = 0.6
"""Width of the panel as a share of its height."""

SECONDS_AHEAD = 3.0
"""Time up to which the predicted paths of a road user are drawn."""

PAPER_BGR, ROAD_BGR, EDGE_BGR = (38, 34, 32), (70, 64, 60), (118, 110, 104)
EGO_BGR, TRUE_BGR = (219, 86, 26), (235, 235, 235)
ALTERNATIVE_BGR = (200, 170, 90)
"""Colour of the paths that the planner found but did not choose."""

CAPTION_PX, CAPTION_SCALE = 14, 0.36
"""Height of a line of the caption, and the scale of its letters."""

Lanes = Sequence[tuple[bool, Sequence[Sequence[float]], Sequence[Sequence[float]]]]


class BirdView:
    """The panel beside the front camera's picture, `height_px` high. Its caption says what the ego does, and why.

    Grey outlines are the true road users; filled boxes are the tracked ones. So an empty outline is a road user that
    the stack does not see, and a filled box without an outline is a track without a road user.
    """

    def __init__(self, lanes: Lanes, height_px: int) -> None:
        """`lanes` are (is in a junction, left edge, right edge) as in the message of `/map`."""
        self.width_px, self._height_px = 2 * round(WIDTH_SHARE * height_px / 2), height_px
        self._px_per_m = height_px / (AHEAD_M + BEHIND_M)
        self._lanes = [(is_junction, np.array(left), np.array(right)) for is_junction, left, right in lanes]
        corners = [np.vstack([left, right]) for _, left, right in self._lanes]
        self._low = np.array([xy.min(axis=0) for xy in corners]).reshape(-1, 2)
        self._high = np.array([xy.max(axis=0) for xy in corners]).reshape(-1, 2)

    def draw(self, step: AgentStep, truth: Truth) -> Image:
        """The panel (height, width, 3) in BGR. Without a result it shows the truth only."""
        ego = _pose(truth.ego)
        view = GroundView(ego, (self.width_px / 2, AHEAD_M * self._px_per_m), self._px_per_m, is_up=True)
        canvas = np.full((self._height_px, self.width_px, 3), PAPER_BGR, dtype=np.uint8)
        self._draw_roads(canvas, view, ego[:2])
        if step.result is not None:
            _draw_belief(canvas, view, step.result)
        for thing in truth.objects:
            cv2.polylines(canvas, [_box(view, thing)], True, TRUE_BGR, 1, cv2.LINE_AA)
        middle = ego + EGO_CENTRE_M * np.array([np.cos(ego[2]), np.sin(ego[2]), 0.0])
        fill(canvas, view.box(middle, *EGO_M, NOSE_SHARE * EGO_M[0]), EGO_BGR, TRUE_BGR)
        if step.result is not None and step.result.plan.decision is not None:
            _draw_caption(canvas, step.result.plan.decision)
        return canvas

    def _draw_roads(self, canvas: Image, view: GroundView, ego_xy: Float) -> None:
        reach_m = AHEAD_M + BEHIND_M
        near = np.flatnonzero(np.all((self._low <= ego_xy + reach_m) & (self._high >= ego_xy - reach_m), axis=1))
        draw_lanes(canvas, view, [self._lanes[number] for number in near], ROAD_BGR, EDGE_BGR)


def _draw_belief(canvas: Image, view: GroundView, result: StepResult) -> None:
    """Draw the tracked road users with their predicted paths, the planned path, and the paths that were not chosen."""
    for alternative in result.plan.alternatives:
        cv2.polylines(canvas, [view.pixels(alternative)], False, ALTERNATIVE_BGR, 1, cv2.LINE_AA)
    path = result.plan.trajectory.curve
    is_braking = float(result.plan.trajectory.accel_mps2.min()) < -1.0
    way = view.pixels(np.column_stack([path.x_m, path.y_m]))
    cv2.polylines(canvas, [way], False, BRAKING_BGR if is_braking else PLAN_BGR, 2, cv2.LINE_AA)
    for thing in result.scene.objects:
        fill(canvas, _box(view, thing), _colour(thing))
    soon = result.prediction.times_s <= SECONDS_AHEAD
    for one in result.prediction.objects:
        for mode in one.modes:
            way = view.pixels(np.column_stack([mode.x_m[soon], mode.y_m[soon]]))
            cv2.polylines(canvas, [way], False, _colour(one.item), 1, cv2.LINE_AA)


def _draw_caption(canvas: Image, decision: Decision) -> None:
    """Write the behaviour in the first line, and each of its causes in a line of its own below; a long line is written
    smaller."""
    lines = [decision.behaviour.value, *map(str, decision.causes)]
    canvas[: CAPTION_PX * len(lines) + 6] //= 2
    for number, line in enumerate(lines):
        (width_px, _), _ = cv2.getTextSize(line, FONT, CAPTION_SCALE, 1)
        scale = CAPTION_SCALE * min(1.0, (canvas.shape[1] - 12) / max(width_px, 1))
        cv2.putText(canvas, line, (6, CAPTION_PX * (number + 1)), FONT, scale, TEXT_BGR, 1, cv2.LINE_AA)


def _colour(thing: TrackedObject) -> tuple[int, int, int]:
    return WALKER_BGR if thing.kind is ObjectKind.PEDESTRIAN else OBJECT_BGR


def _box(view: GroundView, thing: TrackedObject) -> Any:
    nose = 0.5 if thing.kind is ObjectKind.PEDESTRIAN else NOSE_SHARE
    pose = np.array([thing.x_m, thing.y_m, thing.yaw_rad])
    return view.box(pose, thing.length_m, thing.width_m, nose * thing.length_m)


def _pose(pose: Pose2D) -> Float:
    return np.array([pose.x_m, pose.y_m, pose.yaw_rad])
