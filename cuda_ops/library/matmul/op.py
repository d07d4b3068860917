"""The product of two float32 matrices on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.library import reference
from cuda_ops.library.matmul.ladder import MATMUL
from cuda_ops.library.matmul_batches.op import matmul_batches
from cuda_ops.library.product_derivative import derivative_by, keep_factors
from cuda_ops.library.run import architecture, as_it_lies, check_factors, is_direct, run
from cuda_ops.runtime.registry import register

LAYOUTS = 9
"""Number of the version that reads transposed matrices."""


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    version: int | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    c: torch.Tensor | None = None,
) -> torch.Tensor:
    """The product of two float32 matrices, summed in float32 without TF32; bit-equal in every run.

    A transposed matrix (`b.T`) is read without a copy by version 9, which then runs by default. Other views, and
    transposed matrices for other versions, are copied first. With factors, `c` or batches (three dimensions) it is
    `matmul_batches`: alpha a b + beta c. Raises `CudaOpsError` for other dtypes or shapes, or a version that does not
    exist.
    """
    if c is not None or alpha != 1.0 or a.dim() == 3 or b.dim() == 3:
        return matmul_batches(a, b, c, alpha, beta, version)
    check_factors("matmul", a, b, (torch.float32,))
    if is_direct(a, b):
        return _gpu(a, b, version or 0)
    result: torch.Tensor = _matmul(a, b, version or 0)
    return result


def _gpu(a: torch.Tensor, b: torch.Tensor, version: int) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    if depth == 0:
        return a.new_zeros((rows, columns))
    out = a.new_empty((rows, columns))
    if rows and columns:
        of_a = of_b = False
        if version in (0, LAYOUTS) and architecture(a.get_device()) >= MATMUL.versions[LAYOUTS - 1].architecture_min:
            (a, of_a), (b, of_b) = as_it_lies(a), as_it_lies(b)
        a, b = (a if of_a else a.contiguous()), (b if of_b else b.contiguous())
        addresses = (a.data_ptr(), b.data_ptr(), out.data_ptr())
        run(MATMUL, version, a, addresses, rows, columns, depth=depth, transposed=(of_a, of_b))
    return out


_matmul = register(
    "library_matmul(Tensor a, Tensor b, int version) -> Tensor",
    _gpu,
    lambda a, b, version: reference.matmul(a, b),
    lambda a, b, version: a.new_empty((a.shape[0], b.shape[1])),
    derivative_by(matmul),
    keep_factors,
)
