"""The product of two float32 matrices by TF32, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.library import reference
from cuda_ops.library.matmul_tf32.ladder import MATMUL_TF32, PITCH
from cuda_ops.library.product_derivative import derivative_by, keep_factors
from cuda_ops.library.run import check_factors, is_direct, run
from cuda_ops.runtime.registry import register

DEEP, REGISTERS = 1, 2
"""Numbers of the versions: the first needs `b` in memory column by column, the second row by row."""


def matmul_tf32(a: torch.Tensor, b: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The product of two float32 matrices in TF32, with 10 bits of each mantissa; bit-equal in every run.

    torch computes it so if `torch.backends.cuda.matmul.allow_tf32` is set, but torch rounds both matrices to TF32. Here
    version 2 rounds only `b`, and version 1 neither, because tensor cores truncate their inputs. The errors are 5e-4 of
    the norm for version 2, 8e-4 for version 1, and 3e-4 for torch. Sums are float32.

    `b`, and `b` transposed (`b.T`), are read without a copy; a transposed `a`, other views, and lines that do not begin
    at multiples of 16 bytes are copied first. It needs a GPU with sm_90. Raises `CudaOpsError` for other dtypes or
    shapes, a version that does not exist, or another GPU.
    """
    check_factors("matmul_tf32", a, b, (torch.float32,))
    if is_direct(a, b):
        return _gpu(a, b, version or 0)
    result: torch.Tensor = _matmul_tf32(a, b, version or 0)
    return result


def _in_lines(x: torch.Tensor) -> torch.Tensor:
    """The matrix with lines that begin at multiples of 16 bytes: itself, or a copy with zeros after each line."""
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
