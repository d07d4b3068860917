"""The product of two half-precision matrices on torch tensors, with a bias."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder, Problem, lanes_for, line_of
from cuda_ops.library.matmul_batches.op import matmul_half_batches
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF
from cuda_ops.library.product_derivative import keep_factors
from cuda_ops.library.run import (
    ELEMENT_OF,
    PREPARED_MAX,
    architecture,
    as_it_lies,
    check_factors,
    check_like,
    is_direct,
    run,
)
from cuda_ops.runtime.registry import register

DTYPES = (torch.bfloat16, torch.float16)


def matmul_half(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    version: int | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    c: torch.Tensor | None = None,
) -> torch.Tensor:
    """The product of two matrices of bfloat16 or float16, plus `bias` for each column; bit-equal in every run.

    It is summed in float32 and rounded once. A transposed matrix (`b.T`) is read without a copy; other views are copied
    first. With factors, `c` or batches (three dimensions) it is `matmul_half_batches`: alpha a b + `bias` + beta c.
    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist.
    """
    if c is not None or alpha != 1.0 or a.dim() == 3 or b.dim() == 3:
        return matmul_half_batches(a, b, bias, c, alpha, beta, version)
    check_factors("matmul_half", a, b, DTYPES)
    if bias is not None:
        check_like("matmul_half", "bias", bias, a, b.shape[1:])
    if is_direct(a, b, bias):
        return _gpu(a, b, bias, version or 0)
    result: torch.Tensor = _matmul_half(a, b, bias, version or 0)
    return result


def _gpu(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, version: int) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    if depth == 0:
        empty = a.new_zeros((rows, columns))
        return empty if bias is None else empty + bias
    out = a.new_empty((rows, columns))
    if rows and columns:
        (a, of_a), (b, of_b) = as_it_lies(a), as_it_lies(b)
        bias = None if bias is None else bias.contiguous()
        addresses = [a.data_ptr(), b.data_ptr(), 0 if bias is None else bias.data_ptr(), out.data_ptr()]
        absent: tuple[str, ...] = ("bias",) if bias is None else ()
        problem = _problem(a.dtype, rows, columns, depth, (of_a, of_b), low_bits(addresses), a.get_device())
        scratch = _scratch_for(problem, version)
        room = [torch.empty(size, dtype=torch.uint8, device=a.device) if size else None for size in scratch.values()]
        addresses += [0 if one is None else one.data_ptr() for one in room]
        absent += tuple(name for name, size in scratch.items() if not size)
        run(MATMUL_HALF, version, a, addresses, rows, columns, absent=absent, depth=depth, transposed=(of_a, of_b))
    return out


def low_bits(addresses: list[int]) -> int:
    """The lowest four bits of all addresses, combined by OR; 0 if all are multiples of 16 bytes."""
    low = 0
    for address in addresses:
        low |= address
    return low & 15


@lru_cache(maxsize=PREPARED_MAX)
def _problem(
    dtype: torch.dtype, rows: int, columns: int, depth: int, transposed: tuple[bool, bool], misaligned: int, device: int
) -> Problem:
    element = ELEMENT_OF[dtype]
    lanes = lanes_for(element, [misaligned], line_of(rows, columns, depth, transposed))
    return Problem(element, rows, columns, lanes, architecture(device), 0.0, depth, *transposed)


@lru_cache(maxsize=PREPARED_MAX)
def can_run(
    ladder: Ladder,
    dtype: torch.dtype,
    sizes: tuple[int, int, int],
    transposed: tuple[bool, bool],
    misaligned: int,
    device: int,
) -> bool:
    """Whether the only version of `ladder` can multiply matrices of these `sizes` (rows, columns, depth)."""
    return ladder.versions[0].can_run(_problem(dtype, *sizes, transposed, misaligned, device))


@lru_cache(maxsize=PREPARED_MAX)
def _scratch_for(problem: Problem, version: int) -> dict[str, int]:
    """The bytes of each scratch array of the version that runs: padded copies, or partial sums."""
    name = MATMUL_HALF.choose(problem, version or None).name
    needed = {"padded": ("padded_a", "padded_b"), "shapes": ("partial",)}.get(name, ())
    return {array: size(problem) if array in needed else 0 for array, size in MATMUL_HALF.scratch.items()}


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    a, b = ctx.saved_tensors
    wants_a, wants_b, wants_bias, _ = ctx.needs_input_grad
    return (
        matmul_half(gradient, b.T) if wants_a else None,
        matmul_half(a.T, gradient) if wants_b else None,
        gradient.sum(0) if wants_bias else None,
        None,
    )


_matmul_half = register(
    "library_matmul_half(Tensor a, Tensor b, Tensor? bias, int version) -> Tensor",
    _gpu,
    lambda a, b, bias, version: reference.matmul_half(a, b, bias).contiguous(),
    lambda a, b, bias, version: a.new_empty((a.shape[0], b.shape[1])),
    _backward,
    keep_factors,
)
