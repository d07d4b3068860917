"""The product of two float32 matrices by TF32, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.library import reference
from cuda_ops.library.matmul_tf32.ladder import MATMUL_TF32, PITCH
from cuda_ops.library.product_derivative import derivative_by, keep_factors
from cuda_ops.library.run import check_factors, is_direct, run
from cuda_ops.runtime.registry import register

DEEP, REGISTERS = 1, 2
"""The versions that read `b` with its depth side by side, and as it is."""


def matmul_tf32(a: torch.Tensor, b: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The product of two float32 matrices, of which 10 bits of each mantissa count (TF32); equal bits in every run.

    It is what torch does where `torch.backends.cuda.matmul.allow_tf32` is set, but only `b` is rounded to TF32, and in
    version 1 not even it, since tensor cores cut off what they read: errors are 5e-4 of the norm, in version 1 8e-4,
    torch's 3e-4. Sums are of float32. `b`, and `b` transposed (`b.T`), are read as they lie in memory; a transposed
    `a`, other views, and lines that begin at no multiple of 16 bytes, are copied first. It runs on a GPU of sm_90
    alone. Raises `CudaOpsError` for other dtypes or shapes, a version that does not exist, or another GPU.
    """
    check_factors("matmul_tf32", a, b, (torch.float32,))
    if is_direct(a, b):
        return _gpu(a, b, version or 0)
    result: torch.Tensor = _matmul_tf32(a, b, version or 0)
    return result


def _in_lines(x: torch.Tensor) -> torch.Tensor:
    """The matrix in lines that begin at multiples of 16 bytes: itself, or a copy with zeros behind each line."""
    length = x.shape[1]
    if x.is_contiguous() and length % PITCH == 0 and x.data_ptr() % (PITCH * x.element_size()) == 0:
        return x
    made = x.new_zeros((x.shape[0], -(-length // PITCH) * PITCH))
    made[:, :length] = x
    return made


def _gpu(a: torch.Tensor, b: torch.Tensor, version: int) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    if depth == 0:
        return a.new_zeros((rows, columns))
    out = a.new_empty((rows, columns))
    if rows and columns:
        wanted = version or (DEEP if b.T.is_contiguous() and not b.is_contiguous() else REGISTERS)
        is_deep = wanted == DEEP
        a, b = _in_lines(a), _in_lines(b.T if is_deep else b)
        addresses = (a.data_ptr(), b.data_ptr(), out.data_ptr())
        run(MATMUL_TF32, wanted, a, addresses, rows, columns, depth=depth, transposed=(False, is_deep))
    return out


_matmul_tf32 = register(
    "library_matmul_tf32(Tensor a, Tensor b, int version) -> Tensor",
    _gpu,
    lambda a, b, version: reference.matmul(a, b),
    lambda a, b, version: a.new_empty((a.shape[0], b.shape[1])),
    derivative_by(matmul_tf32),
    keep_factors,
)
