"""The operators on torch tensors, by the name of their ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda_ops.library.activation.op import relu, relu_backward, sigmoid, sigmoid_backward
from cuda_ops.library.add.op import add
from cuda_ops.library.norm.op import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from cuda_ops.library.reduce.op import dot, sum_of
from cuda_ops.library.softmax.op import softmax, softmax_backward

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": add,
    "relu": relu,
    "sigmoid": sigmoid,
    "sum": sum_of,
    "dot": dot,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "relu_backward": relu_backward,
    "sigmoid_backward": sigmoid_backward,
    "softmax_backward": softmax_backward,
    "layer_norm_backward": layer_norm_backward,
    "rms_norm_backward": rms_norm_backward,
}
