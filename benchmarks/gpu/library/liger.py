"""Operators of Liger-Kernel beside ours, by the name of the ladder, where liger_kernel is installed.

It is plain Python over triton: `pip download --no-deps liger-kernel` gives a wheel of 0.9 MB that can be carried along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda_ops.library.peers import EPSILON

OPERATORS = ("softmax", "layer_norm", "rms_norm")


def operator(name: str) -> Callable[..., Any]:
    """Liger's operator, with the arguments of ours. Raises `ImportError` where liger_kernel is not installed."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    operators: dict[str, Callable[..., Any]] = {
        "softmax": LigerSoftmaxFunction.apply,
        "layer_norm": lambda x, weight, bias: LigerLayerNormFunction.apply(x, weight, bias, EPSILON),
        "rms_norm": lambda x, weight: LigerRMSNormFunction.apply(x, weight, EPSILON, 0.0, "llama", False),
    }
    return operators[name]
