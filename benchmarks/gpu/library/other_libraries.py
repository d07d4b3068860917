"""Peers from libraries that torch does not bring: the sum by CUB, and the operators of Liger-Kernel and QuACK.

Liger is plain Python over triton: `pip download --no-deps liger-kernel` gives a wheel of 0.9 MB that can be carried
along. QuACK (`quack-kernels`) needs `nvidia-cutlass-dsl`, a compiler of 92 MB. Their operators are called by the name
of the ladder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import torch

from benchmarks.gpu.library import rotating
from cuda_ops.library.peers import EPSILON
from cuda_ops.library.reduce.op import sum_of

PEER_OPERATORS = ("softmax", "layer_norm", "rms_norm")
"""The ladders that both libraries have an operator for."""
Operators = dict[str, Callable[..., Any]]


def is_installed(library: str) -> bool:
    """Whether "liger" or "quack" can be imported."""
    return find_spec({"liger": "liger_kernel", "quack": "quack"}[library]) is not None


def peer_operator(library: str, name: str) -> Callable[..., Any]:
    """The operator of "liger" or "quack", with the arguments of ours. Raises `ImportError` if it is not installed."""
    return {"liger": _liger, "quack": _quack}[library]()[name]


def _liger() -> Operators:
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return {
        "softmax": LigerSoftmaxFunction.apply,
        "layer_norm": lambda x, weight, bias: LigerLayerNormFunction.apply(x, weight, bias, EPSILON),
        "rms_norm": lambda x, weight: LigerRMSNormFunction.apply(x, weight, EPSILON, 0.0, "llama", False),
    }


def _quack() -> Operators:
    """Its LayerNorm takes no weights but those of float32, which are made here: a few KiB beside the rows."""
    from quack.rmsnorm import layernorm_fwd, rmsnorm_fwd
    from quack.softmax import softmax_fwd

    return {
        "softmax": softmax_fwd,
        "layer_norm": lambda x, weight, bias: layernorm_fwd(x, wide(weight), wide(bias), EPSILON),
        "rms_norm": lambda x, weight: rmsnorm_fwd(x, weight, eps=EPSILON)[0],
    }


_WIDE: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}


def wide(weight: torch.Tensor) -> torch.Tensor:
    """The weights as float32, made once: a call does not pay for it."""
    if weight.dtype == torch.float32:
        return weight
    known = _WIDE.get(weight.data_ptr())
    if known is None or known[0] is not weight:
        known = _WIDE[weight.data_ptr()] = (weight, weight.float())
    return known[1]


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
