"""Writes a drive to an MCAP file with Foxglove's typed messages, which Foxglove, rerun and `mcap` can read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import foxglove
import foxglove.channels as channels
import foxglove.messages as messages
import numpy as np
from foxglove.mcap import MCAPWriteOptions
from numpy.typing import ArrayLike

from av_core.errors import AvStackError
from av_core.types import Float, LaneEstimate, Plan, Pose2D, SensorFrame, StepResult, TrackedObject, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import ExactTopics
from av_stack.recording.json_topics import step_messages
from av_stack.recording.mcap_file import McapFile
from av_stack.recording.previews import PreviewWriter
from av_stack.recording.radar_topic import radar_message
from av_stack.recording.schemas import MAP, TOPICS, schema_of
from scenarios.judging.judge import Progress

PLAN_EVERY_POINTS = 2
"""Step between the poses of the plan that are written, in poses."""

ROUNDING_STEPS = 1 << 10
"""Coordinates of lines, boxes and the plan are multiples of 1/1024 m, and so are the parts of their quaternions.

Doubles that end in zeros are compressed to less than half. The exact values are in /replay/step.
"""

COMMIT_EVERY_STEPS = 5
"""Steps from one commit to the next. A recording that is cut off lacks at most this many: 0.25 s of a drive."""

COMPRESSION_LEVEL = 1
"""Compression level of zstd. The default level makes a recording 3 % smaller, but takes a fifth more time."""

LANE_COLOUR = messages.Color(r=0.0, g=0.6, b=1.0, a=1.0)
OBJECT_COLOUR = messages.Color(r=1.0, g=0.8, b=0.0, a=0.6)


class Recording:
    """One MCAP file; call `write` after each step and `close` once. On disk it is complete up to the last commit.

    Raises AvStackError where the file cannot be written (a full disk); nothing may be written to it after that. Topics:
    /camera/NAME, /radar/NAME, /gnss, /sensors, /tf (map -> ego), /lanes, /scene, /plan, /control, /truth, /judge,
    /confidence, /stage_ms, once /map, and those of `exact.topics`. An agent other than the stack estimates nothing: /tf
    is then the true pose, and /lanes, /scene, /plan, /confidence and /stage_ms are empty.
    """

    def __init__(
        self,
        path: Path,
        metadata: Mapping[str, Any],
        roads: dict[str, Any] | None = None,
        setup: DriveSetup | None = None,
    ) -> None:
        """`roads` is the message of /map (`map_topic.map_message`); without it, this topic stays empty.

        Without `setup`, the topics that only a replay reads stay empty.
        """
        self._context = foxglove.Context()
        self._steps_waiting = 0
        self._file = McapFile(path)
        options = MCAPWriteOptions(compression_level=COMPRESSION_LEVEL)
        self._writer = foxglove.open_mcap(self._file, context=self._context, writer_options=options)
        self._writer.write_metadata("run", {key: str(value) for key, value in metadata.items()})
        self._cameras: dict[str, tuple[channels.CompressedVideoChannel, PreviewWriter]] = {}
        self._radars: dict[str, channels.PointCloudChannel] = {}
        self._gnss = channels.LocationFixChannel("/gnss", context=self._context)
        self._tf = channels.FrameTransformChannel("/tf", context=self._context)
        self._lanes = channels.SceneUpdateChannel("/lanes", context=self._context)
        self._scene = channels.SceneUpdateChannel("/scene", context=self._context)
        self._plan = channels.PosesInFrameChannel("/plan", context=self._context)
        self._json = {
            topic: foxglove.Channel(topic, message_encoding="json", schema=_schema(topic), context=self._context)
            for topic in (MAP, *TOPICS)
        }
        self._roads = roads
        self._exact = ExactTopics(setup, self._context) if setup is not None else None
        self._commit()

    def write(self, frame: SensorFrame, step: AgentStep, truth: Truth, progress: Progress) -> None:
        """Write one step."""
        time_ns, result = round(frame.stamp.time_s * 1e9), step.result
        if self._roads is not None:
            self._json[MAP].log(self._roads, log_time=time_ns)
            self._roads = None
        self._write_sensors(frame, time_ns)
        if result is None:
            self._write_pose(truth.ego, truth.ego_z_m, time_ns)
        else:
            self._write_belief(result, time_ns)
        for topic, message in step_messages(frame, step, truth, progress).items():
            self._json[topic].log(message, log_time=time_ns)
        if self._exact is not None:
            self._exact.write(frame, step, truth, time_ns)
        self._steps_waiting += 1
        if self._steps_waiting == COMMIT_EVERY_STEPS:
            self._commit()

    def write_verdict(self, verdict: Mapping[str, Any]) -> None:
        """Write how the drive ended, with its infractions, as the metadata record `verdict`; call it at the end."""
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in verdict.items()}
        self._writer.write_metadata("verdict", texts)
        self._commit()

    def close(self) -> None:
        try:
            if self._steps_waiting:
                self._commit()
        finally:
            self._writer.close()  # into memory only: the file on disk already has its ending
            self._file.close()

    def _commit(self) -> None:
        """Close the open chunk and write it to disk."""
        self._steps_waiting = 0
        try:
            self._writer.flush()
            self._file.commit()
        except OSError as error:
            raise AvStackError(f"{self._file.path}: the recording cannot be written: {error.strerror}") from None

    def _write_sensors(self, frame: SensorFrame, time_ns: int) -> None:
        stamp = _stamp(time_ns)
        for name, image in frame.cameras.items():
            if name not in self._cameras:
                channel = channels.CompressedVideoChannel(f"/camera/{name}", context=self._context)
                height_px, width_px = image.bgr.shape[:2]
                self._cameras[name] = channel, PreviewWriter(name, width_px, height_px)
            channel, previews = self._cameras[name]
            channel.log(previews.message(image.bgr, stamp), log_time=time_ns)
        for name, sweep in frame.radars.items():
            if name not in self._radars:
                self._radars[name] = channels.PointCloudChannel(f"/radar/{name}", context=self._context)
            self._radars[name].log(radar_message(sweep, stamp), log_time=time_ns)
        fix = frame.gnss
        self._gnss.log(
            messages.LocationFix(
                timestamp=stamp,
                frame_id="ego",
                latitude=fix.latitude_deg,
                longitude=fix.longitude_deg,
                altitude=fix.altitude_m,
            ),
            log_time=time_ns,
        )

    def _write_pose(self, ego: Pose2D, z_m: float, time_ns: int) -> None:
        self._tf.log(
            messages.FrameTransform(
                timestamp=_stamp(time_ns),
                parent_frame_id="map",
                child_frame_id="ego",
                translation=messages.Vector3(x=ego.x_m, y=ego.y_m, z=z_m),
                rotation=_yaw_rotation(ego.yaw_rad),
            ),
            log_time=time_ns,
        )

    def _write_belief(self, step: StepResult, time_ns: int) -> None:
        stamp, ego = _stamp(time_ns), step.scene.ego
        self._write_pose(Pose2D(ego.x_m, ego.y_m, ego.yaw_rad), ego.z_m, time_ns)
        lanes = messages.SceneUpdate(deletions=_delete_all(stamp), entities=[_lanes(step.scene.lanes, stamp)])
        self._lanes.log(lanes, log_time=time_ns)
        boxes = _boxes(step.scene.objects, ego.z_m, stamp)
        self._scene.log(messages.SceneUpdate(deletions=_delete_all(stamp), entities=boxes), log_time=time_ns)
        self._plan.log(_plan(step.plan, ego.z_m, stamp), log_time=time_ns)


def _schema(topic: str) -> foxglove.Schema:
    name, schema = schema_of(topic)
    return foxglove.Schema(name=name, encoding="jsonschema", data=json.dumps(schema).encode())


def _stamp(time_ns: int) -> messages.Timestamp:
    return messages.Timestamp(sec=time_ns // 1_000_000_000, nsec=time_ns % 1_000_000_000)


def _yaw_rotation(yaw_rad: float) -> messages.Quaternion:
    return messages.Quaternion(x=0.0, y=0.0, z=math.sin(yaw_rad / 2), w=math.cos(yaw_rad / 2))


def _rounded(values: Float) -> list[list[float]]:
    rows: list[list[float]] = (np.round(values * ROUNDING_STEPS) / ROUNDING_STEPS).tolist()
    return rows


def _poses(x_m: ArrayLike, y_m: ArrayLike, z_m: ArrayLike, yaw_rad: ArrayLike) -> list[messages.Pose]:
    """The poses of N points, rounded."""
    half = np.asarray(yaw_rad, dtype=np.float64) / 2
    columns = np.broadcast_arrays(x_m, y_m, z_m, np.sin(half), np.cos(half))
    return [
        messages.Pose(
            position=messages.Vector3(x=x, y=y, z=z), orientation=messages.Quaternion(x=0.0, y=0.0, z=sin, w=cos)
        )
        for x, y, z, sin, cos in _rounded(np.stack(columns, axis=1))
    ]


def _delete_all(stamp: messages.Timestamp) -> list[messages.SceneEntityDeletion]:
    return [messages.SceneEntityDeletion(timestamp=stamp, type=messages.SceneEntityDeletionType.All, id="")]


def _lanes(lanes: LaneEstimate, stamp: messages.Timestamp) -> messages.SceneEntity:
    lines = []
    for line in (lanes.left, lanes.right):
        if line is None:
            continue
        x = np.linspace(line.x_min_m, line.x_max_m, 16, dtype=np.float64)
        xy = _rounded(np.column_stack([x, line.y_at(x)]))
        points = [messages.Point3(x=a, y=b, z=0.0) for a, b in xy]
        lines.append(messages.LinePrimitive(points=points, thickness=0.1, color=LANE_COLOUR))
    return messages.SceneEntity(timestamp=stamp, frame_id="ego", id="lanes", lines=lines)


def _boxes(things: Sequence[TrackedObject], ground_z_m: float, stamp: messages.Timestamp) -> list[messages.SceneEntity]:
    poses = _poses(
        [thing.x_m for thing in things],
        [thing.y_m for thing in things],
        [ground_z_m + thing.height_m / 2 for thing in things],
        [thing.yaw_rad for thing in things],
    )
    return [_box(thing, pose, stamp) for thing, pose in zip(things, poses, strict=True)]


def _box(thing: TrackedObject, pose: messages.Pose, stamp: messages.Timestamp) -> messages.SceneEntity:
    cube = messages.CubePrimitive(
        pose=pose,
        size=messages.Vector3(x=thing.length_m, y=thing.width_m, z=thing.height_m),
        color=OBJECT_COLOUR,
    )
    kind = messages.KeyValuePair(key="kind", value=thing.kind.value)
    return messages.SceneEntity(timestamp=stamp, frame_id="map", id=str(thing.track_id), cubes=[cube], metadata=[kind])


def _plan(plan: Plan, ground_z_m: float, stamp: messages.Timestamp) -> messages.PosesInFrame:
    path = plan.trajectory.curve
    rows = slice(None, None, PLAN_EVERY_POINTS)
    poses = _poses(path.x_m[rows], path.y_m[rows], ground_z_m, path.yaw_rad[rows])
    return messages.PosesInFrame(timestamp=stamp, frame_id="map", poses=poses)
