"""Simulated quantization: inputs and weights of convolutions are rounded to eight-bit levels.

The arithmetic stays in floating point, so a network runs wherever torch does and can be trained: rounding passes the
gradient unchanged (straight-through estimator). Post-training quantization, the sensitivity of layers, and
quantization-aware training use it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import nn

from perception.networks.calibration import LEVELS, Range

WEIGHT_LEVEL_MAX = 127


class QuantizedConv2d(nn.Module):
    """A convolution whose input is rounded to the levels of the range `given`, and its weight to levels -127..127.

    With `per_channel`, each output channel has its own scale; otherwise the whole weight has one. The scales follow
    the weight while it is trained; `freeze` makes them constants.
    """

    def __init__(self, conv: nn.Conv2d, given: Range, per_channel: bool) -> None:
        super().__init__()
        self.conv, self.per_channel = conv, per_channel
        self.scale, self.zero_point = given.scale, given.zero_point
        self.register_buffer("frozen_scales", None)

    @property
    def range(self) -> Range:
        """The range of the input."""
        return Range(-self.zero_point * self.scale, (LEVELS - 1 - self.zero_point) * self.scale)

    def freeze(self) -> None:
        """Make the scales of the weight constants, as in an exported network."""
        self.frozen_scales = weight_scales(self.conv.weight, self.per_channel)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounded = torch.fake_quantize_per_tensor_affine(_single(x), self.scale, self.zero_point, 0, LEVELS - 1)
        weight = quantized_weight(self.conv.weight, self.per_channel, self.frozen_scales)
        if x.dtype != torch.float32:
            rounded, weight = rounded.to(x.dtype), weight.to(x.dtype)
        found: torch.Tensor = self.conv._conv_forward(rounded, weight, self.conv.bias)
        return found


def weight_scales(weight: torch.Tensor, per_channel: bool) -> torch.Tensor:
    """The scale of each output channel, (channels,) float32; without `per_channel` all are equal."""
    largest = weight.detach().float().abs().flatten(1).amax(dim=1)
    if not per_channel:
        largest = largest.amax().expand_as(largest)
    return (largest.clamp_min(1e-12) / WEIGHT_LEVEL_MAX).contiguous()


def quantized_weight(weight: torch.Tensor, per_channel: bool, scales: torch.Tensor | None = None) -> torch.Tensor:
    """The weight (channels, ...) rounded to eight bits around zero, in floating point; `scales` are computed if None.

    Level -128 is allowed, because ONNX has no range without it, but no weight reaches it.
    """
    used = weight_scales(weight, per_channel) if scales is None else scales
    zeros = torch.zeros_like(used, dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(
        _single(weight), used, zeros, 0, -WEIGHT_LEVEL_MAX - 1, WEIGHT_LEVEL_MAX
    )


def _single(x: torch.Tensor) -> torch.Tensor:
    """`x` in float32. Without an operation if it is float32 already, so that none is exported."""
    return x if x.dtype == torch.float32 else x.float()


def quantizable(model: nn.Module, keep: Callable[[str], bool] = lambda name: False) -> list[str]:
    """Names of the convolutions of `model`, without those that `keep` leaves in floating point."""
    return [name for name, module in model.named_modules() if isinstance(module, nn.Conv2d) and not keep(name)]


def quantized(
    model: nn.Module, ranges: Mapping[str, Range], per_channel: bool = True, keep: Collection[str] = ()
) -> Any:
    """A copy of `model` whose convolutions named in `ranges` compute in eight bits, except those in `keep`.

    Batch norm must be folded into the convolutions before, since a processor runs them as one.
    """
    out = copy.deepcopy(model)
    for name, given in ranges.items():
        if name in keep:
            continue
        parent, _, last = name.rpartition(".")
        conv = out.get_submodule(name)
        if not isinstance(conv, nn.Conv2d):
            raise TypeError(f"{name} is {type(conv).__name__}, not a convolution")
        setattr(out.get_submodule(parent), last, QuantizedConv2d(conv, given, per_channel))
    return out


def rounds(model: nn.Module) -> bool:
    """Whether a network already has quantized convolutions, because it was trained in eight bits."""
    return any(isinstance(module, QuantizedConv2d) for module in model.modules())


def sensitivities(
    model: nn.Module, ranges: Mapping[str, Range], outputs: Callable[[Any], torch.Tensor], per_channel: bool = True
) -> dict[str, float]:
    """The error of the outputs when a single layer is in eight bits, relative to the outputs' standard deviation.

    By layer, the most sensitive first. `outputs(model)` runs the model on some pictures.
    """
    with torch.no_grad():
        wanted = outputs(model).float()
        whole = float((wanted - wanted.mean()).square().mean())
        found = {}
        for name, given in ranges.items():
            moved = outputs(quantized(model, {name: given}, per_channel)).float()
            found[name] = (float((moved - wanted).square().mean()) / max(whole, 1e-12)) ** 0.5
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
