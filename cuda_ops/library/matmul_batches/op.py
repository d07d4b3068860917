"""Batches of products with factors on torch tensors: alpha a b + beta c."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import pad

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.ladder import PACK_BYTES, Batch, Ladder
from cuda_ops.library.matmul_batches.ladder import MATMUL_BATCHES, MATMUL_HALF_BATCHES
from cuda_ops.library.run import architecture, as_it_lies, check_dtype, check_like, is_direct, run
from cuda_ops.runtime.registry import register

LANES = PACK_BYTES // 2
"""The length of each line in memory must be a multiple of this number of half-precision elements."""


def matmul_batches(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    version: int | None = None,
) -> torch.Tensor:
    """alpha a b + beta c for each pair of float32 matrices, summed in float32; bit-equal in every run.

    `a` and `b` are matrices or batches of them (three dimensions); a single matrix is multiplied with each one of the
    other batch. `c` has the result's shape; with a `beta` of 0 it is ignored, even if it is NaN. Transposed matrices
    (`b.mT`) are read without a copy; other views are copied first. It needs a GPU with sm_80 or later. Raises
    `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot run.
    """
    _check("matmul_batches", a, b, c, (torch.float32,))
    if beta == 0.0:
        c = None
    if is_direct(a, b, c):
        return _gpu(a, b, c, alpha, beta, version or 0)
    result: torch.Tensor = _matmul_batches(a, b, c, alpha, beta, version or 0)
    return result


def matmul_half_batches(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    version: int | None = None,
) -> torch.Tensor:
    """alpha a b + `bias` for each column + beta c, for bfloat16 or float16: summed in float32, and rounded once.

    Arguments and errors are those of `matmul_batches`. If the lines of a matrix do not begin at multiples of 16 bytes,
    it is copied to longer lines first. On GPUs other than sm_90 it runs `matmul_batches` in float32, which is slow.
    """
    _check("matmul_half_batches", a, b, c, (torch.bfloat16, torch.float16))
    if bias is not None:
        check_like("matmul_half_batches", "bias", bias, a, b.shape[-1:])
    if beta == 0.0:
        c = None
    if is_direct(a, b, bias, c):
        return _gpu_half(a, b, bias, c, alpha, beta, version or 0)
    result: torch.Tensor = _matmul_half_batches(a, b, bias, c, alpha, beta, version or 0)
    return result


def _check(
    operator: str, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None, allowed: tuple[torch.dtype, ...]
) -> None:
    check_dtype(operator, a, allowed)
    if not (2 <= a.dim() <= 3 and 2 <= b.dim() <= 3):
        raise CudaOpsError(
            f"{operator}: a has shape {tuple(a.shape)} and b {tuple(b.shape)}, expected two or three dimensions"
        )
    batch = a.shape[:1] if a.dim() == b.dim() == 3 else b.shape[:-2]
    check_like(operator, "b", b, a, (*batch, a.shape[-1], b.shape[-1]))
    if c is not None:
        check_like(operator, "c", c, a, _shape_of(a, b))


def _shape_of(a: torch.Tensor, b: torch.Tensor) -> tuple[int, ...]:
    """The result's shape."""
    return (*(a.shape[:-2] or b.shape[:-2]), a.shape[-2], b.shape[-1])


def _gpu(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None, alpha: float, beta: float, version: int
) -> torch.Tensor:
    return _run(MATMUL_BATCHES, a, b, [c], alpha, beta, version)


def _gpu_half(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    c: torch.Tensor | None,
    alpha: float,
    beta: float,
    version: int,
) -> torch.Tensor:
    if architecture(a.get_device()) != 90 and not version:
        wide = _gpu(a.float(), b.float(), None if c is None else c.float(), alpha, beta, 0)
        return (wide if bias is None else wide + bias.float()).to(a.dtype)
    columns = b.shape[-1]
    if not all(_is_in_lines(one) for one in (a, b)) or columns % LANES or not _are_aligned(bias, c):
        more, deeper = -columns % LANES, -a.shape[-1] % LANES
        a, b = pad(a, (0, deeper)).contiguous(), pad(b, (0, more, 0, deeper)).contiguous()
        a, b = (one if _are_aligned(one) else one.clone() for one in (a, b))
        bias, c = (None if one is None else pad(one, (0, more)).clone() for one in (bias, c))
    made = _run(MATMUL_HALF_BATCHES, a, b, [bias, c], alpha, beta, version)
    return made if made.shape[-1] == columns else made[..., :columns].contiguous()


def _are_aligned(*tensors: torch.Tensor | None) -> bool:
    """Whether the arrays begin at multiples of 16 bytes."""
    return all(one is None or one.data_ptr() % PACK_BYTES == 0 for one in tensors)


def _is_in_lines(x: torch.Tensor) -> bool:
    """Whether the copy engine can read the matrices, with their rows or columns as lines."""
    length = x.shape[-1] if x.is_contiguous() else x.shape[-2] if x.mT.is_contiguous() else 1
    return length % LANES == 0 and _are_aligned(x)


def _run(
    ladder: Ladder,
    a: torch.Tensor,
    b: torch.Tensor,
    parts: list[torch.Tensor | None],
    alpha: float,
    beta: float,
    version: int,
) -> torch.Tensor:
    """Run a version of `ladder`; `parts` are the bias, if the ladder has one, and c."""
    out = a.new_empty(_shape_of(a, b))
    (a, of_a), (b, of_b) = as_it_lies(a), as_it_lies(b)
    if a.dim() == 3 and b.dim() == 2 and not of_a:
        a = a.reshape(-1, a.shape[-1])  # one large matrix with the rows of all
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    if out.numel() == 0 or depth == 0:
        return _without_depth(out, parts, beta)
    parts = [None if part is None else part.contiguous() for part in parts]
    addresses = [one.data_ptr() if one is not None else 0 for one in (a, b, *parts, out)]
    absent = tuple(name for name, part in zip(ladder.arrays[2:-1], parts, strict=True) if part is None)
    count = out.numel() // (rows * columns)
    is_batch = count > 1
    batch = Batch(
        count, alpha, 0.0 if parts[-1] is None else beta, is_batch and a.dim() == 2, is_batch and b.dim() == 2
    )
    lies = (of_a, of_b)
    run(ladder, version, a, addresses, rows, columns, absent=absent, depth=depth, transposed=lies, batch=batch)
    return out


def _without_depth(out: torch.Tensor, parts: list[torch.Tensor | None], beta: float) -> torch.Tensor:
    """The result for a depth of 0: an empty sum, plus bias and beta c."""
    *bias, c = parts
    made = torch.zeros_like(out, dtype=torch.float32)
    for part, factor in ((c, beta), *((one, 1.0) for one in bias)):
        if part is not None:
            made += factor * part.float()
    return made.to(out.dtype)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.alpha, ctx.beta = inputs[-3:-1]


def _sum_over(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of `x`: if one matrix was multiplied with a batch, the sum of the batch's gradients."""
    return gradient if gradient.dim() == x.dim() else gradient.sum(0)


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    a, b = ctx.saved_tensors
    wants_a, wants_b, wants_c, *_ = ctx.needs_input_grad
    return (
        _sum_over(matmul_batches(gradient, b.mT, None, ctx.alpha), a) if wants_a else None,
        _sum_over(matmul_batches(a.mT, gradient, None, ctx.alpha), b) if wants_b else None,
        ctx.beta * gradient if wants_c else None,
        *[None] * 3,
    )


def _backward_half(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    a, b = ctx.saved_tensors
    wants_a, wants_b, wants_bias, wants_c, *_ = ctx.needs_input_grad
    return (
        _sum_over(matmul_half_batches(gradient, b.mT, None, None, ctx.alpha), a) if wants_a else None,
        _sum_over(matmul_half_batches(a.mT, gradient, None, None, ctx.alpha), b) if wants_b else None,
        gradient.reshape(-1, gradient.shape[-1]).sum(0) if wants_bias else None,
        ctx.beta * gradient if wants_c else None,
        *[None] * 3,
    )


_matmul_batches = register(
    "library_matmul_batches(Tensor a, Tensor b, Tensor? c, float alpha, float beta, int version) -> Tensor",
    _gpu,
    lambda a, b, c, alpha, beta, version: reference.matmul_batches(a, b, None, c, alpha, beta),
    lambda a, b, c, alpha, beta, version: a.new_empty(_shape_of(a, b)),
    _backward,
    _keep,
)
_matmul_half_batches = register(
    "library_matmul_half_batches(Tensor a, Tensor b, Tensor? bias, Tensor? c, float alpha, float beta, int version) "
    "-> Tensor",
    _gpu_half,
    lambda a, b, bias, c, alpha, beta, version: reference.matmul_batches(a, b, bias, c, alpha, beta),
    lambda a, b, bias, c, alpha, beta, version: a.new_empty(_shape_of(a, b)),
    _backward_half,
    _keep,
)
