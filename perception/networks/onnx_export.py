"""Writes a network as ONNX; one in eight bits gets pairs of QuantizeLinear and DequantizeLinear (QDQ).

Runtimes that know the format fold the pairs into their eight-bit operators: ONNX Runtime, OpenVINO and TensorRT.
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
    """What a file holds: the number of each operator, and the shapes of its input and output."""

    operators: dict[str, int]
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]


def write_onnx(model: Any, size_px: tuple[int, int], path: Path) -> OnnxSummary:
    """Write a detector, float or `quantized`, for pictures of `size_px` (width, height); the scales become constants.

    The file is checked: ONNX infers the shape of every value, and those of input and output are the detector's. Raises
    ConfigError where onnx is not installed, ValueError where a shape is another.
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
        warnings.simplefilter("ignore")  # noise of tracing, and that this exporter is the older one
        model(picture)  # makes the head's anchors of this size
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
