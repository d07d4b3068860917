"""Converts drives to Rerun's data: each step as pictures, boxes and lines in space, and values over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np
import rerun as rr

from av_core.frames import map_to_vehicle, vehicle_to_image, vehicle_to_map
from av_core.types import (
    CameraModel,
    Float,
    Image,
    LaneLine,
    ObjectKind,
    Plan,
    Pose2D,
    SensorFrame,
    StepResult,
    TrackedObject,
    Truth,
)
from av_stack.recording.json_topics import step_messages
from av_stack.supervisor import STAGE_DEADLINE_MS
from av_stack.viewing.rerun_view import entities as names
from av_stack.viewing.rerun_view.layout import layout
from av_stack.viewing.viewer import DriveStep, ViewedDrive

APPLICATION = "av-stack"
PLANNED_AHEAD_S = 2.0
"""The plot of the speed shows the speed that is planned for this time from now."""

TRAJECTORY_EVERY_S = 0.5
"""Time between the points of the planned trajectory."""

PLAN_Z_M, MAP_Z_M = 0.15, 0.0
"""Heights above the ground at which the plan and the map are drawn, so that none covers the other."""

BRAKING_MPS2 = -1.0
"""Points of the trajectory that brake more than this are red."""

CAMERA_AHEAD_M = 2.0
"""Points less far ahead of the camera are not drawn in its picture."""

JPEG_QUALITY = 75

Topics = Mapping[str, Mapping[str, Any]]
"""The messages of one step by topic."""

PEDALS = ("throttle", "brake", "steer")
CONFIDENCES = ("left_line", "right_line", "position_sigma_m")
MPS_KMH = 3.6
NO_STAGES: Mapping[str, Mapping[str, float]] = {"stage_ms": {}}


class RerunLog:
    """Writes one drive to `stream`: call `log_drive` once, then `log_step` with every step in order."""

    def __init__(self, stream: rr.RecordingStream) -> None:
        self._stream = stream
        self._drive: ViewedDrive | None = None
        self._said: dict[str, str] = {}

    def log_drive(self, drive: ViewedDrive) -> None:
        """The layout, the map, and the names and colours of the plots."""
        self._drive = drive
        roads = drive.roads
        route = _with_height(roads["route"], MAP_Z_M)
        heading_rad = math.atan2(*(route[1] - route[0])[1::-1]) if len(route) > 1 else 0.0
        self._stream.send_recording_name(f"{drive.name} ({drive.agent})")
        self._stream.send_blueprint(layout(drive.rig, roads, heading_rad))
        log = self._stream.log
        log(names.WORLD, rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        edges = [_with_height(edge, MAP_Z_M) for _, *sides in roads["lanes"] for edge in sides]
        log(names.ROADS, rr.LineStrips3D(edges, colors=names.ROAD_RGB, radii=-1.0), static=True)
        log(names.ROUTE, rr.LineStrips3D([route], colors=names.ROUTE_RGB, radii=-2.5), static=True)
        stop_lines = [_with_height(line, MAP_Z_M) for line in roads["stop_lines"]]
        log(names.STOP_LINES, rr.LineStrips3D(stop_lines, colors=names.STOP_LINE_RGB, radii=-2.0), static=True)
        for path, lines in names.LINES.items():
            log(path, rr.SeriesLines(colors=[*lines.values()], names=[*lines]), static=True)
        log(names.STAGES, rr.SeriesLines(names=[*STAGE_DEADLINE_MS]), static=True)

    def log_step(self, seen: DriveStep) -> None:
        """One step with the pictures of its frame."""
        assert self._drive is not None
        frame, truth, result = seen.frame, seen.truth, seen.step.result
        self._stream.set_time(names.TIME, duration=frame.stamp.time_s)
        self._stream.set_time(names.FRAME, sequence=frame.stamp.frame)
        self._log_pictures(frame, result)
        self._log_truth(truth)
        if result is not None:
            self._log_belief(result, truth.ego_z_m)
        topics = step_messages(frame, seen.step, truth, seen.progress)
        self._log_values(topics, result)
        self._log_states(topics)

    def _log_pictures(self, frame: SensorFrame, result: StepResult | None) -> None:
        assert self._drive is not None
        for name, image in frame.cameras.items():
            path = f"{names.CAMERA}/{name}"
            self._stream.log(path, rr.EncodedImage(contents=_jpeg(image.bgr), media_type="image/jpeg"))
        if result is None or not self._drive.rig.cameras:
            return
        front = self._drive.rig.cameras[0]
        path = f"{names.CAMERA}/{front.name}"
        boxed = [thing for thing in result.scene.objects if thing.box_px is not None]
        boxes = rr.Boxes2D(
            array=np.array([thing.box_px for thing in boxed]).reshape(-1, 4),
            array_format=rr.Box2DFormat.XYXY,
            labels=[_label(thing) for thing in boxed],
            colors=[_colour(thing) for thing in boxed],
        )
        self._stream.log(f"{path}/boxes", boxes)
        lines = [_line_in_picture(line, front) for line in _lines(result)]
        self._stream.log(f"{path}/lanes", rr.LineStrips2D(lines, colors=names.LANE_RGB, radii=-1.5))
        ego = result.scene.ego
        curve = result.plan.trajectory.curve
        way = map_to_vehicle(np.column_stack([curve.x_m, curve.y_m]), Pose2D(ego.x_m, ego.y_m, ego.yaw_rad))
        colour = _plan_colour(result.plan)
        self._stream.log(f"{path}/plan", rr.LineStrips2D([_in_picture(way, front)], colors=colour, radii=-2.0))

    def _log_truth(self, truth: Truth) -> None:
        """Log the truth: the ego, and the outlines of all other road users."""
        assert self._drive is not None
        vehicle, ego = self._drive.vehicle, truth.ego
        ahead_m = vehicle.rear_axle_to_centre_m
        middle = ego.x_m + ahead_m * math.cos(ego.yaw_rad), ego.y_m + ahead_m * math.sin(ego.yaw_rad)
        body = rr.Boxes3D(
            centers=[(*middle, truth.ego_z_m + vehicle.height_m / 2)],
            sizes=[(vehicle.length_m, vehicle.width_m, vehicle.height_m)],
            quaternions=[_yaw(ego.yaw_rad)],
            colors=[names.EGO_RGB],
            fill_mode=rr.components.FillMode.Solid,
        )
        self._stream.log(names.EGO, body)
        self._stream.log(names.DRIVEN, rr.Points3D([(*middle, PLAN_Z_M)], colors=[names.EGO_RGB], radii=-2.5))
        self._stream.log(names.TRUE, _boxes(truth.objects, truth.ego_z_m, [names.TRUE_RGB] * len(truth.objects)))

    def _log_belief(self, result: StepResult, ground_z_m: float) -> None:
        """Log the stack's tracks, predictions and plan."""
        things = result.scene.objects
        tracks = _boxes(things, ground_z_m, [_colour(thing) for thing in things], [_label(thing) for thing in things])
        self._stream.log(names.TRACKS, tracks)
        modes = [mode for one in result.prediction.objects for mode in one.modes]
        ways = [_with_height(np.column_stack([mode.x_m, mode.y_m]), ground_z_m + PLAN_Z_M) for mode in modes]
        self._stream.log(names.PREDICTION, rr.LineStrips3D(ways, colors=names.PREDICTION_RGB, radii=-1.0))
        curve = result.plan.trajectory.curve
        way = _with_height(np.column_stack([curve.x_m, curve.y_m]), ground_z_m + PLAN_Z_M)
        self._stream.log(names.PLAN, rr.LineStrips3D([way], colors=_plan_colour(result.plan), radii=-2.0))
        self._stream.log(names.TRAJECTORY, _trajectory(result.plan, ground_z_m + PLAN_Z_M))
        ego = result.scene.ego
        pose = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad)
        lines = [_with_height(vehicle_to_map(_line(line), pose), ground_z_m + PLAN_Z_M) for line in _lines(result)]
        self._stream.log(names.LANE_LINES, rr.LineStrips3D(lines, colors=names.LANE_RGB, radii=-2.0))

    def _log_values(self, topics: Topics, result: StepResult | None) -> None:
        """The values of the plots, in the order of `LINES`, from the messages of the recording's topics."""
        control, confidence, judge = topics.get("/control", {}), topics.get("/confidence", {}), topics["/judge"]
        estimated_mps = planned_mps = None
        if result is not None:
            estimated_mps = result.scene.ego.speed_mps
            planned_mps = result.plan.trajectory.at(PLANNED_AHEAD_S).speed_mps
        speeds_mps = (topics["/truth"]["speed_mps"], estimated_mps, judge["limit_mps"], planned_mps)
        stage_ms = topics.get("/stage_ms", NO_STAGES)["stage_ms"]
        values: dict[str, Sequence[float | None]] = {
            names.SPEED: [None if each is None else MPS_KMH * each for each in speeds_mps],
            names.LATERAL: [judge["lateral_error_m"]],
            names.CONTROL: [control.get(name) for name in PEDALS],
            names.CONFIDENCE: [confidence.get(name) for name in CONFIDENCES],
            names.STAGES: [stage_ms.get(name) for name in STAGE_DEADLINE_MS],
        }
        for path, each in values.items():
            self._stream.log(path, rr.Scalars([math.nan if value is None else float(value) for value in each]))

    def _log_states(self, topics: Topics) -> None:
        """Log the constraint on the speed, what the ego does, and the stack's state, each when it changes."""
        control, supervision = topics.get("/control", {}), topics.get("/supervision", {})
        if self._changes(names.CONSTRAINT, control.get("limited_by", "")):
            self._stream.log(names.CONSTRAINT, rr.StateChange(state=control["limited_by"]))
            self._stream.log(names.WORDS, rr.TextLog(control["constraint"] or control["limited_by"]))
        if self._changes("behaviour", control.get("behaviour", "")):
            self._stream.log(names.WORDS, rr.TextLog(f"{control['behaviour']}: {control['reason']}"))
        state, reason = supervision.get("state", ""), supervision.get("reason", "")
        if self._changes(names.HEALTH, state):
            self._stream.log(names.HEALTH, rr.StateChange(state=state))
        if self._changes("reason", reason):
            self._stream.log(names.WORDS, rr.TextLog(f"{state}: {reason}", level=rr.TextLogLevel.WARN))
        late = ", ".join(f"{name} {ms:.0f} ms" for name, ms in supervision.get("late_stages", {}).items())
        if late:
            self._stream.log(names.WORDS, rr.TextLog(f"late: {late}", level=rr.TextLogLevel.WARN))

    def _changes(self, what: str, now: str) -> bool:
        """Whether the text `now` differs from the last one and is not empty."""
        before, self._said[what] = self._said.get(what, ""), now
        return bool(now) and now != before


