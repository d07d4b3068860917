"""The operators on torch tensors, by the name of their ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda_ops.library.activation.op import relu, sigmoid
from cuda_ops.library.add.op import add
from cuda_ops.library.norm.op import layer_norm, rms_norm
from cuda_ops.library.reduce.op import dot, sum_of
from cuda_ops.library.softmax.op import softmax

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": add,
    "relu": relu,
    "sigmoid": sigmoid,
    "sum": sum_of,
    "dot": dot,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
}
