"""Weights of a detector that finds nothing: a network whose answer is zeros, as an export beside its weights file."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np

from perception.detection.offline import openvino

ROWS = 300


def write_blind_detector(folder: Path, size_px: tuple[int, int]) -> Path:
    """Write the weights with their network for pictures of `size_px` (width, height); returns their path."""
    ov = openvino()
    ops = ov.opset13
    picture = ops.parameter([1, 3, size_px[1], size_px[0]], np.float32, name="images")
    nothing = ops.multiply(ops.reduce_mean(picture, np.array([1, 2, 3]), keep_dims=False), np.float32(0.0))
    rows = ops.broadcast(ops.reshape(nothing, np.array([1, 1, 1]), False), np.array([1, ROWS, 6]))
    weights = folder / "blind.pt"
    with zipfile.ZipFile(weights, "w") as archive:  # what the command line takes for a checkpoint
        archive.writestr("blind/data.pkl", b"")
    stem = f"{weights.stem}_{size_px[0]}x{size_px[1]}"
    ov.save_model(ov.Model([rows], [picture], "blind"), folder / f"{stem}.xml")
    about = {"weights_sha256": hashlib.sha256(weights.read_bytes()).hexdigest(), "names": ["car", "pedestrian"]}
    (folder / f"{stem}.json").write_text(json.dumps(about))
    return weights
