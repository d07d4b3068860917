"""Channel pruning: removes whole channels of a YOLO network, which leaves a smaller dense network.

Each channel has a score, an estimate of the accuracy lost by its removal:

* `taylor`: the squared first-order change of the training loss, measured on pictures (Molchanov et al., 2019).
* `scale`: the magnitude of its batch norm's factor (Liu et al., "network slimming", 2017).
* `filters`: the sum of the magnitudes of its filter's weights (Li et al., 2017).

Channels are removed in steps; a step removes the channels with the lowest score per saved multiplication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from perception.networks.channels import Channels, Layer

STEP = 8
"""Number of channels removed in a step. Widths stay multiples of it, because processors compute 8 or 16 at a time."""

LEAST_SHARE = 0.25
"""Minimum fraction of its channels that every convolution keeps, so that no part of the network is cut off."""

OUTPUT_COST = 64.0
"""Cost of writing one value, in multiplications; without it, narrow layers with large maps would seem cheap."""

Scores = dict[int, torch.Tensor]
"""The scores of the channels of each root segment."""


def scale_scores(channels: Channels) -> Scores:
    """The magnitudes of batch norm's factors, relative to their sum over the segment."""
    return _relative(channels, lambda norm, conv: norm.weight.detach().float().abs())


def filter_scores(channels: Channels) -> Scores:
    """The sums of the filters' magnitudes with batch norm folded in, relative to their sum over the segment."""
    return _relative(
        channels,
        lambda norm, conv: (
            conv.weight.detach().float().abs().flatten(1).sum(dim=1)
            * norm.weight.detach().float().abs()
            / (norm.running_var.float() + norm.eps).sqrt()
        ),
    )


def taylor_scores(channels: Channels, losses: Iterable[torch.Tensor]) -> Scores:
    """The squared first-order change of the loss by the removal of each channel, averaged over `losses`.

    Each of `losses` is the loss of some pictures, with a gradient for batch norm's parameters. A factor z on a channel
    of batch norm's output has the gradient w dL/dw + b dL/db.
    """
    norms = [layer.norm for layer in channels.layers if layer.norm is not None]
    total: Scores = {}
    count = 0
    for loss in losses:
        for norm in norms:
            norm.weight.grad = norm.bias.grad = None
        loss.backward()
        gates: Scores = {}
        for root, start, layer in _makers(channels):
            if layer.norm is None or layer.norm.weight.grad is None:  # the gradient does not reach this layer
                continue
            weight, bias = layer.norm.weight, layer.norm.bias
            assert weight.grad is not None
            assert bias.grad is not None
            gate = (weight * weight.grad + bias * bias.grad).detach()[start : start + channels.widths[root]].float()
            gates[root] = gates.get(root, torch.zeros_like(gate)) + gate
        for root, gate in gates.items():
            total[root] = total.get(root, torch.zeros_like(gate)) + gate.square()
        count += 1
    return {root: value / max(count, 1) for root, value in total.items()}


def choose(
    channels: Channels, scores: Scores, share: float, step: int = STEP, least: float = LEAST_SHARE
) -> dict[int, torch.Tensor]:
    """Choose the channels to keep, by root segment, so that at most `share` of the deployed network's cost remains.

    Groups without scores are kept whole. Raises ValueError if `share` cannot be reached.
    """
    counts = {root: channels.widths[root] for root in {channels.root(s) for s in range(len(channels.widths))}}
    order = {root: torch.sort(value, stable=True) for root, value in scores.items()}
    groups = [group for group in channels.groups() if all(root in order for root in group)]
    touching = {group: _touching(channels, group) for group in groups}
    least_of = {group: max(round(least * channels.widths[group[0]]), 1) for group in groups}
    target = share * cost(channels, channels.layers, counts)
    left = cost(channels, channels.layers, counts)
    while left > target:
        best, best_rate, best_saved = None, float("inf"), 0.0
        for group in groups:
            gone = channels.widths[group[0]] - counts[group[0]]
            if counts[group[0]] - step < least_of[group]:
                continue
            lost = sum(float(order[root].values[gone : gone + step].sum()) for root in group)
            fewer = {**counts, **{root: counts[root] - step for root in group}}
            saved = cost(channels, touching[group], counts) - cost(channels, touching[group], fewer)
            if saved > 0.0 and lost / saved < best_rate:
                best, best_rate, best_saved = group, lost / saved, saved
        if best is None:
            raise ValueError(f"a share of {share:g} cannot be reached: the minimum is {left / target * share:.3f}")
        for root in best:
            counts[root] -= step
        left -= best_saved
    return {
        root: order[root].indices[channels.widths[root] - counts[root] :].sort().values
        if root in order
        else torch.arange(count)
        for root, count in counts.items()
    }


