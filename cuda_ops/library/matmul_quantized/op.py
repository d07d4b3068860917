"""The products of two matrices of 8-bit numbers on torch tensors, multiplied by scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.matmul_quantized.ladder import MATMUL_FP8, MATMUL_INT8, PITCH
from cuda_ops.library.run import check_factors, is_direct, run
from cuda_ops.runtime.registry import register


def matmul_fp8(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    version: int | None = None,
) -> torch.Tensor:
    """The product of two matrices of float8_e4m3fn, times scales, in bfloat16; bit-equal in every run.

    * `scale_a`, `scale_b`: float32; one element, or one for each row of `a` and for each column of `b`.
    * `version`: 1 leaves the sums in the tensor cores, which is the fastest and least exact; 2 adds them up in float32
      after every 128 of the depth, 3, the default, after every 512.

    `a`, and `b` transposed (`b.T`), are read without a copy; other layouts, and lines that do not begin at multiples of
    16 bytes, are copied first. It needs a GPU with sm_90. Raises `CudaOpsError` for other dtypes or shapes, a version
    that does not exist, or another GPU.
    """
    return _checked(MATMUL_FP8, _matmul_fp8, torch.float8_e4m3fn, a, b, scale_a, scale_b, version)


def matmul_int8(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    version: int | None = None,
) -> torch.Tensor:
    """The product of two matrices of int8, times scales, in bfloat16; bit-equal in every run.

    Sums are exact up to 2^31. All else as for `matmul_fp8`.
    """
    return _checked(MATMUL_INT8, _matmul_int8, torch.int8, a, b, scale_a, scale_b, version)


def _checked(
    ladder: Ladder,
    operator: Callable[..., Any],
    dtype: torch.dtype,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    version: int | None,
) -> torch.Tensor:
    check_factors(ladder.name, a, b, (dtype,))
    _check_scale(ladder.name, "scale_a", scale_a, a.shape[0], a)
    _check_scale(ladder.name, "scale_b", scale_b, b.shape[1], a)
    if is_direct(a, b, scale_a, scale_b):
        return _multiply(ladder, a, b, scale_a, scale_b, version or 0)
    result: torch.Tensor = operator(a, b, scale_a, scale_b, version or 0)
    return result


def _check_scale(operator: str, name: str, scale: torch.Tensor | None, count: int, a: torch.Tensor) -> None:
    if scale is None:
        return
    if scale.dtype != torch.float32 or scale.device != a.device or scale.shape not in ((), (1,), (count,)):
        raise CudaOpsError(
            f"{operator}: {name} is {scale.dtype} {tuple(scale.shape)} on {scale.device}, expected torch.float32 (1,) "
            f"or ({count},) on {a.device}"
        )


def _deep(x: torch.Tensor) -> torch.Tensor:
    """The matrix with lines that begin at multiples of 16 bytes: itself, or a copy with zeros after each line."""
    depth = x.shape[1]
    if x.is_contiguous() and depth % PITCH == 0 and x.data_ptr() % PITCH == 0:
        return x
    made = x.new_zeros((x.shape[0], -(-depth // PITCH) * PITCH))
    made[:, :depth] = x
    return made


def _multiply(
    ladder: Ladder,
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    version: int,
) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    if depth == 0:
        return a.new_zeros((rows, columns), dtype=torch.bfloat16)
    out = a.new_empty((rows, columns), dtype=torch.bfloat16)
    if rows and columns:
        a, b = _deep(a), _deep(b.T)
        scales: dict[str, torch.Tensor] = {}
        for scale, for_all, for_each in (
            (scale_a, "scale_a", "scales_of_rows"),
            (scale_b, "scale_b", "scales_of_columns"),
        ):
            if scale is not None:
                scales[for_all if scale.numel() == 1 else for_each] = scale.contiguous()
        names = ("scale_a", "scale_b", "scales_of_rows", "scales_of_columns")
        addresses = [a.data_ptr(), b.data_ptr()]
        addresses += [scales[name].data_ptr() if name in scales else 0 for name in names]
        absent = tuple(name for name in names if name not in scales)
        run(
            ladder,
            version,
            a,
            [*addresses, out.data_ptr()],
            rows,
            columns,
            absent=absent,
            depth=a.shape[1],
            transposed=(False, True),
        )
    return out


def _register(ladder: Ladder) -> Callable[..., Any]:
    return register(
        f"library_{ladder.name}(Tensor a, Tensor b, Tensor? scale_a, Tensor? scale_b, int version) -> Tensor",
        lambda a, b, scale_a, scale_b, version: _multiply(ladder, a, b, scale_a, scale_b, version),
        lambda a, b, scale_a, scale_b, version: reference.matmul_scaled(a, b, scale_a, scale_b),
        lambda a, b, scale_a, scale_b, version: a.new_empty((a.shape[0], b.shape[1]), dtype=torch.bfloat16),
    )


_matmul_fp8, _matmul_int8 = _register(MATMUL_FP8), _register(MATMUL_INT8)