def _jpeg(bgr: Image) -> bytes:
    _, jpeg = cv2.imencode(".jpg", bgr, (cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY))
    return bytes(jpeg.tobytes())


def _with_height(xy: Any, z_m: float) -> Float:
    """Points (N, 2) as points (N, 3)."""
    flat = np.asarray(xy, dtype=np.float64).reshape(-1, 2)
    return np.column_stack([flat, np.full(len(flat), z_m)])


def _yaw(yaw_rad: float) -> rr.Quaternion:
    return rr.Quaternion(xyzw=[0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2)])


def _label(thing: TrackedObject) -> str:
    return f"{thing.kind.value} {thing.track_id}"


def _colour(thing: TrackedObject) -> tuple[int, int, int]:
    return names.WALKER_RGB if thing.kind is ObjectKind.PEDESTRIAN else names.VEHICLE_RGB


def _plan_colour(plan: Plan) -> tuple[int, int, int]:
    return names.BRAKING_RGB if float(plan.trajectory.accel_mps2.min()) < BRAKING_MPS2 else names.PLAN_RGB


def _boxes(
    things: Sequence[TrackedObject], ground_z_m: float, colours: Any, labels: Sequence[str] | None = None
) -> rr.Boxes3D:
    return rr.Boxes3D(
        centers=[(thing.x_m, thing.y_m, ground_z_m + thing.height_m / 2) for thing in things],
        sizes=[(thing.length_m, thing.width_m, thing.height_m) for thing in things],
        quaternions=[_yaw(thing.yaw_rad) for thing in things],
        colors=colours,
        labels=labels,
        radii=-1.5,
    )


