"""The peers of our operators, by the name of the ladder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch.nn import functional

from benchmarks.gpu.library import rotating
from benchmarks.gpu.library.shapes import EPSILON
from cuda_ops.library.reduce.op import sum_of


def _normed_sum(total: torch.Tensor, norm: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return total, norm(total)


TORCH: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "sum": torch.sum,
    "dot": torch.dot,
    "max": torch.max,
    "mean": torch.mean,
    "softmax": lambda x: functional.softmax(x, -1),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
    "layer_norm": lambda x, weight, bias: functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON),
    "rms_norm": lambda x, weight: functional.rms_norm(x, x.shape[-1:], weight, EPSILON),
    "residual_layer_norm": lambda x, residual, weight, bias: _normed_sum(
        x + residual, lambda total: functional.layer_norm(total, total.shape[-1:], weight, bias, EPSILON)
    ),
    "residual_rms_norm": lambda x, residual, weight: _normed_sum(
        x + residual, lambda total: functional.rms_norm(total, total.shape[-1:], weight, EPSILON)
    ),
    "layer_norm_softmax": lambda x, weight, bias: functional.softmax(
        functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON), -1
    ),
    "relu_backward": lambda gradient, y: torch.ops.aten.threshold_backward(gradient, y, 0),
    "sigmoid_backward": torch.ops.aten.sigmoid_backward,
    "softmax_backward": lambda gradient, y: torch.ops.aten._softmax_backward_data(gradient, y, -1, y.dtype),
    "log_softmax_backward": lambda gradient, y: torch.ops.aten._log_softmax_backward_data(gradient, y, -1, y.dtype),
    "layer_norm_backward": lambda gradient, x, weight, mean, scale: torch.ops.aten.native_layer_norm_backward(
        gradient, x, x.shape[-1:], mean, scale, weight, weight, [True, True, True]
    ),
    "rms_norm_backward": lambda gradient, x, weight, scale: torch.ops.aten._fused_rms_norm_backward(
        gradient, x, x.shape[-1:], scale, weight, [True, True]
    ),
}


def more_for(name: str, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What torch's operator takes besides our arguments: for the gradients of norms, what its forward pass kept."""
    if name == "layer_norm_backward":
        _, x, weight = inputs
        return list(torch.ops.aten.native_layer_norm(x, x.shape[-1:], weight, weight, EPSILON)[1:])
    if name == "rms_norm_backward":
        _, x, weight = inputs
        return [torch.ops.aten._fused_rms_norm(x, x.shape[-1:], weight, EPSILON)[1]]
    return []


def time_cub(bench: Any) -> None:
    """The sum of 2^30 float32 by CUB, as cupy calls it, beside ours and torch's."""
    import cupy
    from cupy.cuda import cub

    held: list[torch.Tensor] = []

    def allocate(size: int) -> Any:
        held.append(torch.empty(max(size, 1), dtype=torch.uint8, device="cuda"))
        memory = cupy.cuda.UnownedMemory(held[-1].data_ptr(), max(size, 1), held[-1])
        return cupy.cuda.MemoryPointer(memory, 0)

    cupy.cuda.set_allocator(allocate)  # torch's memory, which a capture may take
    sets = [torch.randn(1 << 30, device="cuda") for _ in range(2)]
    arrays = [cupy.from_dlpack(x) for x in sets]

    def call(i: int) -> Any:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            found = cub.cub_reduction(arrays[i], cub.CUPY_CUB_SUM)
        if found is None:
            raise RuntimeError("cupy does not take CUB for this sum")
        return found

    near = float(call(0)) / float(sum_of(sets[0]))
    contenders: dict[str, rotating.Call] = {
        "CUB": call,
        "ours": lambda i: sum_of(sets[i]),
        "torch": lambda i: torch.sum(sets[i]),
    }
    for name, times in rotating.in_turn(contenders, 2).items():
        bench.add("cub", {"contender": name, "bytes": 4 << 30, "ratio_of_results": near} | asdict(times))
