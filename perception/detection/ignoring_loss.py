"""YOLO26's training loss that ignores detections on objects which are too small or too occluded to learn.

If such an object were trained as background, objects that are just large enough would get lower scores. So its cells
contribute nothing to the class loss, like KITTI's "don't care" areas.
"""

from __future__ import annotations

from typing import Any

import torch
from ultralytics.utils.loss import E2ELoss, v8DetectionLoss
from ultralytics.utils.tal import make_anchors


def ignoring_loss(model: Any, epochs_done: int = 0) -> Any:
    """The loss for training `model`, a YOLO26, on batches with "ignored" boxes in the format of `resident.augment`.

    A batch may also hold "unlabelled" bool, (classes,) for all pictures or (N, 1, classes) for each: the classes that
    the labels lack. Detections of these classes do not contribute to the loss. `epochs_done` restores the schedule of
    the loss when a training is resumed.
    """
    loss = E2ELoss(model, loss_fn=_IgnoringLoss)
    if epochs_done:
        loss.updates = epochs_done - 1
        loss.update()
    return loss


class _IgnoringLoss(v8DetectionLoss):  # type: ignore[misc]  # ultralytics is untyped
    """Ultralytics' detection loss without the class loss of cells that touch an ignored box."""

    def __init__(self, *options: Any, **named: Any) -> None:
        super().__init__(*options, **named)
        self._plain = torch.nn.BCEWithLogitsLoss(reduction="none")
        self.bce = self._class_loss
        self._class_loss_weight: torch.Tensor | None = None

    def loss(self, preds: dict[str, torch.Tensor], batch: dict[str, torch.Tensor]) -> Any:
        anchors, strides = make_anchors(preds["feats"], self.stride, 0.5)
        is_ignored = touches_ignored(anchors * strides, strides, batch["ignored"], batch["img"])
        self._class_loss_weight = (~is_ignored)[..., None].to(preds["scores"].dtype)
        if "unlabelled" in batch:
            self._class_loss_weight = self._class_loss_weight * ~batch["unlabelled"]
        return super().loss(preds, batch)

    def _class_loss(self, scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        assert self._class_loss_weight is not None
        has_target = targets.amax(dim=2, keepdim=True) > 0.0
        loss: torch.Tensor = self._plain(scores, targets)
        return loss * torch.where(has_target, torch.ones_like(loss), self._class_loss_weight)


def touches_ignored(
    anchors_px: torch.Tensor, strides_px: torch.Tensor, ignored: torch.Tensor, pictures: torch.Tensor
) -> torch.Tensor:
    """Whether the cell of each anchor touches an ignored box: (N, anchors) bool.

    `anchors_px` (anchors, 2) and `strides_px` (anchors, 1) give the cells; `ignored` (M, 5) holds picture, centre,
    width and height as fractions of the picture; `pictures` is (N, 3, H, W).
    """
    count, _, height, width = pictures.shape
    size = torch.tensor([width, height], device=ignored.device, dtype=ignored.dtype)
    middle, half = ignored[:, None, 1:3] * size, 0.5 * ignored[:, None, 3:5] * size
    touches = ((anchors_px - middle).abs() < half + 0.5 * strides_px).all(dim=2)
    out = torch.zeros((count, len(anchors_px)), device=ignored.device, dtype=torch.int32)
    return out.index_add_(0, ignored[:, 0].long(), touches.to(torch.int32)) > 0
