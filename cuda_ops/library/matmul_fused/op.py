"""Products of half-precision matrices with bias, activation and residual, on torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.matmul.op import matmul
from cuda_ops.library.matmul_fused.ladder import MATMUL_RELU, MATMUL_RESIDUAL, MATMUL_SILU
from cuda_ops.library.matmul_half.op import DTYPES, can_run, low_bits
from cuda_ops.library.run import as_it_lies, check_factors, check_like, is_direct, run
from cuda_ops.runtime.registry import register

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "matmul_residual": lambda x: x,
    "matmul_relu": torch.relu,
    "matmul_silu": functional.silu,
}


def matmul_residual(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    version: int | None = None,
) -> torch.Tensor:
    """a b + `bias` + `residual`, for matrices of bfloat16 or float16; bit-equal in every run.

    It is one kernel on a GPU with sm_90 if rows in memory begin at multiples of 16 bytes. Otherwise it is `matmul` in
    float32, which is slow, followed by torch's operators. Both round once. It has no derivative. Raises `CudaOpsError`
    for other dtypes or shapes, or a version that does not exist or cannot run.
    """
    return _checked(MATMUL_RESIDUAL, a, b, bias, residual, version)


def matmul_relu(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    version: int | None = None,
) -> torch.Tensor:
    """ReLU(a b + `bias`) + `residual`; all else as for `matmul_residual`."""
    return _checked(MATMUL_RELU, a, b, bias, residual, version)


def matmul_silu(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    version: int | None = None,
) -> torch.Tensor:
    """SiLU(a b + `bias`) + `residual`; all else as for `matmul_residual`."""
    return _checked(MATMUL_SILU, a, b, bias, residual, version)


def _checked(
    ladder: Ladder,
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None,
    version: int | None,
) -> torch.Tensor:
    check_factors(ladder.name, a, b, DTYPES)
    if bias is not None:
        check_like(ladder.name, "bias", bias, a, b.shape[1:])
    if residual is not None:
        check_like(ladder.name, "residual", residual, a, (a.shape[0], b.shape[1]))
    if is_direct(a, b, bias, residual):
        return _gpu(ladder, a, b, bias, residual, version or 0)
    result: torch.Tensor = _REGISTERED[ladder.name](a, b, bias, residual, version or 0)
    return result


def _gpu(
    ladder: Ladder,
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None,
    version: int,
) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    if rows and columns and depth:
        (one, of_a), (other, of_b) = as_it_lies(a), as_it_lies(b)
        parts = [None if part is None else part.contiguous() for part in (bias, residual)]
        out = a.new_empty((rows, columns))
        addresses = [x.data_ptr() if x is not None else 0 for x in (one, other, *parts, out)]
        sizes, lies = (rows, columns, depth), (of_a, of_b)
        if version or can_run(ladder, a.dtype, sizes, lies, low_bits(addresses), a.get_device()):
            absent = tuple(name for name, part in zip(("bias", "residual"), parts, strict=True) if part is None)
            run(ladder, version, a, addresses, rows, columns, absent=absent, depth=depth, transposed=lies)
            return out
    x = matmul(a.float(), b.float())
    made = ACTIVATIONS[ladder.name](x if bias is None else x + bias)
    return (made if residual is None else made + residual).to(a.dtype)


def _cpu(
    name: str, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, residual: torch.Tensor | None
) -> torch.Tensor:
    return reference.matmul_fused(ACTIVATIONS[name], a, b, bias, residual)


def _register(ladder: Ladder) -> Callable[..., Any]:
    return register(
        f"library_{ladder.name}(Tensor a, Tensor b, Tensor? bias, Tensor? residual, int version) -> Tensor",
        lambda a, b, bias, residual, version: _gpu(ladder, a, b, bias, residual, version),
        lambda a, b, bias, residual, version: _cpu(ladder.name, a, b, bias, residual),
        lambda a, b, bias, residual, version: a.new_empty((a.shape[0], b.shape[1])),
    )


_REGISTERED = {ladder.name: _register(ladder) for ladder in (MATMUL_RESIDUAL, MATMUL_RELU, MATMUL_SILU)}
