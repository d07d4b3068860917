"""Quantizes a detector to eight bits: measures ranges and sensitivities on pictures, writes the network for the CPU."""

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
"""Number of pictures on which the sensitivity of each layer is measured."""


@dataclass(frozen=True, slots=True)
class QuantizationSpec:
    """Options of a quantization.

    * `calibrator`: one of `CALIBRATORS`.
    * `per_channel`: one scale of the weights for each output channel instead of one for each layer.
    * `keep`: number of the most sensitive layers that stay in floating point.
    * `pictures`: number of pictures on which ranges are measured.
    * `onnx`: also write the network as ONNX.
    """

    calibrator: str
    per_channel: bool = True
    keep: int = 0
    pictures: int = 300
    onnx: bool = False


def quantize_detector(weights: Path, paths: Sequence[Path], spec: QuantizationSpec, out: Path) -> dict[str, Any]:
    """Write the eight-bit network of `weights`, a copy of the weights beside it and `quantization.json` to `out`.

    `paths` are pictures like those that the network will process. A network of quantization-aware training keeps the
    ranges of its training. Returns the content of `quantization.json`. Raises ConfigError for a file that is not a
    picture.
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
    """The ranges of a network that was trained in eight bits, by layer."""
    return {name: module.range for name, module in model.named_modules() if isinstance(module, QuantizedConv2d)}


def _write(
    small: Any, weights: Path, spec: QuantizationSpec, out: Path, about: dict[str, Any], ranges: Mapping[str, Range]
) -> dict[str, Any]:
    """Write `small`, the network in eight bits, a copy of `weights`, and `quantization.json`."""
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
    """The picture in the format of the network: (1, 3, height, width), RGB, 0 to 1."""
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise ConfigError(f"{path} is not a picture")
    picture, _ = letterbox(np.asarray(bgr, dtype=np.uint8), COMPACT_SIZE_PX)
    return torch.from_numpy(np.ascontiguousarray(picture[:, :, ::-1])).permute(2, 0, 1)[None].float() / 255.0
