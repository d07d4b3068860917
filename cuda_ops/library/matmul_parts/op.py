"""The product of two float32 matrices on the tensor cores, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.library import reference
from cuda_ops.library.ladder import FLOAT32, Problem
from cuda_ops.library.matmul_parts.ladder import MATMUL_PARTS
from cuda_ops.library.product_derivative import derivative_by, keep_factors
from cuda_ops.library.run import architecture, check_factors, is_direct, run, scratch_for
from cuda_ops.runtime.registry import register


def matmul_parts(a: torch.Tensor, b: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The product of two float32 matrices, by products of bfloat16 on the tensor cores; bit-equal in every run.

    | version | error of the norm, normally distributed numbers | all numbers positive | speed |
    |---|---|---|---|
    | 1, at a depth of 16,384 (grows with the depth) | 2e-5 | 8e-5 | faster at depths above 2,048 |
    | 2 | 5e-7 | 9e-7 | slower |
    | 3, the default, at any depth | 2e-6 | 6e-6 | |

    TF32 has an error of 3e-4. It needs a GPU with sm_90, and 6 bytes of memory for each element of `a` and `b`. A
    transposed matrix is copied first. The product of two infinities gives NaN. Raises `CudaOpsError` for other dtypes
    or shapes, or another GPU.
    """
    check_factors("matmul_parts", a, b, (torch.float32,))
    if is_direct(a, b):
        return _gpu(a, b, version or 0)
    result: torch.Tensor = _matmul_parts(a, b, version or 0)
    return result


def _gpu(a: torch.Tensor, b: torch.Tensor, version: int) -> torch.Tensor:
    a, b = a.contiguous(), b.contiguous()
    (rows, depth), columns = a.shape, b.shape[1]
    if depth == 0:
        return a.new_zeros((rows, columns))
    out = a.new_empty((rows, columns))
    if rows and columns:
        problem = Problem(FLOAT32, rows, columns, 1, architecture(a.get_device()), depth=depth)
        scratch = scratch_for(MATMUL_PARTS, problem, a.device)
        arrays = (a, b, out, *scratch.values())
        run(MATMUL_PARTS, version, a, [one.data_ptr() for one in arrays], rows, columns, depth=depth)
    return out


_matmul_parts = register(
    "library_matmul_parts(Tensor a, Tensor b, int version) -> Tensor",
    _gpu,
    lambda a, b, version: reference.matmul(a, b),
    lambda a, b, version: a.new_empty((a.shape[0], b.shape[1])),
    derivative_by(matmul_parts),
    keep_factors,
)
