"""A drive's files without a drive: 20 s along the x axis, another car beside it, a collision at 12 s."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import foxglove
import numpy as np

from av_stack.recording.mcap_file import McapFile
from av_stack.recording.recorder import RECORDING, RESULT, VIDEO, VIDEO_EVERY_STEPS
from av_stack.recording.schemas import MAP, TOPICS, model_of
from av_stack.recording.video import VideoWriter

STEP_S, STEPS, FIRST_FRAME = 0.05, 401, 7
BEGIN_S = 300.0
"""Simulated time of the first step: a server that has run for a while."""
HIT_S, SPEED_MPS = 12.0, 5.0
STACK_TOPICS = ("/control", "/confidence")

ROADS = {
    "name": "made up",
    "lanes": [[False, [[0, 1.75], [120, 1.75]], [[0, -1.75], [120, -1.75]]]],
    "route": [[0, 0], [120, 0]],
    "stop_lines": [[[100, 1.75], [100, -1.75]]],
}


def write_recording(path: Path, steps: int = STEPS, *, has_stack: bool = True) -> None:
    """A recording; without `has_stack` as of another agent."""
    context = foxglove.Context()
    file = McapFile(path)
    writer = foxglove.open_mcap(file, context=context)
    writer.write_metadata("run", {"scenario": "made up", "map": "none", "weather": "ClearNoon", "seed": "1"})
    topics = [topic for topic in TOPICS if topic in _messages(0) and (has_stack or topic not in STACK_TOPICS)]
    channels = {topic: foxglove.Channel(topic, message_encoding="json", context=context) for topic in (MAP, *topics)}
    for step in range(steps):
        time_ns = round((BEGIN_S + step * STEP_S) * 1e9)
        if step == 0:
            channels[MAP].log(model_of(MAP).model_validate(ROADS).model_dump(mode="json"), log_time=time_ns)
        for topic, content in _messages(step).items():
            if topic in channels:
                channels[topic].log(model_of(topic).model_validate(content).model_dump(mode="json"), log_time=time_ns)
        if step % 5 == 4 or step == steps - 1:
            writer.flush()
            file.commit()
    writer.close()
    file.close()


def write_video(path: Path, steps: int = STEPS) -> None:
    """A video whose pictures get brighter with time."""
    video = VideoWriter(path, 160, 90, round(1 / (STEP_S * VIDEO_EVERY_STEPS)))
    for step in range(steps):
        if (FIRST_FRAME + step) % VIDEO_EVERY_STEPS == 0:
            video.write(np.full((90, 160, 3), 40 + step // 2, dtype=np.uint8))
    video.close()


def write_drive(folder: Path, *, has_stack: bool = True, has_video: bool = True, **changes: Any) -> Path:
    """A folder with all files of a drive; `changes` are keys of its result."""
    folder.mkdir(parents=True, exist_ok=True)
    write_recording(folder / RECORDING, has_stack=has_stack)
    if has_video:
        write_video(folder / VIDEO)
    (folder / RESULT).write_text(json.dumps({**RESULT_CONTENT, **changes}))
    return folder


def _messages(step: int) -> dict[str, dict[str, Any]]:
    x_m = step * STEP_S * SPEED_MPS
    return {
        "/truth": {
            "frame": FIRST_FRAME + step, "x_m": x_m, "y_m": 0.0, "yaw_rad": 0.0, "z_m": 0.0, "speed_mps": SPEED_MPS,
            "objects": [[42, "car", x_m + 20.0, 3.5, math.pi, -1.0, 0.0], [43, "pedestrian", 900.0, 0, 0, 0, 0]],
            "lights": {}, "collisions": [],
        },
        "/judge": {"progress_m": x_m, "limit_mps": 10.0, "lateral_error_m": None if 100 < step < 120 else 0.1},
        "/control": {
            "throttle": 0.3, "brake": 0.0, "steer": 0.0, "lights": {"position": False}, "reverse": False,
            "route_s_m": x_m,
            "constraint": f"vehicle 42 ahead {20 - step // 40} m" if step > 200 else "speed limit 36 km/h",
            "manoeuvre": "follow lane",
            "behaviour": "stop" if step > 300 else "follow lane",
            "reason": "red light 7" if step > 300 else "the lane is free",
            "limited_by": "moving vehicle ahead" if step > 200 else "speed limit",
        },
        "/confidence": {"left_line": 0.9, "right_line": None, "position_sigma_m": 0.1},
    }  # fmt: skip


RESULT_CONTENT: dict[str, Any] = {
    "scenario": "made <up>", "map": "none", "weather": "ClearNoon", "seed": 1, "agent": "stack",
    "end": "time-out after 20 s", "route_completion": 0.8333,
    "driving_score": 50.0, "driving_score_2_1": 49.0, "error": None, "time_s": 20.0,
    "infractions": {"collisions_vehicle": 1, "minimum_speed_percent": [50.0], "outside_lane_share": 0.0},
    "infraction_log": [
        {"kind": "collision_vehicle", "time_s": HIT_S, "x_m": 61.4, "y_m": 0, "what": "hit <b>vehicle</b> at 18 km/h"},
        {"kind": "minimum_speed", "time_s": 15.0, "x_m": 76.4, "y_m": 0.0, "what": "quarter 1 at 50 %"},
    ],
    "route_length_m": 120.0, "driven_m": 100.0, "lateral_rms_m": 0.1, "lateral_max_m": 0.1, "outside_lane_m": 0.0,
    "wrong_way_m": 0.0, "speed_ratio": 0.5, "stops_at_red": 0, "vehicles_followed": 0, "vehicles_met": 1,
    "safety": {"time_to_collision_min_s": 0.4, "at_s": 11.6, "object_id": 42, "object_kind": "car"},
    "comfort": None, "localization_error": None, "oracles": [], "shortcomings": ["collides"],
    "events": {"hazard": 0.5},
    "parts": [{"name": "a", "type": "ParkedObstacle", "began_s": 3.0, "ended_s": 14.0, "is_timed_out": False}],
    "constraints": {"moving vehicle ahead": {"time_s": 10.0, "standing_s": 0.0, "lost_m": 50.0}},
    "behaviours": {"follow lane": {"time_s": 15.0, "standing_s": 0.0, "times": 1}},
    "versions": {"carla": "0.9.16"},
}  # fmt: skip
