"""Replaces the forward methods of YOLO26's blocks by the kernels of `cuda_ops`: convolution, attention, max pools.

One launch of the convolution kernel also concatenates the inputs, applies SiLU and adds the residual. Activations are
float16, channels last. Slices of channels are read in place, without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.attend.host import KEY, VALUE
from cuda_ops.attend.op import attend
from cuda_ops.conv.op import conv
from cuda_ops.depthwise.op import depthwise
from cuda_ops.max_pool.op import max_pools

Forward = Callable[..., Any]
LAST = torch.channels_last


def use_own_convolutions(model: Any) -> None:
    """Replace the blocks of the fused `model` in place; blocks that the kernels do not support are not changed."""
    first = model.model[0]
    if is_first_layer(first):
        first.forward = first_layer_forward(first)
    for module in model.modules():
        if forward := conv_forward(module):
            module.forward = forward
    for module in model.modules():
        if forward := BLOCKS.get(type(module).__name__, lambda block: None)(module):
            module.forward = forward
    skip_concatenation(model.model)


def conv_forward(module: Any) -> Forward | None:
    """The forward of a module that is one convolution, with the project's kernels; None if they do not support it."""
    if isinstance(module, torch.nn.Conv2d) and fits(module):
        return plain_conv_forward(module)
    if has_fitting_conv(module):
        return conv_act_forward(module)
    return depthwise_forward(module) if is_depthwise(module) else None


