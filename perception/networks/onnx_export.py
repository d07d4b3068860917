"""Writes a network as ONNX; an eight-bit network gets pairs of QuantizeLinear and DequantizeLinear (QDQ).

ONNX Runtime, OpenVINO and TensorRT fold these pairs into their eight-bit operators.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from av_core.errors import ConfigError, install_hint
from perception.networks.fake_quantization import QuantizedConv2d

OPSET = 17
"""Version of ONNX's operators; scales for each channel need 13."""

INPUT, OUTPUT = "pictures", "rows"
ROWS = (1, 300, 6)


@dataclass(frozen=True, slots=True)
class OnnxSummary:
    """Summary of an ONNX file: the number of operators of each type, and the shapes of input and output."""

    operators: dict[str, int]
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]


def write_onnx(model: Any, size_px: tuple[int, int], path: Path) -> OnnxSummary:
    """Write a detector, float or `quantized`, for pictures of `size_px` (width, height); the scales become constants.

    The file is checked: ONNX's inferred shapes of input and output must be those of the detector. Raises ConfigError if
    onnx is not installed, ValueError if a shape is wrong.
    """
    try:
        import onnx
    except ModuleNotFoundError:
        raise ConfigError("onnx is not installed; " + install_hint("onnx")) from None
    for module in model.modules():
        if isinstance(module, QuantizedConv2d):
            module.freeze()
    head = model.model[-1]
    head.export, head.format = True, "onnx"
    picture = torch.zeros((1, 3, size_px[1], size_px[0]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of tracing, and that this is torch's older exporter
        model(picture)  # computes the head's anchors for this picture size
        torch.onnx.export(
            model, (picture,), str(path), dynamo=False, opset_version=OPSET, input_names=[INPUT], output_names=[OUTPUT]
        )
    head.export = False
    written = onnx.load(str(path))
    onnx.checker.check_model(written, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(written, strict_mode=True, data_prop=True).graph
    summary = OnnxSummary(
        dict(Counter(node.op_type for node in written.graph.node)),
        _shape(inferred.input[0]),
        _shape(inferred.output[0]),
    )
    if (summary.input_shape, summary.output_shape) != (tuple(picture.shape), ROWS):
        raise ValueError(
            f"{path}: {summary.input_shape} to {summary.output_shape}, not {tuple(picture.shape)} to {ROWS}"
        )
    return summary


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(int(side.dim_value) for side in value.type.tensor_type.shape.dim)
