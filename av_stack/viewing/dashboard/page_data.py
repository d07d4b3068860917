"""The JSON for the page: once the drive's data, then for each step the recording's messages and two pictures."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from av_core.types import Image, Plan
from av_stack.recording.bird_view import BirdView
from av_stack.recording.json_topics import step_messages
from av_stack.recording.overlay import Hud, draw, picture_of
from av_stack.supervisor import STAGE_DEADLINE_MS
from av_stack.viewing.viewer import DriveStep, ViewedDrive

JPEG_QUALITY = 80
ABOVE_PX = 480
"""Height of the view from above."""

PLAN_EVERY_POINTS = 4
"""Step between the points of the planned speed that are sent, in points."""

TOPICS = ("/control", "/judge", "/confidence", "/supervision", "/stage_ms", "/sensors")
"""The topics whose whole messages the page gets. Of /truth it gets only the pose and the speed."""

POSE = ("x_m", "y_m", "yaw_rad", "speed_mps")


class PageData:
    """Makes the messages of one drive for the page."""

    def __init__(self, drive: ViewedDrive) -> None:
        self._drive = drive
        self._camera = drive.rig.cameras[0] if drive.rig.cameras else None
        self._above = BirdView(drive.roads["lanes"], ABOVE_PX)
        route = np.asarray(drive.roads["route"], dtype=np.float64).reshape(-1, 2)
        self._route_m = float(np.hypot(*np.diff(route, axis=0).T).sum())

    def drive(self) -> str:
        """The data of the whole drive for the page: name, roads and route, and the deadlines of the stages."""
        about = {
            "name": self._drive.name,
            "agent": self._drive.agent,
            "roads": self._drive.roads,
            "route_m": round(self._route_m, 1),
            "deadline_ms": dict(STAGE_DEADLINE_MS),
        }
        return _json(about)

    def step(self, seen: DriveStep) -> str:
        """The data of one step for the page."""
        result = seen.step.result
        messages = step_messages(seen.frame, seen.step, seen.truth, seen.progress)
        content = {
            "time_s": seen.frame.stamp.time_s,
            "topics": {topic: messages[topic] for topic in TOPICS if topic in messages},
            "truth": {name: messages["/truth"][name] for name in POSE},
            "plan": _planned_speed(result.plan) if result is not None else None,
            "sensors": self._sensors(seen),
            "front": self._front(seen),
            "above": _jpeg(self._above.draw(seen.step, seen.truth)),
        }
        return _json(content)

    def _sensors(self, seen: DriveStep) -> Mapping[str, bool]:
        """The sensors that sent data in this step."""
        rig, frame = self._drive.rig, seen.frame
        sent = {one.name: one.name in frame.cameras for one in rig.cameras}
        sent |= {one.name: one.name in frame.radars for one in rig.radars}
        return {**sent, "gnss": bool(np.isfinite([frame.gnss.latitude_deg, frame.gnss.longitude_deg]).all())}

    def _front(self, seen: DriveStep) -> str | None:
        """The front camera's picture with lanes, boxes and plan, as in the video."""
        if self._camera is None:
            return None
        hud = Hud(seen.truth.ego_speed_mps, seen.progress.limit_mps, seen.progress.progress_m, self._route_m)
        return _jpeg(draw(picture_of(seen.frame, self._camera), self._camera, seen.step, hud))


def _planned_speed(plan: Plan) -> Mapping[str, list[float]]:
    """The planned speed over the time from now."""
    rows = slice(None, None, PLAN_EVERY_POINTS)
    planned = plan.trajectory
    return {
        "time_s": np.round(planned.time_s[rows], 2).tolist(),
        "speed_mps": np.round(planned.speed_mps[rows], 3).tolist(),
    }


def _jpeg(bgr: Image) -> str:
    _, jpeg = cv2.imencode(".jpg", bgr, (cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY))
    return base64.b64encode(jpeg.tobytes()).decode()


def _json(content: Mapping[str, Any]) -> str:
    """JSON in one line. NaN and infinity, which JSON lacks, become null."""
    try:
        return json.dumps(content, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(content), separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