def fits(layer: torch.nn.Conv2d, multiple: int = 8) -> bool:
    """Whether `cuda_ops.conv` can run `layer`: odd square kernel, half padding, bias, no groups, no dilation.

    The number of input channels must be a multiple of `multiple`.
    """
    size, padding = layer.kernel_size[0], layer.padding
    return (
        layer.groups == 1
        and layer.in_channels % multiple == 0
        and layer.bias is not None
        and layer.kernel_size == (size, size)
        and size % 2 == 1
        and padding == (size // 2, size // 2)
        and layer.stride[0] == layer.stride[1]
        and layer.dilation == (1, 1)
    )


def has_fitting_conv(module: Any) -> bool:
    """Whether the module is a convolution that `fits`, followed by SiLU or by no activation."""
    layer = getattr(module, "conv", None)
    is_known = isinstance(getattr(module, "act", None), (torch.nn.SiLU, torch.nn.Identity))
    return isinstance(layer, torch.nn.Conv2d) and fits(layer) and is_known


def is_first_layer(module: Any) -> bool:
    """Whether the module is a convolution of three colour channels with SiLU, which the kernel runs on eight channels.

    The five added channels are zero.
    """
    layer = getattr(module, "conv", None)
    if not isinstance(layer, torch.nn.Conv2d) or not isinstance(getattr(module, "act", None), torch.nn.SiLU):
        return False
    return layer.in_channels == 3 and fits(layer, 3)


def first_layer_forward(module: Any) -> Forward:
    """The forward of the first layer: takes pictures of three channels, or packed ones of eight, the last five zero."""
    weight = torch.nn.functional.pad(module.conv.weight, (0, 0, 0, 0, 0, 5)).contiguous(memory_format=LAST)
    bias, stride = module.conv.bias, module.conv.stride[0]

    def forward(x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] == 3:
            x = torch.nn.functional.pad(x, (0, 0, 0, 0, 0, 5)).contiguous(memory_format=LAST)
        return conv(x, weight, bias, stride)

    return forward


def is_depthwise(module: Any) -> bool:
    """Whether the module is a 3x3 depthwise convolution (one filter per channel) with SiLU."""
    layer = getattr(module, "conv", None)
    return (
        isinstance(layer, torch.nn.Conv2d)
        and layer.groups == layer.in_channels == layer.out_channels
        and (layer.kernel_size, layer.stride, layer.padding, layer.dilation) == ((3, 3), (1, 1), (1, 1), (1, 1))
        and layer.bias is not None
        and isinstance(getattr(module, "act", None), torch.nn.SiLU)
    )


def depthwise_forward(module: Any) -> Forward:
    """The forward of a depthwise convolution with SiLU."""
    weight, bias = module.conv.weight.contiguous(), module.conv.bias
    return lambda x: depthwise(x, weight, bias)


def plain_conv_forward(layer: torch.nn.Conv2d) -> Forward:
    """The forward of a convolution without activation."""
    weight, bias, stride = layer.weight, layer.bias, layer.stride[0]
    assert bias is not None  # guaranteed by `fits`
    return lambda x: conv(x, weight, bias, stride, is_silu=False)


def conv_act_forward(module: Any) -> Forward:
    """The forward of a convolution with activation; optionally adds a residual, and reads `more` channels as well."""
    weight, bias, stride = module.conv.weight, module.conv.bias, module.conv.stride[0]
    is_silu = isinstance(module.act, torch.nn.SiLU)

    def forward(x: torch.Tensor, residual: Any = None, more: Any = None) -> torch.Tensor:
        return conv(x, weight, bias, stride, is_silu, residual, more)

    return forward


def bottleneck_forward(block: Any) -> Forward | None:
    """Bottleneck: two convolutions with a residual. None if it has no residual or is not supported."""
    if not block.add or not has_fitting_conv(block.cv2):
        return None
    return lambda x: block.cv2.forward(block.cv1(x), residual=x)


def c3_forward(block: Any) -> Forward | None:
    """C3: two parallel branches, a chain of blocks and a single convolution, concatenated by the last convolution."""
    if not has_fitting_conv(block.cv3):
        return None
    return lambda x: block.cv3.forward(block.m(block.cv1(x)), more=block.cv2(x))


def c2f_forward(block: Any) -> Forward | None:
    """C2f: half of the first convolution's output passes through one block; the last convolution takes all of it."""
    if len(block.m) != 1 or not has_fitting_conv(block.cv1) or not has_fitting_conv(block.cv2):
        return None

    def forward(x: Any) -> torch.Tensor:
        first = block.cv1.forward(x[0], more=x[1]) if isinstance(x, list) else block.cv1(x)
        return torch.as_tensor(block.cv2.forward(first, more=block.m[0](first[:, block.c :])))

    return forward


def c2psa_forward(block: Any) -> Forward | None:
    """C2PSA: half of the first convolution's output passes through attention; the last convolution takes both."""
    if not has_fitting_conv(block.cv1) or not has_fitting_conv(block.cv2):
        return None

    def forward(x: torch.Tensor) -> torch.Tensor:
        first = block.cv1(x)
        return torch.as_tensor(block.cv2.forward(first[:, : block.c], more=block.m(first[:, block.c :])))

    return forward


def psa_block_forward(block: Any) -> Forward | None:
    """PSABlock: attention, then a feed-forward pair of convolutions; each result is added to its input."""
    last = block.ffn[1]
    fits_attend = (block.attn.key_dim, block.attn.head_dim) == (KEY, VALUE)
    if not block.add or not has_fitting_conv(last) or not has_fitting_conv(block.attn.proj) or not fits_attend:
        return None

    def forward(x: torch.Tensor) -> torch.Tensor:
        places = block.attn.pe.conv
        x = block.attn.proj.forward(attend(block.attn.qkv(x), places.weight, places.bias), residual=x)
        return torch.as_tensor(last.forward(block.ffn[0](x), residual=x))

    return forward


def sppf_forward(block: Any) -> Forward | None:
    """SPPF: max pools of growing windows, concatenated by one convolution; then the residual, if the block has one."""
    if not has_fitting_conv(block.cv2):
        return None
    adds, rounds, size = getattr(block, "add", False), getattr(block, "n", 3), int(block.m.kernel_size)

    def forward(x: torch.Tensor) -> torch.Tensor:
        pools = max_pools(block.cv1(x), size, rounds)
        return torch.as_tensor(block.cv2.forward(pools, residual=x if adds else None))

    return forward


BLOCKS: dict[str, Callable[[Any], Forward | None]] = {
    "Bottleneck": bottleneck_forward,
    "C3": c3_forward,
    "C3k": c3_forward,
    "C2f": c2f_forward,
    "C3k2": c2f_forward,
    "C2PSA": c2psa_forward,
    "PSABlock": psa_block_forward,
    "SPPF": sppf_forward,
}
"""Replacement forward of each block of ultralytics, by class name."""


def skip_concatenation(layers: Any) -> None:
    """Skip the concatenation before a C3k2 block: the block gets both tensors and its first convolution joins them.

    If the first tensor comes from a 2x nearest-neighbour upsampling, that step is skipped too.
    """
    for number in range(1, len(layers) - 1):
        before, layer, after = layers[number - 1 : number + 2]
        takes_both = type(after).__name__ == "C3k2" and after.f == -1 and c2f_forward(after) is not None
        if type(layer).__name__ != "Concat" or len(layer.f) != 2 or layer.f[0] != -1 or not takes_both:
            continue
        layer.forward = list
        is_doubled = isinstance(before, torch.nn.Upsample) and before.mode == "nearest" and before.scale_factor == 2.0
        if is_doubled:
            before.forward = torch.nn.Identity().forward
