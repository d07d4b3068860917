"""Detectors for quantization: loaded with batch norm folded, run on batches, and converted to OpenVINO's format."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from perception.detection.offline import openvino, ultralytics
from perception.detection.resnet.network import fuse_backbone
from perception.detection.weights import Exported
from perception.networks.fake_quantization import QuantizedConv2d, quantizable


def folded_detector(weights: Path, device: str = "cpu") -> Any:
    """The detector of a weights file in float32, with fixed weights and the one-to-one head only.

    The network returns rows (N, 300, 6) and the outputs of its head.
    """
    model = ultralytics().YOLO(str(weights)).model.float()
    model.end2end = True
    folded = model.fuse(verbose=False).eval().to(device)
    fuse_backbone(folded)
    for parameter in folded.parameters():
        parameter.requires_grad_(False)
    return folded


def body_layers(model: Any) -> list[str]:
    """Names of the convolutions outside the head; the head needs more than eight bits for boxes and scores."""
    head = f"model.{len(model.model) - 1}."
    return quantizable(model, lambda name: name.startswith(head))


def head_scores(model: Any, pictures: torch.Tensor) -> torch.Tensor:
    """The scores (N, classes, cells) of the one-to-one head before the sigmoid."""
    found: torch.Tensor = model(pictures)[1]["one2one"]["scores"]
    return found


def write_network(model: Any, weights: Path, size_px: tuple[int, int], folder: Path) -> Exported:
    """Write `model`, made from the file `weights`, in OpenVINO's format to `folder`, like `weights.export`.

    OpenVINO computes convolutions of quantized values in eight bits. The scales of weights are fixed in `model`.
    """
    ov = openvino()
    for module in model.modules():
        if isinstance(module, QuantizedConv2d):
            module.freeze()
    head = model.model[-1]
    head.export, head.format = True, "openvino"
    picture = torch.zeros((1, 3, size_px[1], size_px[0]))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch\.jit|ultralytics")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        model(picture)  # computes the head's anchors for this picture size
        traced = torch.jit.trace(model, picture, strict=False, check_trace=False)
    made = ov.convert_model(traced, input=list(picture.shape))
    head.export = False
    stem = f"{weights.stem}_{size_px[0]}x{size_px[1]}"
    names = tuple(model.names[number] for number in range(len(model.names)))
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as work:
        ov.save_model(made, Path(work) / f"{stem}.xml", compress_to_fp16=True)
        about = Path(work) / f"{stem}.json"
        digest = hashlib.sha256(weights.read_bytes()).hexdigest()
        about.write_text(json.dumps({"weights_sha256": digest, "names": names}, indent=1) + "\n")
        for suffix in (".bin", ".xml", ".json"):
            (Path(work) / f"{stem}{suffix}").replace(folder / f"{stem}{suffix}")
    return Exported(folder / f"{stem}.xml", size_px, names)
