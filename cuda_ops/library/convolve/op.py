"""The convolution of half-precision pictures on torch tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from cuda_ops.errors import CudaOpsError
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.ladder import PACK_BYTES, Window
from cuda_ops.library.run import architecture, check_dtype, check_like, is_direct, run
from cuda_ops.runtime.registry import register

COLUMNS = 1
"""Number of the version that needs memory for windows."""


def convolve(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, version: int | None = None
) -> torch.Tensor:
    """The convolution of pictures (pictures, channels, height, width) with windows of odd sizes, plus `bias`.

    The result has the size of the pictures, which are padded with zeros. It is summed in float32, rounded once, and
    bit-equal in every run. Inputs that are not channels_last are copied first; the result is channels_last. The kernels
    need a GPU with sm_90 and channels that are multiples of 8; otherwise torch's operator runs. It has no derivative.
    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot run.
    """
    check_dtype("convolve", x, (torch.bfloat16, torch.float16))
    if x.dim() != 4 or weight.dim() != 4 or weight.shape[2] % 2 == 0 or weight.shape[3] % 2 == 0:
        raise CudaOpsError(
            f"convolve: x has shape {tuple(x.shape)} and weight {tuple(weight.shape)}, expected four dimensions, and "
            "windows of odd sizes"
        )
    check_like("convolve", "weight", weight, x, (weight.shape[0], x.shape[1], *weight.shape[2:]))
    if bias is not None:
        check_like("convolve", "bias", bias, x, weight.shape[:1])
    if is_direct(x, weight, bias):
        return _gpu(x, weight, bias, version or 0)
    result: torch.Tensor = _convolve(x, weight, bias, version or 0)
    return result


def _gpu(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, version: int) -> torch.Tensor:
    (pictures, channels, height, width), (columns, _, high, wide) = x.shape, weight.shape
    is_suited = architecture(x.get_device()) == 90 and channels % 8 == 0 and columns % 8 == 0 and x.numel() > 0
    if not is_suited and not version:
        return _by_torch(x, weight, bias)
    x, weight = (_in_rows(one) for one in (x, weight))
    bias = None if bias is None else _aligned(bias.contiguous())
    out = _empty(x, weight)
    rows, depth = pictures * height * width, channels * high * wide
    windows = x.new_empty(rows * depth) if version == COLUMNS else None
    addresses = [0 if one is None else one.data_ptr() for one in (x, weight, bias, out, windows)]
    absent = ("bias",) * (bias is None) + ("windows",) * (windows is None)
    window, lies = Window(pictures, height, width, channels, high, wide), (False, True)
    run(CONVOLVE, version, x, addresses, rows, columns, absent=absent, depth=depth, transposed=lies, window=window)
    return out


def _in_rows(x: torch.Tensor) -> torch.Tensor:
    """The tensor in channels_last format, at an address that the copy engine supports."""
    return _aligned(x.contiguous(memory_format=torch.channels_last))


def _aligned(x: torch.Tensor) -> torch.Tensor:
    return x if x.data_ptr() % PACK_BYTES == 0 else x.clone()


def _empty(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    shape = (x.shape[0], weight.shape[0], *x.shape[2:])
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)


def _by_torch(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    made = functional.conv2d(x, weight, bias, padding=(weight.shape[2] // 2, weight.shape[3] // 2))
    return made.contiguous(memory_format=torch.channels_last)


def _cpu(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, version: int) -> Any:
    made = _by_torch(x.double(), weight.double(), None if bias is None else bias.double())
    return made.to(x.dtype)


_convolve = register(
    "library_convolve(Tensor x, Tensor weight, Tensor? bias, int version) -> Tensor",
    _gpu,
    _cpu,
    lambda x, weight, bias, version: _empty(x, weight),
)
