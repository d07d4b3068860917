"""The operators on torch tensors, by the name of their ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda_ops.library.activation.op import relu, relu_backward, sigmoid, sigmoid_backward
from cuda_ops.library.add.op import add
from cuda_ops.library.matmul.op import matmul
from cuda_ops.library.matmul_batches.op import matmul_batches, matmul_half_batches
from cuda_ops.library.matmul_fused.op import matmul_relu, matmul_residual, matmul_silu
from cuda_ops.library.matmul_half.op import matmul_half
from cuda_ops.library.matmul_parts.op import matmul_parts
from cuda_ops.library.matmul_quantized.op import matmul_fp8, matmul_int8
from cuda_ops.library.matmul_rows.op import matmul_layer_norm, matmul_softmax
from cuda_ops.library.matmul_sparse.op import matmul_sparse
from cuda_ops.library.matmul_tf32.op import matmul_tf32
from cuda_ops.library.norm.op import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from cuda_ops.library.norm_residual.op import residual_layer_norm, residual_rms_norm
from cuda_ops.library.norm_softmax.op import layer_norm_softmax
from cuda_ops.library.reduce.op import dot, max_of, mean_of, sum_of
from cuda_ops.library.softmax.op import log_softmax, log_softmax_backward, softmax, softmax_backward

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": add,
    "relu": relu,
    "sigmoid": sigmoid,
    "sum": sum_of,
    "dot": dot,
    "max": max_of,
    "mean": mean_of,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "residual_layer_norm": residual_layer_norm,
    "residual_rms_norm": residual_rms_norm,
    "layer_norm_softmax": layer_norm_softmax,
    "relu_backward": relu_backward,
    "sigmoid_backward": sigmoid_backward,
    "softmax_backward": softmax_backward,
    "log_softmax_backward": log_softmax_backward,
    "layer_norm_backward": layer_norm_backward,
    "rms_norm_backward": rms_norm_backward,
    "matmul": matmul,
    "matmul_half": matmul_half,
    "matmul_sparse": matmul_sparse,
    "matmul_parts": matmul_parts,
    "matmul_tf32": matmul_tf32,
    "matmul_fp8": matmul_fp8,
    "matmul_int8": matmul_int8,
    "matmul_residual": matmul_residual,
    "matmul_relu": matmul_relu,
    "matmul_silu": matmul_silu,
    "matmul_softmax": matmul_softmax,
    "matmul_layer_norm": matmul_layer_norm,
    "matmul_batches": matmul_batches,
    "matmul_half_batches": matmul_half_batches,
}
