"""Convolution with bias, SiLU and residual, on torch tensors."""

from __future__ import annotations

from functools import lru_cache

import torch

from cuda_ops.conv import host
from cuda_ops.conv.host import Source, Window
from cuda_ops.conv.plan import plan_for
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import aligned, check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

LAST = torch.channels_last
CAPABILITY_MIN = (8, 0)
"""Minimum compute capability: older GPUs have too little shared memory for the tiles."""


def conv(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    stride: int = 1,
    is_silu: bool = True,
    residual: torch.Tensor | None = None,
    more: torch.Tensor | None = None,
) -> torch.Tensor:
    """torch's conv2d with a padding of half a window, then SiLU if `is_silu`, then plus `residual`; channels last.

    * `x` (N, C, H, W), `weight` (K, C + D, size, size) with odd size, `bias` (K,): float16, like all tensors.
    * `residual` (N, K, H', W'): added to the result.
    * `more` (N, D, H, W): if given, the input is the concatenation of `x` and `more` along the channels. `x` may then
      have half the height and width; it is upsampled (nearest neighbour).

    Slices of wider channels-last tensors are read without a copy. Sums are float32 and rounded once. Raises
    `CudaOpsError` for other shapes or dtypes.
    """
    for name, tensor in (("x", x), ("weight", weight), ("more", more), ("residual", residual)):
        if tensor is not None and (tensor.dtype != torch.float16 or tensor.dim() != 4 or tensor.device != x.device):
            raise CudaOpsError(
                f"conv: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected float16 with 4 "
                f"dimensions on {x.device}"
            )
    window = _window(x, weight, stride, more)
    if bias.dtype != torch.float16 or bias.shape != (window.out_channels,) or bias.device != x.device:
        raise CudaOpsError(f"conv: bias is {bias.dtype} {tuple(bias.shape)}, weight has {window.out_channels} channels")
    wanted = (window.images, window.out_channels, window.out_height, window.out_width)
    if residual is not None and tuple(residual.shape) != wanted:
        raise CudaOpsError(f"conv: residual has shape {tuple(residual.shape)}, expected {wanted}")
    check_number("conv", "elements of the result", window.pixels * window.out_channels, 1, host.ELEMENTS_MAX)
    for name, tensor in (("x", x), ("weight", weight), ("more", more)):
        if tensor is not None:
            check_number("conv", f"elements of {name}", _span(tensor), 1, host.ELEMENTS_MAX)
    result: torch.Tensor = _conv(x, more, weight, bias, residual, stride, is_silu)
    return result


def _span(tensor: torch.Tensor) -> int:
    """Number of elements of memory from the tensor's first element to its last; at least its number of elements."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int(max(tensor.numel(), last + 1))


def _window(x: torch.Tensor, weight: torch.Tensor, stride: int, more: torch.Tensor | None) -> Window:
    size, larger = int(weight.shape[2]), x if more is None else more
    images, _, height, width = larger.shape
    channels = x.shape[1] + (0 if more is None else more.shape[1])
    if weight.shape[3] != size or size % 2 == 0 or weight.shape[1] != channels or stride < 1:
        raise CudaOpsError(
            f"conv: weight has shape {tuple(weight.shape)}, stride is {stride}; expected (K, {channels}, size, size) "
            f"with an odd size, and a stride from 1"
        )
    is_half = tuple(2 * side for side in x.shape[2:]) == (height, width)
    if x.shape[0] != images or not (is_half or x.shape[2:] == larger.shape[2:]) or x.numel() == 0:
        raise CudaOpsError(f"conv: x has shape {tuple(x.shape)}, more {tuple(larger.shape)}: not that of it or half")
    return Window(images, height, width, channels, int(weight.shape[0]), size, stride)


def _gpu(
    x: torch.Tensor,
    more: torch.Tensor | None,
    weight: torch.Tensor,
    bias: torch.Tensor,
    residual: torch.Tensor | None,
    stride: int,
    is_silu: bool,
) -> torch.Tensor:
    device = x.get_device()
    can_be_read = x.shape[1] % 8 == 0 and (more is None or more.shape[1] % 8 == 0)
    is_half = more is not None and more.shape[2:] != x.shape[2:]
    can_be_read = can_be_read and weight.shape[2] <= (1 if is_half else host.SIZE_MAX)
    if not can_be_read or torch.cuda.get_device_capability(device) < CAPABILITY_MIN:
        return _by_torch(x, more, weight, bias, residual, stride, is_silu)
    window = _window(x, weight, stride, more)
    plan = plan_for(window, _processors(device))
    first = Source(*by_pixels(x), x.shape[1], is_half)
    second = Source(None, 8, 0) if more is None else Source(*by_pixels(more), more.shape[1])
    shape = (window.images, window.out_channels, window.out_height, window.out_width)
    out = torch.empty(shape, dtype=torch.half, device=x.device, memory_format=LAST)
    parts = x.new_empty(plan.parts(window), dtype=torch.float32) if plan.shares > 1 else None
    with_residual = (None, 0) if residual is None else by_pixels(residual)
    weights = aligned(weight.contiguous(memory_format=LAST))
    early = weights is weight and torch.cuda.is_current_stream_capturing()  # weights of a captured graph are constant
    host.run(
        launcher("conv", device), plan, window, (first, second), weights, aligned(bias.contiguous()), with_residual,
        (out, window.out_channels), parts, is_silu, early,
    )  # fmt: skip
    return out


def by_pixels(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    """(the tensor (N, C, H, W) in channels-last format, distance of its pixels in elements).

    It is copied only if its pixels are not evenly spaced or do not begin at multiples of 16 bytes.
    """
    images, channels, height, width = x.shape
    pitch = x.stride(3) if width > 1 else (x.stride(2) if height > 1 else channels)
    is_even = (
        (channels == 1 or x.stride(1) == 1)
        and (height == 1 or x.stride(2) == width * pitch)
        and (images == 1 or x.stride(0) == height * width * pitch)
    )
    if not is_even or pitch % 8 or x.data_ptr() % 16:
        x, pitch = x.contiguous(memory_format=LAST), channels
    return x, pitch


@lru_cache
def _processors(device: int) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def _by_torch(
    x: torch.Tensor,
    more: torch.Tensor | None,
    weight: torch.Tensor,
    bias: torch.Tensor,
    residual: torch.Tensor | None,
    stride: int,
    is_silu: bool,
) -> torch.Tensor:
    whole = x
    if more is not None:
        whole = x if x.shape[2:] == more.shape[2:] else x.repeat_interleave(2, 2).repeat_interleave(2, 3)
        whole = torch.cat([whole, more], dim=1)
    total = torch.nn.functional.conv2d(whole.float(), weight.float(), bias.float(), stride, weight.shape[2] // 2)
    total = torch.nn.functional.silu(total) if is_silu else total
    total = total if residual is None else total + residual.float()
    return total.half().contiguous(memory_format=LAST)


def _fake(
    x: torch.Tensor,
    more: torch.Tensor | None,
    weight: torch.Tensor,
    bias: torch.Tensor,
    residual: torch.Tensor | None,
    stride: int,
    is_silu: bool,
) -> torch.Tensor:
    window = _window(x, weight, stride, more)
    shape = (window.images, window.out_channels, window.out_height, window.out_width)
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=LAST)


_conv = register(
    "conv(Tensor x, Tensor? more, Tensor weight, Tensor bias, Tensor? residual, int stride, bool is_silu) -> Tensor",
    _gpu,
    _by_torch,
    _fake,
)
