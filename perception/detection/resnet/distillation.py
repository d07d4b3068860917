"""Knowledge distillation: a training loss of the labels plus the distance to the outputs of a trained detector.

The trained detector, the teacher, gets each augmented picture too. It gives class scores and a box for every cell,
while labels only concern the cells that an object is assigned to. So a network learns more from a picture (Hinton et
al., 2015). The distance is taken in the head in which several cells find one object. The one-to-one head learns from
the labels alone, because it is arbitrary which of the cells near an object's centre finds the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from ultralytics.nn.modules import Conv
from ultralytics.utils.torch_utils import fuse_conv_and_bn

from perception.detection.finetune import keep_loss, load_weights

BRANCH = "one2many"
BOTH = (BRANCH, "one2one")
"""Both heads learn from the teacher. For a network that was made from the teacher by pruning or quantization."""


class DistillingLoss:
    """The loss `labels` (of `ignoring_loss`) plus `weight` times the distance to the teacher's outputs.

    The teacher must have the same classes and strides. `branches` are the heads that learn from it. All other
    attributes are those of `labels`.
    """

    def __init__(self, labels: Any, teacher: Any, weight: float, branches: Sequence[str] = (BRANCH,)) -> None:
        self._labels, self._teacher, self._weight, self._branches = labels, teacher, weight, tuple(branches)

    def __call__(self, preds: Any, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        loss, items = self._labels(preds, batch)
        found = self._labels.one2many.parse_output(preds)
        pictures = batch["img"]
        with torch.no_grad():
            wanted = self._teacher(pictures)
        with torch.autocast(pictures.device.type, enabled=False):  # cross-entropy of probabilities needs float32
            kept = keep_loss(self._floats(found), self._floats(wanted), branches=self._branches)
        count = len(pictures)  # ultralytics' losses are sums over the pictures
        return torch.cat([loss, self._weight * kept[None] * count]), {**items, "teacher": kept.detach()}

    def update(self) -> None:
        """Advance the schedule of `labels`; call it after each epoch."""
        self._labels.update()

    @property
    def updates(self) -> int:
        """Number of epochs by which the schedule has advanced."""
        return int(self._labels.updates)

    def __getstate__(self) -> dict[str, Any]:
        """The state for a checkpoint: the schedule, without the teacher, which has a file of its own."""
        return {**self.__dict__, "_teacher": None}

    def _floats(self, preds: dict[str, Any]) -> dict[str, dict[str, torch.Tensor]]:
        return {
            branch: {name: preds[branch][name].float() for name in ("scores", "boxes")} for branch in self._branches
        }


def load_teacher(weights: Path, device: Any) -> Any:
    """The network of a weights file, with fixed weights and folded batch norm, in the mode that gives both heads."""
    model = load_weights(weights, str(device)).eval()
    fold_batch_norm(model)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    model.model[-1].training = True  # the head then gives both branches
    return model.to(memory_format=torch.channels_last)


def fold_batch_norm(model: Any) -> None:
    """Fold batch norm into the convolutions of both heads and of the rest, in place."""
    for module in model.modules():
        if isinstance(module, Conv) and hasattr(module, "bn"):
            module.conv = fuse_conv_and_bn(module.conv, module.bn)
            del module.bn
            module.forward = module.forward_fuse
