"""Quantizes an exported network to eight bits (post-training quantization by NNCF, calibrated on pictures).

On a processor with VNNI the eight-bit network takes half the time. The head, which computes boxes and scores, stays in
floating point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.errors import ConfigError, install_hint
from perception.detection.detector import letterbox
from perception.detection.offline import openvino
from perception.detection.weights import Exported

PICTURES = 300
"""Number of calibration pictures."""


def quantize(network: Exported, pictures: Sequence[Path]) -> None:
    """Replace `network` by its eight-bit version, calibrated on `pictures`, files like those it will process.

    Raises ConfigError if there are fewer than `PICTURES`, or NNCF is not installed.
    """
    if len(pictures) < PICTURES:
        raise ConfigError(f"{len(pictures)} pictures: calibration needs {PICTURES}")
    ov = openvino()  # imported before nncf, whose import of openvino would send usage reports
    try:
        import nncf
    except ModuleNotFoundError:
        raise ConfigError("nncf is not installed; " + install_hint("train")) from None
    model = ov.Core().read_model(network.model)
    chosen = np.random.default_rng(0).choice(len(pictures), PICTURES, replace=False)
    data = nncf.Dataset([pictures[i] for i in sorted(chosen)], lambda path: _input(path, network.size_px))
    small = nncf.quantize(
        model,
        data,
        preset=nncf.QuantizationPreset.MIXED,
        subset_size=PICTURES,
        ignored_scope=nncf.IgnoredScope(patterns=[_head(model)]),
        # Processors without VNNI add products in 16 bits: 7-bit weights cannot overflow there and give equal results.
        advanced_parameters=nncf.AdvancedQuantizationParameters(overflow_fix=nncf.OverflowFix.ENABLE),
    )
    with TemporaryDirectory(dir=network.model.parent) as work:
        made = Path(work) / network.model.name
        ov.save_model(small, made, compress_to_fp16=True)
        made.write_text(without_indentation(made.read_text()))
        for suffix in (".bin", ".xml"):
            made.with_suffix(suffix).replace(network.model.with_suffix(suffix))


def without_indentation(xml: str) -> str:
    """A network's .xml without line breaks and indentation, a sixth of its text; OpenVINO reads the same network."""
    return re.sub(r">\s+<", "><", xml)


def _input(path: Path, size_px: tuple[int, int]) -> NDArray[np.float32]:
    """The picture in the format of the exported network: RGB, 0 to 1, channels first."""
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise ConfigError(f"{path} is not a picture")
    picture, _ = letterbox(np.asarray(bgr, dtype=np.uint8), size_px)
    return np.ascontiguousarray(picture[:, :, ::-1].transpose(2, 0, 1))[None].astype(np.float32) / 255.0


def _head(model: Any) -> str:
    """A pattern that matches the operations of the network's last module, its head."""
    numbers = [re.search(r"model\.(\d+)\.", node.get_friendly_name()) for node in model.get_ordered_ops()]
    last = max(int(found.group(1)) for found in numbers if found)
    return rf".*model\.{last}[./].*"