def prune(channels: Channels, kept: Mapping[int, torch.Tensor]) -> None:
    """Remove all channels that are not in `kept` from the network of `channels`, in place.

    Raises ValueError if tied segments would keep different numbers of channels.
    """
    for one, other in channels.tied:
        if len(kept[channels.root(one)]) != len(kept[channels.root(other)]):
            raise ValueError("the halves of a tensor would have different widths")
    for layer in channels.layers:
        written = _indices(channels, layer.writes, kept)
        read = _indices(channels, layer.reads, kept)
        weight = layer.conv.weight[written]
        layer.conv.weight = _parameter(weight if layer.is_depthwise else weight[:, read])
        if layer.conv.bias is not None:
            layer.conv.bias = _parameter(layer.conv.bias[written])
        layer.conv.in_channels, layer.conv.out_channels = len(read), len(written)
        if layer.is_depthwise:
            layer.conv.groups = len(written)
        if layer.norm is not None:
            _shrink(layer.norm, written)
    for module, segment in channels.halving:
        module.c = len(kept[channels.root(segment)])


def silence(channels: Channels, kept: Mapping[int, torch.Tensor]) -> None:
    """Set all channels that are not in `kept` to zero, in place; the outputs are those of the pruned network."""
    for layer in channels.layers:
        if layer.norm is None:
            continue
        gone = torch.ones(layer.conv.out_channels, dtype=torch.bool)
        gone[_indices(channels, layer.writes, kept)] = False
        with torch.no_grad():
            layer.norm.weight[gone] = 0.0
            layer.norm.bias[gone] = 0.0


def cost(channels: Channels, layers: Iterable[Layer], counts: Mapping[int, int]) -> float:
    """Cost of the deployed layers among `layers` with these numbers of channels, in multiplications per pixel."""
    total = 0.0
    for layer in layers:
        if not layer.is_deployed:
            continue
        read = sum(counts[channels.root(segment)] for segment in layer.reads)
        written = sum(counts[channels.root(segment)] for segment in layer.writes)
        size = layer.conv.kernel_size[0] * layer.conv.kernel_size[1] * (1 if layer.is_depthwise else read)
        total += (size + OUTPUT_COST) * written / layer.stride_px**2
    return total


def recalibrate(model: Any, batches: Iterable[torch.Tensor]) -> None:
    """Set batch norm's statistics to those of `batches` (N, 3, H, W) in 0..1."""
    norms = _norms(model)
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over the batches
    with torch.no_grad():
        for batch in batches:
            model(batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


def shift_statistics(model: Any, before: Any, after: Any) -> None:
    """Change the batch norm statistics of `model` by the difference between those of `after` and `before`.

    Both have the layers and widths of `model` and were recalibrated on the same pictures; `before` has the inputs from
    before the pruning. The statistics of a few pictures alone would be less accurate than those of a long training.
    """
    for norm, old, new in zip(_norms(model), _norms(before), _norms(after), strict=True):
        norm.running_mean += new.running_mean - old.running_mean
        norm.running_var *= new.running_var / old.running_var.clamp_min(1e-12)


def _norms(model: Any) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]


def _makers(channels: Channels) -> Iterable[tuple[int, int, Layer]]:
    """(root of the segment, its first channel in the layer, the layer) of each segment that a layer writes."""
    for layer in channels.layers:
        start = 0
        for segment in layer.writes:
            yield channels.root(segment), start, layer
            start += channels.widths[segment]


def _relative(channels: Channels, score: Callable[[Any, nn.Conv2d], torch.Tensor]) -> Scores:
    total: Scores = {}
    for root, start, layer in _makers(channels):
        if layer.norm is not None and not layer.is_depthwise:
            found = score(layer.norm, layer.conv)[start : start + channels.widths[root]]
            total[root] = total.get(root, torch.zeros_like(found)) + found / found.sum().clamp_min(1e-12)
    return total


def _touching(channels: Channels, group: tuple[int, ...]) -> list[Layer]:
    return [
        layer
        for layer in channels.layers
        if any(channels.root(segment) in group for segment in (*layer.reads, *layer.writes))
    ]


def _indices(channels: Channels, segments: tuple[int, ...], kept: Mapping[int, torch.Tensor]) -> torch.Tensor:
    """Indices of the kept channels in a tensor of these segments."""
    found, start = [], 0
    for segment in segments:
        found.append(kept[channels.root(segment)] + start)
        start += channels.widths[segment]
    return torch.cat(found)


def _shrink(norm: nn.BatchNorm2d, kept: torch.Tensor) -> None:
    norm.weight, norm.bias = _parameter(norm.weight[kept]), _parameter(norm.bias[kept])
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean, norm.running_var = norm.running_mean[kept].clone(), norm.running_var[kept].clone()
    norm.num_features = len(kept)


def _parameter(value: torch.Tensor) -> nn.Parameter:
    return nn.Parameter(value.detach().clone().contiguous())
