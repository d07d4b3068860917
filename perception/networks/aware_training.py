"""Quantization-aware training: an eight-bit network learns to reproduce the outputs of the float network.

The float network is the teacher. `train_aware` needs no labels: it only corrects the effects of rounding.
`rounding_detector` gives a network for the detector's own training, which uses labels too. The ranges of the
activations are those of the calibration; they are not trained.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from perception.detection.finetune import keep_loss
from perception.networks.calibration import CALIBRATORS, histograms
from perception.networks.detectors import body_layers
from perception.networks.fake_quantization import quantized

BRANCH = "one2one"
GRADIENT_MAX = 10.0
WARM_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class AwareSpec:
    """Options of `train_aware`: it ends after `steps` or `seconds`, whichever comes first.

    `rate` is the largest learning rate of AdamW.
    """

    steps: int
    seconds: float = float("inf")
    rate: float = 1e-4


def train_aware(model: Any, teacher: Any, draw: Callable[[], torch.Tensor], spec: AwareSpec) -> list[float]:
    """Train `model`, made by `fake_quantization.quantized` of `teacher`, in place; returns the losses.

    Both are detectors in evaluation mode, which return rows and the head's outputs. `draw()` gives pictures
    (N, 3, H, W) in 0..1.
    """
    weights = [p.requires_grad_(True) for p in model.parameters() if p.dtype.is_floating_point]
    optimizer = torch.optim.AdamW(weights, lr=spec.rate, weight_decay=0.0)
    began, losses = time.monotonic(), []
    for step in range(spec.steps):
        share = max(step / spec.steps, (time.monotonic() - began) / spec.seconds)
        if share >= 1.0:
            break
        for group in optimizer.param_groups:
            group["lr"] = spec.rate * min((share + 1e-3) / WARM_SHARE, 1.0 - share, 1.0)
        pictures = draw()
        with torch.autocast(pictures.device.type, torch.bfloat16, enabled=pictures.device.type == "cuda"):
            with torch.no_grad():
                wanted = _floats(teacher(pictures))
            found = _floats(model(pictures))
        loss = keep_loss(found, wanted, branches=(BRANCH,))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, GRADIENT_MAX)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def rounding_detector(model: Any, pictures: Callable[[], Iterable[torch.Tensor]], calibrator: str = "max") -> Any:
    """A copy of a detector for training, with both heads, whose convolutions outside the head compute in eight bits.

    Batch norm is folded first, since the processor rounds the folded weights. The ranges are measured by `calibrator`,
    one of `CALIBRATORS`, on the batches (N, 3, H, W) in 0..1 that a call of `pictures` gives.
    """
    from perception.detection.resnet.distillation import fold_batch_norm  # imports ultralytics

    folded = copy.deepcopy(model).float().eval()
    fold_batch_norm(folded)

    def run() -> None:
        for batch in pictures():
            folded(batch)

    seen = histograms(folded, body_layers(folded), run)
    out = quantized(folded, {name: CALIBRATORS[calibrator](one) for name, one in seen.items()})
    for parameter in out.parameters():
        parameter.requires_grad_(parameter.dtype.is_floating_point)
    return out


def _floats(outputs: Any) -> dict[str, dict[str, torch.Tensor]]:
    _, heads = outputs
    return {BRANCH: {name: heads[BRANCH][name].float() for name in ("scores", "boxes")}}
