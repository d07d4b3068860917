"""The files of a foreign replay: an annotated video, the scene of every picture, and the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from av_core.errors import AvStackError
from av_core.frames import map_to_vehicle
from av_core.types import CameraImage, CameraModel, Image, LaneLine, Pose2D, Scene, TrackedObject
from av_stack.recording.atomic_file import AtomicFile
from av_stack.recording.overlay import draw_boxes, draw_lanes, draw_text, speed_text
from av_stack.recording.video import VideoWriter
from perception.health.monitor import Health

VIDEO, SCENES = "replay.mp4", "scenes.jsonl"
BAND_PX = 22
"""Height of the band with text."""


class Outputs:
    """Writes the results picture by picture, so that an interruption loses nothing before it. Call `close` at the end.

    Raises AvStackError where a file cannot be written any further.
    """

    def __init__(self, folder: Path, camera: CameraModel, pictures_per_s: float) -> None:
        self._size = camera.width_px // 2 * 2, camera.height_px // 2 * 2  # H.264 has no odd sizes
        for name in (VIDEO, SCENES):
            (folder / name).unlink(missing_ok=True)
        self._scenes = AtomicFile(folder / SCENES)
        self._video = VideoWriter(folder / VIDEO, *self._size, max(round(pictures_per_s), 1))

    def write(self, image: CameraImage, scene: Scene, health: Health, is_localized: bool) -> None:
        """Write the results of perception for one picture."""
        about = positions(scene)
        try:
            line = json.dumps(entry(scene, health, image.camera, about))
            self._scenes.append(f"{line}\n".encode())
        except OSError as error:
            raise AvStackError(f"{self._scenes.path}: cannot be written: {error.strerror}") from None
        width, height = self._size
        self._video.write(annotated(image, scene, health, about, is_localized)[:height, :width])

    def close(self) -> None:
        """Finish both files. Raises AvStackError where the video could not be written."""
        self._scenes.close()
        self._video.close()


Positions = dict[int, tuple[float, float]]
"""Positions (x, y) of the objects, m in the vehicle frame, by track id."""


def positions(scene: Scene) -> Positions:
    ego = Pose2D(scene.ego.x_m, scene.ego.y_m, scene.ego.yaw_rad)
    places = map_to_vehicle(np.array([(thing.x_m, thing.y_m) for thing in scene.objects]).reshape(-1, 2), ego)
    return {thing.track_id: (x, y) for thing, (x, y) in zip(scene.objects, places.tolist(), strict=True)}


def annotated(image: CameraImage, scene: Scene, health: Health, places: Positions, is_localized: bool) -> Image:
    """A copy of the picture with lane lines, boxes with distances, and a line of text."""
    canvas = image.bgr.copy()
    draw_lanes(canvas, image.camera, scene.lanes)
    draw_boxes(canvas, scene.objects, {track: f"{np.hypot(*place):.0f} m" for track, place in places.items()})
    canvas[:BAND_PX] //= 2
    draw_text(canvas, f"{scene.stamp.time_s:6.2f} s", (8, 15))
    speed = speed_text(scene.ego.speed_mps) if is_localized else "speed unknown"
    draw_text(canvas, speed, (110, 15))
    camera = image.camera
    draw_text(canvas, f"pitch {np.degrees(camera.pitch_rad):+.1f} yaw {np.degrees(camera.yaw_rad):+.1f} deg", (240, 15))
    if health.faults:
        draw_text(canvas, f"camera {health}", (460, 15))
    return canvas


def entry(scene: Scene, health: Health, camera: CameraModel, places: Positions) -> dict[str, Any]:
    """The results of perception for one picture, as plain values; positions are in the vehicle frame."""
    ego, lanes = scene.ego, scene.lanes
    return {
        "time_s": scene.stamp.time_s,
        "camera": {"pitch_rad": camera.pitch_rad, "yaw_rad": camera.yaw_rad, "health": str(health)},
        "ego": {"x_m": ego.x_m, "y_m": ego.y_m, "yaw_rad": ego.yaw_rad, "speed_mps": ego.speed_mps},
        "lanes": {"left": _line(lanes.left), "right": _line(lanes.right)},
        "objects": [_object(thing, places[thing.track_id]) for thing in scene.objects],
    }


def _line(line: LaneLine | None) -> dict[str, Any] | None:
    if line is None:
        return None
    return {
        "coefficients": list(line.coefficients),
        "x_min_m": line.x_min_m,
        "x_max_m": line.x_max_m,
        "kind": line.kind.value,
        "colour": line.colour.value,
        "confidence": line.confidence,
    }


def _object(thing: TrackedObject, place: tuple[float, float]) -> dict[str, Any]:
    return {
        "track_id": thing.track_id,
        "kind": thing.kind.value,
        "x_m": place[0],
        "y_m": place[1],
        "velocity_mps": list(thing.velocity_mps),
        "box_px": None if thing.box_px is None else list(thing.box_px),
        "confidence": thing.confidence,
    }
