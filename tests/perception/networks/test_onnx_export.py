"""Networks in eight bits as ONNX files: pairs of operators, shapes, and the same rows when OpenVINO reads the file."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

pytest.importorskip("onnx", reason="onnx is not installed")

from perception.detection.networks import IN_FLOATING_POINT, adds_in_32_bits  # after the check for onnx
from perception.detection.offline import openvino
from perception.detection.weights import COMPACT
from perception.networks.calibration import by_max, histograms
from perception.networks.detectors import body_layers, folded_detector
from perception.networks.fake_quantization import quantized
from perception.networks.onnx_export import write_onnx

STREET = Path(__file__).parents[1] / "pictures" / "detector_street.jpg"
SIZE_PX = (320, 192)


def test_a_file_has_a_pair_for_every_rounded_value_and_gives_the_same_rows(tmp_path: Path) -> None:
    bgr = cv2.imread(str(STREET))
    assert bgr is not None
    rgb = np.ascontiguousarray(cv2.resize(bgr, SIZE_PX, interpolation=cv2.INTER_AREA)[:, :, ::-1])
    picture = torch.from_numpy(rgb).permute(2, 0, 1)[None].float() / 255.0
    model = folded_detector(COMPACT)
    layers = body_layers(model)
    seen = histograms(model, layers, lambda: model(picture))
    small = quantized(model, {name: by_max(one) for name, one in seen.items()})
    summary = write_onnx(small, SIZE_PX, tmp_path / "small.onnx")
    assert summary.input_shape == (1, 3, SIZE_PX[1], SIZE_PX[0])
    assert summary.operators["QuantizeLinear"] == summary.operators["DequantizeLinear"] == 2 * len(layers)
    plain = write_onnx(model, SIZE_PX, tmp_path / "plain.onnx")
    assert "QuantizeLinear" not in plain.operators
    assert plain.operators["Conv"] == summary.operators["Conv"]
    core = openvino().Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", **({} if adds_in_32_bits() else IN_FLOATING_POINT)}
    compiled = core.compile_model(core.read_model(tmp_path / "small.onnx"), "CPU", options)
    found = compiled(picture.numpy())[0][0]
    with torch.no_grad():
        wanted = small(picture)[0][0].numpy()
    sure = wanted[wanted[:, 4] > 0.4]
    assert len(sure) >= 3
    for row in sure:
        same = found[found[:, 5] == row[5]]
        nearest = same[np.abs(same[:, :4] - row[:4]).max(axis=1).argmin()]
        assert nearest[:4] == pytest.approx(row[:4], abs=2.0)
        assert nearest[4] == pytest.approx(row[4], abs=0.05)
