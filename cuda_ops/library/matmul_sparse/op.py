"""The product of a 2:4 sparse matrix with a dense one, in half precision, on torch tensors, with a bias."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE, line_length, pattern_blocks
from cuda_ops.library.matmul_sparse.packing import TwoOfFour, pack, unpack
from cuda_ops.library.run import as_it_lies, check_factors, check_like, is_direct, run
from cuda_ops.runtime.registry import register

DTYPES = (torch.bfloat16, torch.float16)


def matmul_sparse(
    a: TwoOfFour | torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None, version: int | None = None
) -> torch.Tensor:
    """The product of a 2:4 sparse matrix and a dense one, plus `bias` for each column; bit-equal in every run.

    `a` should be packed by `pack`, once for many products; a tensor is packed at each call, which takes longer than the
    product. The product is summed in float32 and rounded once. Only the kept values of `a` are multiplied, so an
    infinity or NaN in `b` has no effect on a row with a dropped zero there. `b` transposed (`b.T`) is read without a
    copy.

    It is fast on a GPU with sm_90 if depth and columns are multiples of 8. Otherwise version 2 runs, which needs sm_80
    or later. It has no derivative. Raises `CudaOpsError` for a matrix that is not 2:4 sparse, other dtypes or shapes,
    arguments that require a gradient, or a version that does not exist or cannot run.
    """
    given = (a.values if isinstance(a, TwoOfFour) else a, b, bias)
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in given):
        raise CudaOpsError("matmul_sparse: it has no derivative, and an argument requires a gradient: detach it")
    if not isinstance(a, TwoOfFour):
        check_factors("matmul_sparse", a, b, DTYPES)
        a = pack(a)
    _check_packed(a, b)
    if bias is not None:
        check_like("matmul_sparse", "bias", bias, b, b.shape[1:])
    if is_direct(a.values, a.pattern, b, bias):
        return _gpu(a.values, a.pattern, b, bias, version or 0)
    result: torch.Tensor = _matmul_sparse(a.values, a.pattern, b, bias, version or 0)
    return result


def _check_packed(a: TwoOfFour, b: torch.Tensor) -> None:
    if b.dim() != 2:
        raise CudaOpsError(f"matmul_sparse: b has shape {tuple(b.shape)}, expected two dimensions")
    check_like("matmul_sparse", "b", b, a.values, (a.depth, b.shape[1]))
    wanted = (*pattern_blocks(a.shape[0], a.depth), 128, 2)
    if a.pattern.shape != wanted or a.pattern.dtype != torch.int32 or a.pattern.device != b.device:
        raise CudaOpsError(
            f"matmul_sparse: a's pattern is {a.pattern.dtype} {tuple(a.pattern.shape)} on {a.pattern.device}, expected "
            f"torch.int32 {wanted} on {b.device}"
        )
    if a.values.shape[1] != line_length(a.depth):
        raise CudaOpsError(
            f"matmul_sparse: a has {a.values.shape[1]} values in a row, expected {line_length(a.depth)} for a depth of "
            f"{a.depth}"
        )


def _gpu(
    values: torch.Tensor, pattern: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, version: int
) -> torch.Tensor:
    rows, (depth, columns) = values.shape[0], b.shape
    if depth == 0:
        empty = values.new_zeros((rows, columns))
        return empty if bias is None else empty + bias
    out = values.new_empty((rows, columns))
    if rows and columns:
        (b, of_b), values, pattern = as_it_lies(b), values.contiguous(), pattern.contiguous()
        bias = None if bias is None else bias.contiguous()
        addresses = [x.data_ptr() if x is not None else 0 for x in (values, pattern, b, bias, out)]
        absent: tuple[str, ...] = ("bias",) if bias is None else ()
        lies = (False, of_b)
        run(MATMUL_SPARSE, version, values, addresses, rows, columns, absent=absent, depth=depth, transposed=lies)
    return out


def _cpu(
    values: torch.Tensor, pattern: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, version: int
) -> torch.Tensor:
    if b.shape[0] == 0:
        return _gpu(values, pattern, b, bias, version)
    return reference.matmul_sparse(*unpack(values, pattern, b.shape[0]), b, bias)


_matmul_sparse = register(
    "library_matmul_sparse(Tensor values, Tensor pattern, Tensor b, Tensor? bias, int version) -> Tensor",
    _gpu,
    _cpu,
    lambda values, pattern, b, bias, version: values.new_empty((values.shape[0], b.shape[1])),
)
