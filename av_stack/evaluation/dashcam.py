"""Evaluates lane detection on real dashcam pictures.

The lines of the ego's lane were marked by hand before the detector was tuned on any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from av_core.errors import ConfigError
from av_core.frames import vehicle_to_image
from av_core.types import CameraImage, CameraModel, Float, Image, LaneEstimate, LaneLine, Stamp
from av_stack.evaluation.table import Figure
from perception.lanes.detector import LaneDetector
from perception.lanes.self_calibration import MountCalibrator
from perception.lanes.single_image import lanes_and_mount

LABELS = Path(__file__).parent / "dashcam_lines.json"
"""The marks: for each picture ("NAME.jpg" or "NAME.mp4#FRAME") and side, (row, column) px of the line's middle."""

DASHCAM = CameraModel("dashcam", 960, 540, float(np.radians(60.0)), 0.0, 0.0, 1.2)
"""Rough guess of a camera behind a windscreen; self-calibration finds its orientation."""

WITHIN_PX = 8.0
"""Largest error at which a line counts as right."""

WRONG_BY_RAD = tuple(np.radians([-8.0, -4.0, 4.0, 8.0]).tolist())
"""Errors that are added to the guessed pitch, rad; each still is measured again with each of them."""

STILL_LOOKS = 12
"""Number of times that the detector gets the same still picture."""

FRAME_S, SPEED_MPS = 0.04, 25.0
WIDTH_AT_M = 8.0
"""Distance at which the width of the lane is measured."""

Labels = Mapping[str, Sequence[Sequence[float]]]


def dashcam_lanes(folder: Path, out: Path) -> list[Figure]:
    """Figures over the stills and the video in `folder`; pictures of the detected lines go to `out/dashcam`.

    Raises ConfigError where a marked picture is missing.
    """
    labels: dict[str, Labels] = json.loads(LABELS.read_text())
    stills = [name for name in labels if "#" not in name]
    (out / "dashcam").mkdir(parents=True, exist_ok=True)
    errors: dict[str, float] = {}
    guessed_wrong: list[float] = []
    for name in stills:
        bgr = _read(folder / name)
        lanes, camera = look_at_still(bgr, DASHCAM)
        errors[name] = worst_error_px(lanes, labels[name], camera)
        cv2.imwrite(str(out / "dashcam" / f"{Path(name).stem}.png"), drawn(bgr, lanes, camera))
        for wrong_by_rad in WRONG_BY_RAD:
            seen = lanes_and_mount(bgr, replace(camera, pitch_rad=camera.pitch_rad + wrong_by_rad, yaw_rad=0.0))
            guessed_wrong.append(worst_error_px(seen.lanes, labels[name], seen.camera))
    widths: list[float] = []
    frames = 0
    for video in sorted({name.split("#")[0] for name in labels if "#" in name}):
        detector, mount = LaneDetector(), MountCalibrator(DASHCAM)
        for number, bgr in enumerate(_frames(folder / video)):
            camera = mount.update(bgr)
            image = CameraImage(Stamp(number, number * FRAME_S), camera, bgr)
            lanes = detector.update(image, SPEED_MPS, 0.0)
            frames += 1
            if lanes.left is not None and lanes.right is not None:
                widths.append(float(lanes.left.y_at(WIDTH_AT_M) - lanes.right.y_at(WIDTH_AT_M)))
            key = f"{video}#{number}"
            if key in labels:
                errors[key] = worst_error_px(lanes, labels[key], camera)
                cv2.imwrite(str(out / "dashcam" / f"{Path(video).stem}_{number:03d}.png"), drawn(bgr, lanes, camera))
    return [*_figures(errors, widths, frames), _guess_figure(guessed_wrong)]


def _figures(errors: Mapping[str, float], widths: Sequence[float], frames: int) -> list[Figure]:
    within = float(np.mean([error <= WITHIN_PX for error in errors.values()]))
    worst = max(errors.values(), default=float("nan"))
    both = len(widths) / max(frames, 1)
    spread = float(np.abs(np.array(widths) / np.median(widths) - 1.0).max()) if widths else float("nan")
    count = len(errors)
    return [
        Figure("dashcam", "both lines within 8 px", "marked pictures", within, "", count, 1.0, True),
        Figure("dashcam", "largest error of a line", "marked pictures", worst, "px", count, WITHIN_PX),
        Figure("dashcam", "both lines seen", "video", both, "", frames, 0.99, True),
        Figure("dashcam", "largest change of the lane's width", "video", spread, "", len(widths), 0.10),
    ]


def _guess_figure(errors_px: Sequence[float]) -> Figure:
    within = float(np.mean([error <= WITHIN_PX for error in errors_px]))
    group = "one look at a still, pitch guessed 4 or 8 degrees wrong"
    return Figure("dashcam", "both lines within 8 px", group, within, "", len(errors_px), 1.0, True)


def look_at_still(bgr: Image, guess: CameraModel) -> tuple[LaneEstimate, CameraModel]:
    """The lines that the detector finds when it gets one picture several times, and the self-calibrated camera."""
    camera, detector = MountCalibrator(guess).update(bgr), LaneDetector()
    for number in range(STILL_LOOKS):
        lanes = detector.update(CameraImage(Stamp(number, number * FRAME_S), camera, bgr), 0.0, 0.0)
    return lanes, camera


def worst_error_px(lanes: LaneEstimate, labels: Labels, camera: CameraModel) -> float:
    """The largest horizontal distance of either line from its marks, px; infinite if a line was not detected."""
    worst = 0.0
    for line, marks in ((lanes.left, labels["left"]), (lanes.right, labels["right"])):
        if line is None:
            return float("inf")
        rows, columns = np.array(marks, dtype=np.float64).T
        pixels = line_pixels(line, camera)
        worst = max(worst, float(np.abs(np.interp(rows, pixels[::-1, 1], pixels[::-1, 0]) - columns).max()))
    return worst


def line_pixels(line: LaneLine, camera: CameraModel, far_m: float = 80.0) -> Float:
    """Points (N, 2) px on the line, from near to far."""
    x = np.linspace(camera.x_m + 3.0, far_m, 600, dtype=np.float64)
    pixels, _ = vehicle_to_image(np.column_stack([x, line.y_at(x), np.zeros_like(x)]), camera)
    return pixels


def drawn(bgr: Image, lanes: LaneEstimate, camera: CameraModel) -> Image:
    """A copy of the picture with the lines drawn as far as they were detected."""
    canvas = bgr.copy()
    for line, colour in ((lanes.left, (60, 60, 255)), (lanes.right, (255, 80, 60))):
        if line is not None:
            pixels = np.clip(line_pixels(line, camera, max(line.x_max_m, camera.x_m + 4.0)), -9999, 9999)
            cv2.polylines(canvas, [pixels.astype(np.int32).reshape(-1, 1, 2)], False, colour, 3, cv2.LINE_AA)
    return canvas


def _read(path: Path) -> Image:
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise ConfigError(f"{path}: no such picture")
    return np.asarray(bgr, dtype=np.uint8)


def _frames(path: Path) -> Iterator[Image]:
    video = cv2.VideoCapture(str(path))
    if not video.isOpened():
        raise ConfigError(f"{path}: no such video")
    try:
        while True:
            there, bgr = video.read()
            if not there:
                return
            yield np.asarray(bgr, dtype=np.uint8)
    finally:
        video.release()
