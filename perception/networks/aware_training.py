"""Quantization-aware training: the weights of a network in eight bits learn to give the float network's outputs.

The float network is the teacher, so no labels are needed, and nothing is learnt but how to round. The ranges of the
activations stay those of the calibration.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from perception.detection.finetune import keep_loss

BRANCH = "one2one"
GRADIENT_MAX = 10.0
WARM_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class AwareSpec:
    """Ends after `steps` or `seconds`, whichever comes first. `rate` is AdamW's, at its largest."""

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


def _floats(outputs: Any) -> dict[str, dict[str, torch.Tensor]]:
    _, heads = outputs
    return {BRANCH: {name: heads[BRANCH][name].float() for name in ("scores", "boxes")}}
