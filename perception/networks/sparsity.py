"""Sparse weights: sets weights to zero in a pattern, and keeps them zero in training.

* `2:4`: of four consecutive input channels, at each position of the kernel, at most two weights are nonzero. NVIDIA's
  tensor cores since Ampere skip the zeros of this pattern, at up to twice the speed (Mishra et al., 2021).
* `single`: the least important weights of all layers are zero, without a pattern. This is not faster on any processor
  that the project supports.

The importance of a weight is its magnitude with batch norm folded in. Optionally it is multiplied by the root mean
square of the weight's input (Sun et al., "Wanda", 2023), because a small weight on a large input matters too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

OF, KEPT = 4, 2
"""Weights in a group of the 2:4 pattern, and maximum number of nonzero weights in it."""

SPARSE_MIN = 0.05
"""Minimum fraction of zeros in a sparse weight; a dense weight in fp16 has a few zeros too."""

Masks = dict[str, torch.Tensor]
"""For each convolution, the mask of the weights that are kept."""


def two_of_four(scores: torch.Tensor) -> torch.Tensor:
    """The 2:4 mask of a weight with these scores (out, in, height, width). Raises ValueError unless 4 divides `in`."""
    if scores.shape[1] % OF:
        raise ValueError(f"{scores.shape[1]} input channels: not a multiple of {OF}")
    grouped = _grouped(scores)
    best = grouped.argsort(dim=-1, descending=True, stable=True)[..., :KEPT]
    mask = torch.zeros_like(grouped, dtype=torch.bool).scatter_(-1, best, True)
    return mask.flatten(3).movedim(3, 1).contiguous()


def is_two_of_four(weight: torch.Tensor) -> bool:
    """Whether at most two of every four weights are nonzero."""
    return weight.shape[1] % OF == 0 and bool(((_grouped(weight) != 0).sum(dim=-1) <= KEPT).all())


def largest(scores: Mapping[str, torch.Tensor], share: float) -> Masks:
    """Masks that keep `share` of all weights, those with the largest scores over all layers."""
    every = torch.cat([one.flatten() for one in scores.values()])
    kept = torch.zeros(len(every), dtype=torch.bool)
    kept[every.argsort(descending=True, stable=True)[: round(share * len(every))]] = True
    parts = kept.split([one.numel() for one in scores.values()])
    return {name: part.reshape(one.shape) for (name, one), part in zip(scores.items(), parts, strict=True)}


def sparse_layers(model: Any) -> list[str]:
    """Convolutions that can be sparse: outside the head, not depthwise, with a multiple of four input channels."""
    head = f"model.{len(model.model) - 1}."
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Conv2d)
        and not name.startswith(head)
        and module.groups == 1
        and module.in_channels % OF == 0
    ]


def input_scales(model: nn.Module, layers: Iterable[str], run: Callable[[], Any]) -> dict[str, torch.Tensor]:
    """Root mean square of each input channel of the convolutions `layers`, over the inputs that `run` passes."""
    sums: dict[str, torch.Tensor] = {}
    calls: dict[str, int] = {}

    def see(name: str, module: nn.Module, inputs: Any) -> None:
        found = inputs[0].detach().float().square().mean(dim=(0, 2, 3))
        sums[name] = sums.get(name, torch.zeros_like(found)) + found
        calls[name] = calls.get(name, 0) + 1

    hooks = [model.get_submodule(name).register_forward_pre_hook(partial(see, name)) for name in layers]
    try:
        with torch.no_grad():
            run()
    finally:
        for hook in hooks:
            hook.remove()
    return {name: (total / calls[name]).sqrt() for name, total in sums.items()}


def weight_scores(
    model: nn.Module, layers: Iterable[str], inputs: Mapping[str, torch.Tensor] | None = None
) -> dict[str, torch.Tensor]:
    """Importance of the weights of the convolutions `layers`; `inputs` is the result of `input_scales`, if used."""
    scores = {}
    for name in layers:
        conv = model.get_submodule(name)
        assert isinstance(conv, nn.Conv2d)
        score = conv.weight.detach().float().abs()
        norm = getattr(model.get_submodule(name.rpartition(".")[0]), "bn", None)
        if isinstance(norm, nn.BatchNorm2d):
            assert norm.running_var is not None
            factor = norm.weight.detach().float().abs() / (norm.running_var.float() + norm.eps).sqrt()
            score = score * factor[:, None, None, None]
        if inputs is not None:
            score = score * inputs[name][None, :, None, None]
        scores[name] = score
    return scores


def apply(model: nn.Module, masks: Mapping[str, torch.Tensor]) -> None:
    """Set all weights outside `masks` to zero, in place."""
    with torch.no_grad():
        for name, mask in masks.items():
            weight = model.get_submodule(name).weight
            assert isinstance(weight, nn.Parameter)
            weight.mul_(mask.to(weight.device))


def masks_of(model: nn.Module) -> Masks:
    """The masks of the nonzero weights of all sparse convolutions."""
    found = {name: one.weight.detach() != 0 for name, one in model.named_modules() if isinstance(one, nn.Conv2d)}
    return {name: mask for name, mask in found.items() if float((~mask).float().mean()) >= SPARSE_MIN}


def hold_zeros(model: nn.Module, optimizer: torch.optim.Optimizer) -> Masks:
    """Keep the present zeros: each step of `optimizer` sets these weights to zero again. Returns the masks."""
    masks = masks_of(model)
    optimizer.register_step_post_hook(lambda *_: apply(model, masks))
    return masks


def _grouped(weight: torch.Tensor) -> torch.Tensor:
    """(out, height, width, groups, 4): the groups of four consecutive input channels."""
    moved = weight.movedim(1, 3)
    return moved.reshape(*moved.shape[:3], -1, OF)
