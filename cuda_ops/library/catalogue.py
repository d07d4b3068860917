"""All ladders of the library, in the order in which to read them."""

from __future__ import annotations

from cuda_ops.library.activation.ladder import RELU, SIGMOID
from cuda_ops.library.activation_backward.ladder import RELU_BACKWARD, SIGMOID_BACKWARD
from cuda_ops.library.add.ladder import ADD
from cuda_ops.library.matmul.ladder import MATMUL
from cuda_ops.library.matmul_batches.ladder import MATMUL_BATCHES, MATMUL_HALF_BATCHES
from cuda_ops.library.matmul_fused.ladder import MATMUL_RELU, MATMUL_RESIDUAL, MATMUL_SILU
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF
from cuda_ops.library.matmul_parts.ladder import MATMUL_PARTS
from cuda_ops.library.matmul_quantized.ladder import MATMUL_FP8, MATMUL_INT8
from cuda_ops.library.matmul_rows.ladder import MATMUL_LAYER_NORM, MATMUL_SOFTMAX
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE
from cuda_ops.library.matmul_tf32.ladder import MATMUL_TF32
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.norm_backward.ladder import LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD
from cuda_ops.library.norm_residual.ladder import RESIDUAL_LAYER_NORM, RESIDUAL_RMS_NORM
from cuda_ops.library.norm_softmax.ladder import LAYER_NORM_SOFTMAX
from cuda_ops.library.reduce.ladder import DOT, MAX, MEAN, SUM
from cuda_ops.library.softmax.ladder import LOG_SOFTMAX, SOFTMAX
from cuda_ops.library.softmax_backward.ladder import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD

LADDERS = (
    ADD,
    RELU,
    SIGMOID,
    SUM,
    DOT,
    MAX,
    MEAN,
    SOFTMAX,
    LOG_SOFTMAX,
    LAYER_NORM,
    RMS_NORM,
    RESIDUAL_LAYER_NORM,
    RESIDUAL_RMS_NORM,
    LAYER_NORM_SOFTMAX,
    RELU_BACKWARD,
    SIGMOID_BACKWARD,
    SOFTMAX_BACKWARD,
    LOG_SOFTMAX_BACKWARD,
    LAYER_NORM_BACKWARD,
    RMS_NORM_BACKWARD,
    MATMUL,
    MATMUL_HALF,
    MATMUL_SPARSE,
    MATMUL_PARTS,
    MATMUL_TF32,
    MATMUL_FP8,
    MATMUL_INT8,
    MATMUL_RESIDUAL,
    MATMUL_RELU,
    MATMUL_SILU,
    MATMUL_SOFTMAX,
    MATMUL_LAYER_NORM,
    MATMUL_BATCHES,
    MATMUL_HALF_BATCHES,
)
