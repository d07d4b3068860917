"""What makes ultralytics' YOLO26 quick on a GPU at one picture a time: its many small kernels wait for one another.

docs/cuda.md tells what each step brings.
"""

from __future__ import annotations

from typing import Any

import torch

from cuda_ops.bias_silu.op import bias_silu
from cuda_ops.frame import Branch
from cuda_ops.max_pool.op import max_pool
from perception.on_gpu.convolutions import use_own_convolutions


def quicken(model: Any) -> None:
    """Change a fused `model` in half precision on a GPU in place; it gives the same rows, in any order."""
    model.to(memory_format=torch.channels_last)
    join_bias_and_activation(model)
    use_own_convolutions(model)
    use_own_max_pool(model)
    run_levels_side_by_side(model.model[-1])
    leave_unsorted(model.model[-1])


def join_bias_and_activation(model: Any) -> None:
    """Make one kernel of what torch runs as two after each convolution."""

    def joined(conv: torch.nn.Conv2d, bias: torch.Tensor) -> Any:
        weight, shape = conv.weight, (conv.stride, conv.padding, conv.dilation, conv.groups)
        return lambda x: bias_silu(torch.nn.functional.conv2d(x, weight, None, *shape), bias)

    for module in model.modules():
        conv: Any = getattr(module, "conv", None)
        is_pair = isinstance(conv, torch.nn.Conv2d) and isinstance(getattr(module, "act", None), torch.nn.SiLU)
        if is_pair and conv.bias is not None:  # batch normalization is in it already
            module.forward = joined(conv, conv.bias)


def join_residual(model: Any) -> None:
    """Where a block adds its input to what its last convolution made, let the kernel after the convolution do it."""

    def joined(block: Any) -> Any:
        conv, bias = block.cv2.conv, block.cv2.conv.bias
        weight, shape = conv.weight, (conv.stride, conv.padding, conv.dilation, conv.groups)
        return lambda x: bias_silu(torch.nn.functional.conv2d(block.cv1(x), weight, None, *shape), bias, x)

    for module in model.modules():
        last: Any = getattr(module, "cv2", None)
        is_block = type(module).__name__ == "Bottleneck" and module.add
        if is_block and isinstance(getattr(last, "act", None), torch.nn.SiLU) and last.conv.bias is not None:
            module.forward = joined(module)


def use_own_max_pool(model: Any) -> None:
    """torch's maxima, channels last, keep their places too, at many times the cost."""

    def own(size: int) -> Any:
        return lambda x: max_pool(x, size)

    for module in model.modules():
        if isinstance(module, torch.nn.MaxPool2d):
            size, stride, padding = module.kernel_size, module.stride, module.padding
            if isinstance(size, int) and size % 2 and stride == 1 and padding == size // 2:
                module.forward = own(size)


def run_levels_side_by_side(head: Any) -> None:
    """Let the head's boxes and scores of each level run on a stream of their own: one alone fills little of a GPU."""
    branches = [(Branch(), Branch()) for _ in range(head.nl)]

    def forward_head(x: list[torch.Tensor], box_head: Any = None, cls_head: Any = None) -> dict[str, Any]:
        if box_head is None or cls_head is None:
            return {}
        boxes, scores = [], []
        for level, (for_boxes, for_scores), of_boxes, of_scores in zip(x, branches, box_head, cls_head, strict=True):
            with for_boxes.beside():
                boxes.append(of_boxes(level).flatten(2))
            with for_scores.beside():
                scores.append(of_scores(level).flatten(2))
        for branch in (branch for pair in branches for branch in pair):
            branch.join()
        return {"boxes": torch.cat(boxes, dim=-1), "scores": torch.cat(scores, dim=-1), "feats": x}

    head.forward_head = forward_head


def leave_unsorted(head: Any) -> None:
    """The best rows need no order: whoever takes them sorts what is above a score."""

    def best(x: torch.Tensor, k: int, groups: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
        values, index = x.topk(k, dim=1, sorted=False)
        return values, index

    head._grouped_topk = best