def _trajectory(plan: Plan, z_m: float) -> rr.Points3D:
    """The planned positions of the ego every half second; red where it brakes."""
    planned = plan.trajectory
    points = [planned.at(float(time_s)) for time_s in np.arange(0.0, planned.time_s[-1], TRAJECTORY_EVERY_S)]
    colours = [names.BRAKING_RGB if point.accel_mps2 < BRAKING_MPS2 else names.PLAN_RGB for point in points]
    return rr.Points3D([(point.x_m, point.y_m, z_m) for point in points], colors=colours, radii=-4.0)


def _lines(result: StepResult) -> list[LaneLine]:
    lanes = result.scene.lanes
    return [line for line in (lanes.left, lanes.right) if line is not None]


def _line(line: LaneLine, from_m: float = -math.inf) -> Float:
    """Points (N, 2) of a lane line in the vehicle frame."""
    x = np.linspace(max(line.x_min_m, from_m), line.x_max_m, 24, dtype=np.float64)
    return np.column_stack([x, line.y_at(x)])


def _line_in_picture(line: LaneLine, camera: CameraModel) -> Float:
    return _in_picture(_line(line, camera.x_m + CAMERA_AHEAD_M), camera)


def _in_picture(xy: Float, camera: CameraModel) -> Float:
    """Pixels (M, 2) of the ground points (N, 2) in the vehicle frame that are in the picture."""
    near = xy[xy[:, 0] > camera.x_m + CAMERA_AHEAD_M]
    if len(near) == 0:
        return np.zeros((0, 2))
    pixels, _ = vehicle_to_image(np.column_stack([near, np.zeros(len(near))]), camera)
    size_px = np.array([camera.width_px, camera.height_px])
    return np.asarray(pixels[np.all((pixels >= 0.0) & (pixels <= size_px), axis=1)])  # NaN is not in it
