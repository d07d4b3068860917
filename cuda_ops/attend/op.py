"""Self-attention of a small feature map, on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.attend import host
from cuda_ops.conv.op import by_pixels
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.checks import check_number
from cuda_ops.runtime.gpu import launcher
from cuda_ops.runtime.registry import register

LAST = torch.channels_last


def attend(qkv: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """YOLO's self-attention without the convolutions before and after it: (N, 128 h, H, W) -> (N, 64 h, H, W).

    The 128 channels of each of the h heads in `qkv` are 32 of queries, 32 of keys and 64 of values. The attention's
    result is added to the values' 3x3 depthwise convolution by `weight` (64 h, 1, 3, 3) and `bias` (64 h,). All tensors
    are float16, sums are float32, the result is channels last. Feature maps of more than 896 pixels are computed by
    torch. Raises `CudaOpsError` for other shapes or dtypes.
    """
    heads = qkv.shape[1] // host.HEAD if qkv.dim() == 4 else 0
    channels = heads * host.VALUE
    wanted = {"qkv": (heads * host.HEAD, *qkv.shape[2:]), "weight": (1, 3, 3), "bias": ()}
    for name, tensor in (("qkv", qkv), ("weight", weight), ("bias", bias)):
        first = qkv.shape[0] if name == "qkv" else channels
        is_right = heads > 0 and tuple(tensor.shape) == (first, *wanted[name]) and tensor.numel() > 0
        if not is_right or tensor.dtype != torch.float16 or tensor.device != qkv.device:
            raise CudaOpsError(
                f"attend: {name} is {tensor.dtype} {tuple(tensor.shape)} on {tensor.device}, expected float16: qkv "
                f"(N, 128 h, H, W), weight (64 h, 1, 3, 3), bias (64 h,) on one device"
            )
    check_number("attend", "images", qkv.shape[0], 1, 65535)
    result: torch.Tensor = _attend(qkv, weight, bias)
    return result


def _gpu(qkv: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    images, channels, height, width = qkv.shape
    if height * width > host.PLACES_MAX:
        return _by_torch(qkv, weight, bias)
    heads = channels // host.HEAD
    qkv, pitch = by_pixels(qkv)
    shape = (images, heads * host.VALUE, height, width)
    out = torch.empty(shape, dtype=torch.half, device=qkv.device, memory_format=LAST)
    weights = weight.reshape(heads * host.VALUE, 9).contiguous()
    kernels = launcher("attend", qkv.get_device())
    host.run(kernels, qkv, pitch, weights, bias.contiguous(), out, (images, heads, height, width), early=True)
    return out


def _by_torch(qkv: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    images, channels, height, width = qkv.shape
    heads = channels // host.HEAD
    parts = qkv.float().reshape(images, heads, host.HEAD, height * width)
    query, key, value = parts.split([host.KEY, host.KEY, host.VALUE], dim=2)
    weights = ((query * host.KEY**-0.5).transpose(-2, -1) @ key).softmax(dim=-1)
    shape = (images, heads * host.VALUE, height, width)
    mixed = (value @ weights.transpose(-2, -1)).reshape(shape)
    picture = value.reshape(shape)
    mixed = mixed + torch.nn.functional.conv2d(picture, weight.float(), bias.float(), padding=1, groups=shape[1])
    result: torch.Tensor = mixed.half().contiguous(memory_format=LAST)
    return result


def _fake(qkv: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    shape = (qkv.shape[0], qkv.shape[1] // 2, *qkv.shape[2:])
    return torch.empty(shape, dtype=qkv.dtype, device=qkv.device, memory_format=LAST)


_attend = register("attend(Tensor qkv, Tensor weight, Tensor bias) -> Tensor", _gpu, _by_torch, _fake)
