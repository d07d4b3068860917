"""Peers of the whole frame, timed on the same machine: ultralytics' predict, and lanes by OpenCV."""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.gpu.timing import on_cpu, use_all_cores
from cuda_ops.lanes import reference as lanes_reference
from cuda_ops.lanes.host import WHITE, YELLOW, GroundCamera, GroundGrid
from perception.detection.offline import ultralytics

GROUND_CAMERA = GroundCamera((0.0, -1.0, 0.0, -0.1, 0.0, 1.5, 1.0, 0.0, 0.15), 700.0, 700.0, 640.0, 360.0)
GROUND = GroundGrid(400, 256, 44.0, 12.8, 0.1)
VOTES_MIN, LENGTH_PX, GAP_PX = 30, 10, 10


def weights() -> Path:
    """The trained weights if they are there, else a model with random weights: speed does not depend on them."""
    trained = Path(__file__).parents[2] / "perception" / "weights" / "detector_s.pt"
    return trained if trained.is_file() else Path("yolo26s.yaml")


def peers(bgra: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Time of each peer on the picture's bytes, microseconds."""
    bgr, above = np.ascontiguousarray(bgra[..., :3]), _from_above()
    model = ultralytics().YOLO(str(weights()))
    use_all_cores()

    def predict() -> Any:
        options = {"imgsz": (384, 640), "device": 0, "verbose": False, "nms": False, "quantize": 16}
        return model.predict(bgr, **options)[0].boxes.data.cpu().numpy()

    found: dict[str, Any] = {"OpenCV lanes on the CPU": on_cpu(lambda: opencv_lanes(bgra, above), 49)}
    try:
        for _ in range(10):
            predict()
        found["ultralytics predict, fp16"] = on_cpu(predict, 99)
    except (ImportError, AttributeError, RuntimeError, TypeError, SyntaxError) as error:
        found["note"] = f"ultralytics: {str(error).splitlines()[0][:120]}"
    return found


def opencv_lanes(bgra: np.ndarray[Any, Any], above: np.ndarray[Any, Any]) -> Any:
    """The same steps as in the graph: perspective warp to the ground, two colour ranges, Canny, segments."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    view = cv2.warpPerspective(bgra, above, (GROUND.columns, GROUND.rows), flags=flags)
    hls = cv2.cvtColor(view, cv2.COLOR_BGR2HLS)
    white, yellow = (np.asarray(cv2.inRange(hls, kind.low, kind.high), np.uint8) for kind in (WHITE, YELLOW))
    mask = white & 1 | yellow & 2
    edges = cv2.Canny(mask, 1, 2)
    return cv2.HoughLinesP(edges, 1.0, pi / 180.0, VOTES_MIN, minLineLength=LENGTH_PX, maxLineGap=GAP_PX)


def _from_above() -> np.ndarray[Any, Any]:
    """Homography (3, 3) from ground cells to picture pixels; `GROUND_CAMERA` has no distortion."""
    px, py, _ = lanes_reference.places(GROUND_CAMERA, GROUND)
    rows, columns = np.array([100, 100, 390, 390]), np.array([0, 255, 0, 255])
    cells = np.stack([columns, rows], axis=1).astype(np.float32)
    pixels = np.stack([px[rows, columns], py[rows, columns]], axis=1).astype(np.float32)
    return np.asarray(cv2.getPerspectiveTransform(cells, pixels))
