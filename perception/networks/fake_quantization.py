"""Networks that compute as eight bits would: inputs and weights of convolutions are rounded to their levels.

The arithmetic stays in floating point, so a network runs wherever torch does, and can be trained: rounding passes
gradients on as if it were not there (the straight-through estimator). This serves post-training quantization, the
sensitivity of each layer, and quantization-aware training alike.
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
    """A convolution whose input is rounded to the levels of `given`, and whose weight is rounded to -127..127.

    `per_channel` gives each output channel a scale of its own; otherwise the whole weight has one.
    """

    def __init__(self, conv: nn.Conv2d, given: Range, per_channel: bool) -> None:
        super().__init__()
        self.conv, self.per_channel = conv, per_channel
        self.scale, self.zero_point = given.scale, given.zero_point

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounded = torch.fake_quantize_per_tensor_affine(x.float(), self.scale, self.zero_point, 0, LEVELS - 1)
        weight = quantized_weight(self.conv.weight, self.per_channel)
        found: torch.Tensor = self.conv._conv_forward(rounded.to(x.dtype), weight.to(x.dtype), self.conv.bias)
        return found


def quantized_weight(weight: torch.Tensor, per_channel: bool) -> torch.Tensor:
    """The weight (channels, ...) rounded to eight bits around zero, in floating point."""
    values = weight.float()
    if not per_channel:
        scale = float(values.detach().abs().amax().clamp_min(1e-12)) / WEIGHT_LEVEL_MAX
        return torch.fake_quantize_per_tensor_affine(values, scale, 0, -WEIGHT_LEVEL_MAX, WEIGHT_LEVEL_MAX)
    scales = values.detach().flatten(1).abs().amax(dim=1).clamp_min(1e-12) / WEIGHT_LEVEL_MAX
    zeros = torch.zeros_like(scales, dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(values, scales, zeros, 0, -WEIGHT_LEVEL_MAX, WEIGHT_LEVEL_MAX)


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


def sensitivities(
    model: nn.Module, ranges: Mapping[str, Range], outputs: Callable[[Any], torch.Tensor], per_channel: bool = True
) -> dict[str, float]:
    """By layer: how far the outputs move when this layer alone is in eight bits, relative to their own deviation.

    `outputs(model)` runs the model on some pictures. The layers come in order, the most sensitive one first.
    """
    with torch.no_grad():
        wanted = outputs(model).float()
        whole = float((wanted - wanted.mean()).square().mean())
        found = {}
        for name, given in ranges.items():
            moved = outputs(quantized(model, {name: given}, per_channel)).float()
            found[name] = (float((moved - wanted).square().mean()) / max(whole, 1e-12)) ** 0.5
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
