"""Draws the stack's estimates and plan on the front camera's picture, for the video."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import cv2
import numpy as np

from av_core.frames import map_to_vehicle, vehicle_to_image
from av_core.types import (
    Behaviour,
    CameraModel,
    Float,
    Image,
    LaneEstimate,
    LaneLine,
    LightState,
    Plan,
    Pose2D,
    SensorFrame,
    StepResult,
    TrackedObject,
)
from av_stack.agents.base import AgentStep
from av_stack.results.constraint_text import describe

LANE_BGR = (255, 160, 0)
PLAN_BGR = (80, 220, 80)
BRAKING_BGR = (60, 60, 240)
OBJECT_BGR = (0, 200, 255)
WALKER_BGR = (255, 80, 255)
TEXT_BGR = (255, 255, 255)
LIGHT_BGR = {
    LightState.RED: (60, 60, 255),
    LightState.YELLOW: (0, 210, 255),
    LightState.GREEN: (80, 220, 80),
}
FONT = cv2.FONT_HERSHEY_SIMPLEX
NOTHING_MORE: Mapping[int, str] = {}
NEAR_M = 4.0  # closer points project far outside the picture


@dataclass(frozen=True, slots=True)
class Hud:
    """Figures for the text band that are not part of the step; the speed is the true one."""

    speed_mps: float
    limit_mps: float
    distance_m: float
    length_m: float


def draw(picture: Image, camera: CameraModel, step: AgentStep, hud: Hud) -> Image:
    """A copy of `picture` (height, width, 3) BGR with lane lines, plan, object boxes and text.

    Only the text where the step has no result.
    """
    canvas, result = picture.copy(), step.result
    if result is None:
        _draw_text(canvas, step, hud, hud.speed_mps)
        return canvas
    _draw_plan(canvas, camera, result)
    draw_lanes(canvas, camera, result.scene.lanes)
    draw_boxes(canvas, result.scene.objects)
    _draw_text(canvas, step, hud, result.scene.ego.speed_mps)
    _draw_lights(canvas, result)
    return canvas


def picture_of(frame: SensorFrame, camera: CameraModel) -> Image:
    """The camera's picture; black where it sent none."""
    image = frame.cameras.get(camera.name)
    return np.zeros((camera.height_px, camera.width_px, 3), np.uint8) if image is None else image.bgr


def draw_lanes(canvas: Image, camera: CameraModel, lanes: LaneEstimate) -> None:
    """Draw the two lines of the ego's lane; a line is drawn wider the higher its confidence is."""
    for line in (lanes.left, lanes.right):
        if line is not None:
            _draw_lane_line(canvas, camera, line)


def draw_boxes(canvas: Image, objects: Iterable[TrackedObject], about: Mapping[int, str] = NOTHING_MORE) -> None:
    """Draw the boxes of the objects in the picture, each with its kind and, by track id, what more is known."""
    for thing in objects:
        if thing.box_px is None:
            continue
        u0, v0, u1, v1 = (round(value) for value in thing.box_px)
        colour = WALKER_BGR if thing.kind.value == "pedestrian" else OBJECT_BGR
        cv2.rectangle(canvas, (u0, v0), (u1, v1), colour, 1, cv2.LINE_AA)
        if u1 - u0 > 14:
            text = f"{thing.kind.value} {about.get(thing.track_id, '')}".rstrip()
            cv2.putText(canvas, text, (u0, max(10, v0 - 3)), FONT, 0.35, colour, 1, cv2.LINE_AA)


def draw_text(canvas: Image, text: str, at: tuple[int, int]) -> None:
    """Write a line of text from the pixel `at` (lower left) on."""
    cv2.putText(canvas, text, at, FONT, 0.45, TEXT_BGR, 1, cv2.LINE_AA)


def speed_text(speed_mps: float) -> str:
    """The speed in km/h; an ego that stands has 0.0, never -0.0."""
    return f"{round(3.6 * speed_mps, 1) + 0.0:5.1f} km/h"


def _project(camera: CameraModel, xy: Float) -> Float:
    """Ground points in the vehicle frame (N, 2) -> pixels (M, 2) of those in front of the camera."""
    near = xy[xy[:, 0] > camera.x_m + NEAR_M - 2.0]
    if len(near) == 0:
        return np.zeros((0, 2))
    pixels, _ = vehicle_to_image(np.column_stack([near, np.zeros(len(near))]), camera)
    return np.asarray(pixels[~np.isnan(pixels).any(axis=1)])


def _polyline(canvas: Image, pixels: Float, colour: tuple[int, int, int], width_px: int) -> None:
    if len(pixels) >= 2:
        rounded = np.clip(np.round(pixels), -10_000, 10_000).astype(np.int32)
        cv2.polylines(canvas, [rounded.reshape(-1, 1, 2)], False, colour, width_px, cv2.LINE_AA)


def _draw_lane_line(canvas: Image, camera: CameraModel, line: LaneLine) -> None:
    x = np.linspace(max(line.x_min_m, camera.x_m + 2.0), line.x_max_m, 24, dtype=np.float64)
    width_px = 1 + round(2 * line.confidence)
    _polyline(canvas, _project(camera, np.column_stack([x, line.y_at(x)])), LANE_BGR, width_px)


def _plan_in_vehicle(plan: Plan, ego: Pose2D) -> Float:
    path = plan.trajectory.curve
    return map_to_vehicle(np.column_stack([path.x_m, path.y_m]), ego)


def _draw_plan(canvas: Image, camera: CameraModel, step: StepResult) -> None:
    """Draw the planned path as a line, red if the plan brakes by more than 1 m/s2 anywhere."""
    ego = step.scene.ego
    path = _plan_in_vehicle(step.plan, Pose2D(ego.x_m, ego.y_m, ego.yaw_rad))
    pixels = _project(camera, path)
    is_braking = float(step.plan.trajectory.accel_mps2.min()) < -1.0
    _polyline(canvas, pixels, BRAKING_BGR if is_braking else PLAN_BGR, 3)


def _draw_text(canvas: Image, step: AgentStep, hud: Hud, speed_mps: float) -> None:
    band = canvas[:38]
    band //= 2
    speed = f"{speed_text(speed_mps)}  limit {3.6 * hud.limit_mps:.0f}"
    where = f"{hud.distance_m:.0f} / {hud.length_m:.0f} m"
    draw_text(canvas, speed, (8, 15))
    draw_text(canvas, where, (250, 15))
    command = step.applied
    if command is not None:
        pedals = f"throttle {command.throttle:.2f}  brake {command.brake:.2f}  steer {command.steer:+.2f}"
        draw_text(canvas, pedals, (370, 15))
    if step.result is not None:
        plan = step.result.plan
        behaviour = Behaviour.FOLLOW_LANE if plan.decision is None else plan.decision.behaviour
        does = "" if behaviour is Behaviour.FOLLOW_LANE else f"{behaviour.value}: "
        draw_text(canvas, does + describe(plan.constraint), (8, 32))


def _draw_lights(canvas: Image, step: StepResult) -> None:
    for number, light in enumerate(list(step.scene.lights.values())[:8]):
        colour = LIGHT_BGR.get(light.state, (128, 128, 128))
        cv2.circle(canvas, (canvas.shape[1] - 12 - 14 * number, 28), 5, colour, -1, cv2.LINE_AA)
