"""Quantizes a detector to eight bits: ranges from pictures, sensitivity of each layer, the network for the CPU."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from av_core.errors import ConfigError
from perception.detection.detector import letterbox
from perception.detection.weights import COMPACT_SIZE_PX
from perception.networks.calibration import CALIBRATORS, Range, histograms
from perception.networks.detectors import body_layers, folded_detector, head_scores, write_network
from perception.networks.fake_quantization import QuantizedConv2d, quantized, rounds, sensitivities
from perception.networks.onnx_export import write_onnx

JUDGED = 2
"""Pictures on which the sensitivity of each layer is measured."""


@dataclass(frozen=True, slots=True)
class QuantizationSpec:
    """`calibrator` is one of `CALIBRATORS`; `keep` of the most sensitive layers stay in floating point.

    With `onnx` the network is written as ONNX too.
    """

    calibrator: str
    per_channel: bool = True
    keep: int = 0
    pictures: int = 300
    onnx: bool = False


def quantize_detector(weights: Path, paths: Sequence[Path], spec: QuantizationSpec, out: Path) -> dict[str, Any]:
    """Write the eight-bit network of `weights`, a copy of the weights beside it and `quantization.json` to `out`.

    `paths` are pictures like those that the network will see. A network of quantization-aware training keeps the ranges
    that it was trained with. Returns what `quantization.json` holds. Raises ConfigError for a file that is no picture.
    """
    model = folded_detector(weights)
    if rounds(model):
        return _write(model, weights, spec, out, {"trained": True, "kept": [], "sensitivity": {}}, own_ranges(model))
    chosen = np.random.default_rng(0).choice(len(paths), spec.pictures, replace=False)
    taken = [paths[i] for i in sorted(chosen)]

    def run() -> None:
        for path in taken:
            model(_input(path))

    seen = histograms(model, body_layers(model), run)
    ranges = {name: CALIBRATORS[spec.calibrator](one) for name, one in seen.items()}
    some = torch.cat([_input(path) for path in taken[:: max(len(taken) // JUDGED, 1)][:JUDGED]])
    sensitivity = sensitivities(model, ranges, lambda one: head_scores(one, some), spec.per_channel)
    kept = list(sensitivity)[: spec.keep]
    small = quantized(model, ranges, spec.per_channel, kept)
    return _write(small, weights, spec, out, {"trained": False, "kept": kept, "sensitivity": sensitivity}, ranges)


def own_ranges(model: Any) -> dict[str, Range]:
    """The ranges that a network computes in eight bits with, by layer."""
    return {name: module.range for name, module in model.named_modules() if isinstance(module, QuantizedConv2d)}


def _write(
    small: Any, weights: Path, spec: QuantizationSpec, out: Path, about: dict[str, Any], ranges: Mapping[str, Range]
) -> dict[str, Any]:
    """Write the network `small` that computes in eight bits, the weights and the record."""
    out.mkdir(parents=True, exist_ok=True)
    copy = out / weights.name
    if not (copy.exists() and copy.samefile(weights)):
        shutil.copyfile(weights, copy)
    made = write_network(small, copy, COMPACT_SIZE_PX, out)
    if spec.onnx:
        write_onnx(small, COMPACT_SIZE_PX, made.model.with_suffix(".onnx"))
    record = {
        **asdict(spec), "weights": weights.name, **about,
        "ranges": {name: [given.low, given.high] for name, given in ranges.items()},
    }  # fmt: skip
    (out / "quantization.json").write_text(json.dumps(record, indent=1) + "\n")
    return record


def _input(path: Path) -> torch.Tensor:
    """The picture as the network takes it (1, 3, height, width), RGB, 0 to 1."""
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise ConfigError(f"{path} is no picture")
    picture, _ = letterbox(np.asarray(bgr, dtype=np.uint8), COMPACT_SIZE_PX)
    return torch.from_numpy(np.ascontiguousarray(picture[:, :, ::-1])).permute(2, 0, 1)[None].float() / 255.0
