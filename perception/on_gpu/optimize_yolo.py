"""Makes ultralytics' YOLO26 faster on single pictures, whose inference on a GPU is a sequence of many small kernels.

`optimize_yolo` changes a model in place: convolutions run in the project's kernels, and the branches of the head run in
parallel. On older GPUs torch's convolutions are kept, with bias, SiLU and residual in one kernel. docs/cuda.md gives
the gain of each step.
"""

from __future__ import annotations

from typing import Any

import torch

from cuda_ops.best_rows.op import best_rows
from cuda_ops.bias_silu.op import bias_silu
from cuda_ops.conv.op import CAPABILITY_MIN
from cuda_ops.frame import Branch
from perception.on_gpu.convolutions import is_first_layer, use_own_convolutions


def optimize_yolo(model: Any) -> bool:
    """Speed up a fused `model` with a one-to-one head, in half precision on a GPU, in place; its rows do not change.

    Rows with a score of at most the head's attribute `score_min`, which may be set at any time, are left out. Returns
    whether the model also accepts the packed pictures of `cuda_ops.preprocess`.
    """
    model.to(memory_format=torch.channels_last)
    fuse_bias_silu(model)
    has_own = not torch.cuda.is_available() or torch.cuda.get_device_capability() >= CAPABILITY_MIN
    if has_own:
        use_own_convolutions(model)
    else:
        fuse_residual(model)
    if model.model[-1].reg_max == 1:
        optimize_head(model.model[-1])
    return has_own and is_first_layer(model.model[0])


def fuse_bias_silu(model: Any) -> None:
    """Run bias and SiLU after each convolution as one kernel instead of torch's two."""

    def fused(conv: torch.nn.Conv2d, bias: torch.Tensor) -> Any:
        weight = conv.weight
        options: dict[str, Any] = {name: getattr(conv, name) for name in ("stride", "padding", "dilation", "groups")}
        return lambda x: bias_silu(torch.nn.functional.conv2d(x, weight, **options), bias)

    for module in model.modules():
        conv: Any = getattr(module, "conv", None)
        is_pair = isinstance(conv, torch.nn.Conv2d) and isinstance(getattr(module, "act", None), torch.nn.SiLU)
        if is_pair and conv.bias is not None:  # batch normalization is already folded into the weights
            module.forward = fused(conv, conv.bias)


def fuse_residual(model: Any) -> None:
    """Let the bias and SiLU kernel also add a bottleneck's input to its last convolution's output."""

    def fused(block: Any) -> Any:
        conv, bias = block.cv2.conv, block.cv2.conv.bias
        weight, shape = conv.weight, (conv.stride, conv.padding, conv.dilation, conv.groups)
        return lambda x: bias_silu(torch.nn.functional.conv2d(block.cv1(x), weight, None, *shape), bias, x)

    for module in model.modules():
        last: Any = getattr(module, "cv2", None)
        is_block = type(module).__name__ == "Bottleneck" and module.add
        if is_block and isinstance(getattr(last, "act", None), torch.nn.SiLU) and last.conv.bias is not None:
            module.forward = fused(module)


def optimize_head(head: Any) -> None:
    """Run the box and score branches of each level in parallel streams, because one branch uses little of a GPU.

    Then one kernel makes the rows of the best boxes above `head.score_min`.
    """
    branches = [(Branch(), Branch()) for _ in range(head.nl)]
    strides = [float(stride) for stride in head.stride]
    head.score_min = 0.0

    def forward(x: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, Any]]:
        boxes, scores = [], []
        box_head, score_head = head.one2one["box_head"], head.one2one["cls_head"]
        for level, (for_boxes, for_scores), of_boxes, of_scores in zip(x, branches, box_head, score_head, strict=True):
            with for_boxes.beside():
                boxes.append(of_boxes(level))
            with for_scores.beside():
                scores.append(of_scores(level))
        for branch in (branch for pair in branches for branch in pair):
            branch.join()
        return best_rows(boxes, scores, strides, head.score_min, head.max_det), {}

    head.forward = forward
