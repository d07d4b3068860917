"""Products of half-precision matrices with a softmax or a LayerNorm over their rows, on torch tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.matmul.op import matmul
from cuda_ops.library.matmul_half.op import DTYPES, can_run, low_bits
from cuda_ops.library.matmul_rows.ladder import MATMUL_LAYER_NORM, MATMUL_SOFTMAX
from cuda_ops.library.norm.op import layer_norm
from cuda_ops.library.run import as_it_lies, check_factors, check_like, is_direct, run
from cuda_ops.library.softmax.op import softmax
from cuda_ops.runtime.registry import register


def matmul_softmax(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None, version: int | None = None
) -> torch.Tensor:
    """The softmax over each row of a b + `bias`, for matrices of bfloat16 or float16; bit-equal in every run.

    It is one kernel on a GPU with sm_90, for up to 4,096 columns and rows in memory that begin at multiples of 16
    bytes. Otherwise it is `matmul` in float32, which is slow, and `softmax`. The product is not rounded. It has no
    derivative. Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot run.
    """
    _check("matmul_softmax", a, b, {"bias": bias})
    if is_direct(a, b, bias):
        return _gpu_softmax(a, b, bias, version or 0)
    result: torch.Tensor = _matmul_softmax(a, b, bias, version or 0)
    return result


def matmul_layer_norm(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    shift: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> torch.Tensor:
    """LayerNorm over each row of a b + `bias`, times `weight`, plus `shift`; all else as for `matmul_softmax`."""
    _check("matmul_layer_norm", a, b, {"bias": bias, "weight": weight, "shift": shift})
    if is_direct(a, b, bias, weight, shift):
        return _gpu_layer_norm(a, b, bias, weight, shift, epsilon, version or 0)
    result: torch.Tensor = _matmul_layer_norm(a, b, bias, weight, shift, epsilon, version or 0)
    return result


def _check(operator: str, a: torch.Tensor, b: torch.Tensor, parts: dict[str, torch.Tensor | None]) -> None:
    check_factors(operator, a, b, DTYPES)
    for name, part in parts.items():
        if part is not None:
            check_like(operator, name, part, a, b.shape[1:])


def _gpu_softmax(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, version: int) -> torch.Tensor:
    out = _run(MATMUL_SOFTMAX, a, b, [bias], 0.0, version)
    return softmax(_product(a, b, bias)).to(a.dtype) if out is None else out


def _gpu_layer_norm(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    shift: torch.Tensor | None,
    epsilon: float,
    version: int,
) -> torch.Tensor:
    out = _run(MATMUL_LAYER_NORM, a, b, [bias, weight, shift], epsilon, version)
    if out is not None:
        return out
    factor, more = (None if part is None else part.float() for part in (weight, shift))
    if factor is None and more is not None:
        factor = torch.ones_like(more)
    return layer_norm(_product(a, b, bias), factor, more, epsilon).to(a.dtype)


def _product(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """a b + `bias` in float32."""
    x = matmul(a.float(), b.float())
    return x if bias is None else x + bias


def _run(
    ladder: Ladder,
    a: torch.Tensor,
    b: torch.Tensor,
    parts: Sequence[torch.Tensor | None],
    epsilon: float,
    version: int,
) -> torch.Tensor | None:
    """The result, or None if `version` is 0 and no version can run."""
    (rows, depth), columns = a.shape, b.shape[1]
    if not (rows and columns and depth):
        return None
    (a, of_a), (b, of_b) = as_it_lies(a), as_it_lies(b)
    parts = [None if part is None else part.contiguous() for part in parts]
    out = a.new_empty((rows, columns))
    addresses = [one.data_ptr() if one is not None else 0 for one in (a, b, *parts, out)]
    lies, device = (of_a, of_b), a.get_device()
    if not version and not can_run(ladder, a.dtype, (rows, columns, depth), lies, low_bits(addresses), device):
        return None
    absent = tuple(name for name, part in zip(ladder.arrays[2:-1], parts, strict=True) if part is None)
    run(ladder, version, a, addresses, rows, columns, epsilon, absent=absent, depth=depth, transposed=lies)
    return out


_matmul_softmax = register(
    "library_matmul_softmax(Tensor a, Tensor b, Tensor? bias, int version) -> Tensor",
    _gpu_softmax,
    lambda a, b, bias, version: reference.matmul_softmax(a, b, bias),
    lambda a, b, bias, version: a.new_empty((a.shape[0], b.shape[1])),
)
_matmul_layer_norm = register(
    "library_matmul_layer_norm(Tensor a, Tensor b, Tensor? bias, Tensor? weight, Tensor? shift, float epsilon, "
    "int version) -> Tensor",
    _gpu_layer_norm,
    lambda a, b, bias, weight, shift, epsilon, version: reference.matmul_layer_norm(a, b, bias, weight, shift, epsilon),
    lambda a, b, bias, weight, shift, epsilon, version: a.new_empty((a.shape[0], b.shape[1])),
)
