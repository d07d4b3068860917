"""A training loss that adds the outputs of a trained detector, the teacher, to what the labels ask.

The teacher sees each augmented picture too. For every cell it gives a score of each class and a box, where labels tell
only the cells that an object is assigned to, so a network learns more from a picture (Hinton et al., 2015). It applies
to the head in which several cells find one object; the one-to-one head learns from labels alone, since which of the
cells near an object's centre answers is arbitrary.
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
"""Both heads: for a teacher that the network was made of, by pruning or rounding."""


class DistillingLoss:
    """The criterion `labels`, a loss of `ignoring_loss`, plus `weight` times the distance to the teacher's outputs.

    The teacher must have the same classes and strides. `branches` are the heads that learn from it. Everything else is
    `labels`'.
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
        """Follow the schedule of `labels`, after each epoch."""
        self._labels.update()

    @property
    def updates(self) -> int:
        """Epochs for which the schedule has been followed."""
        return int(self._labels.updates)

    def __getstate__(self) -> dict[str, Any]:
        """A checkpoint holds the schedule alone: the teacher has a file of its own."""
        return {**self.__dict__, "_teacher": None}

    def _floats(self, preds: dict[str, Any]) -> dict[str, dict[str, torch.Tensor]]:
        return {
            branch: {name: preds[branch][name].float() for name in ("scores", "boxes")} for branch in self._branches
        }


def load_teacher(weights: Path, device: Any) -> Any:
    """The network of a weights file, fixed, with batch norm folded into its convolutions; gives training's outputs."""
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
