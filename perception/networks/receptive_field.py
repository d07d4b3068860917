"""Measures the theoretical and the effective receptive fields of a network's layers.

The *theoretical* field of an output is the part of the input that can change it. It is measured by a gradient: with
positive weights, no biases, and averages instead of maxima nothing cancels, so the gradient of an output is nonzero
exactly within the field. This needs no knowledge of the network's graph, and is exact for branches, concatenations and
attention. Only rows are measured, on a high and narrow input: with square kernels, fields are square.

The *effective* field (Luo et al., 2016) is the area where the gradient of an output in the middle is large for real
inputs. Outputs are multiplied by random signs, so that channels do not cancel, and squared gradients are summed over
inputs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.overrides import TorchFunctionMode

Float = NDArray[np.float64]

HEIGHT_PX, WIDTH_PX = 1536, 64
"""Size of the input on which theoretical fields are measured, px."""

SHARE = 0.9
"""Fraction of the effective field that its size encloses."""


@dataclass(frozen=True, slots=True)
class LayerField:
    """The theoretical field of one layer.

    * `size_px`: number of input rows that can change an output.
    * `stride_px`: distance between the fields of neighbouring outputs.
    * `reaches_border`: the measured input was too small; the true size is `size_px` or more.
    """

    name: str
    kind: str
    size_px: int
    stride_px: float
    reaches_border: bool


@dataclass(frozen=True, slots=True)
class EffectiveField:
    """The effective field of one layer: `map` (H, W) is the gradient's magnitude in the input, which sums to 1."""

    name: str
    map: Float

    @property
    def sigma_px(self) -> float:
        """Standard deviation of the map, the mean of both axes."""
        variances = []
        for axis in (0, 1):
            profile = self.map.sum(axis=1 - axis)
            at = np.arange(len(profile))
            middle = (profile * at).sum()
            variances.append((profile * (at - middle) ** 2).sum())
        return float(np.sqrt(np.mean(variances)))

    @property
    def size_px(self) -> int:
        """Side of the smallest square around the maximum that holds `SHARE` of the map."""
        row, column = self._middle()
        for half in range(max(self.map.shape)):
            inside = self.map[max(row - half, 0) : row + half + 1, max(column - half, 0) : column + half + 1]
            if inside.sum() >= SHARE:
                return 2 * half + 1
        return 2 * int(max(self.map.shape))

    @property
    def gaussian_fit(self) -> float:
        """Fraction of the row profile's variance that a Gaussian with its mean and standard deviation explains."""
        profile = self.map.sum(axis=1)
        at = np.arange(len(profile))
        middle = (profile * at).sum()
        deviation = np.sqrt((profile * (at - middle) ** 2).sum())
        gaussian = np.exp(-0.5 * ((at - middle) / deviation) ** 2)
        gaussian /= gaussian.sum()
        near = np.abs(at - middle) <= 3.0 * deviation
        wrong, whole = profile[near] - gaussian[near], profile[near] - profile[near].mean()
        return float(1.0 - (wrong**2).sum() / (whole**2).sum())

    def _middle(self) -> tuple[int, int]:
        rows, columns = np.arange(self.map.shape[0]), np.arange(self.map.shape[1])
        return round(float(self.map.sum(axis=1) @ rows)), round(float(self.map.sum(axis=0) @ columns))


def layers_of(model: nn.Module) -> list[str]:
    """Names of the modules that change the field: modules without children that are not activations."""
    plain = (nn.Identity, nn.Dropout, nn.modules.batchnorm._BatchNorm, nn.ReLU, nn.SiLU, nn.GELU, nn.LayerNorm)
    return [
        name
        for name, module in model.named_modules()
        if name and not any(True for _ in module.children()) and not isinstance(module, plain)
    ]


def theoretical_fields(
    model: nn.Module, layers: Sequence[str] | None = None, size_px: tuple[int, int] = (HEIGHT_PX, WIDTH_PX)
) -> list[LayerField]:
    """The theoretical field of each of `layers` (names of modules; by default all of `layers_of`), in their order.

    Layers that the forward pass does not reach, or whose outputs are not maps (N, C, H, W), are left out. `model` is
    not changed. `size_px` is (height, width) of the input.
    """
    positive = _positive(model)
    picture = torch.ones((1, 3, *size_px), dtype=torch.float64, requires_grad=True)
    wanted = list(layers_of(positive) if layers is None else layers)
    out = []
    with _AverageForMaximum(), _outputs(positive, wanted) as outputs:
        positive(picture)
        for name in wanted:
            if name not in outputs or outputs[name].ndim != 4:
                continue
            output = outputs[name]
            middle = output[:, :, output.shape[2] // 2, output.shape[3] // 2].sum()
            (gradient,) = torch.autograd.grad(middle, picture, retain_graph=True)
            rows = torch.nonzero(gradient[0].abs().sum(dim=(0, 2))).flatten()
            first, last = int(rows[0]), int(rows[-1])
            kind = type(positive.get_submodule(name)).__name__
            reaches = first == 0 or last == size_px[0] - 1
            out.append(LayerField(name, kind, last - first + 1, size_px[0] / output.shape[2], reaches))
    return out


def effective_field(
    model: nn.Module, layer: str, pictures: Iterable[torch.Tensor], seed: int = 0, draws: int = 1
) -> EffectiveField:
    """The effective field of `layer` over `pictures`, each (N, 3, H, W), with `draws` sets of random signs for each.

    The mode of the network, training or evaluation, is not changed.
    """
    generator = torch.Generator().manual_seed(seed)
    energy: torch.Tensor | None = None
    for batch in pictures:
        given = batch.detach().clone().requires_grad_(True)
        with _outputs(model, [layer]) as outputs:
            model(given)
        output = outputs[layer]
        middle = _middle(output)
        for draw in range(draws):
            signs = torch.randint(0, 2, tuple(middle.shape), generator=generator).to(middle) * 2 - 1
            (gradient,) = torch.autograd.grad((middle * signs).sum(), given, retain_graph=draw + 1 < draws)
            squared = gradient.double().square().sum(dim=(0, 1))
            energy = squared if energy is None else energy + squared
    if energy is None:
        raise ValueError("no pictures")
    magnitude = energy.sqrt().cpu().numpy()
    return EffectiveField(layer, np.asarray(magnitude / magnitude.sum()))


def _middle(output: torch.Tensor) -> torch.Tensor:
    """The channels in the middle of an output: a map (N, C, H, W), or tokens (N, T, C) that form a square."""
    if output.ndim == 4:
        return output[:, :, output.shape[2] // 2, output.shape[3] // 2]
    side = int(np.sqrt(output.shape[1]))
    first = output.shape[1] - side * side  # a class token comes before the others
    return output[:, first + (side // 2) * side + side // 2]


def _positive(model: nn.Module) -> Any:
    """A copy of `model` in float64 and evaluation mode, whose layers average their inputs with positive weights."""
    out = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        for module in out.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.reset_running_stats()
            for name, parameter in module.named_parameters(recurse=False):
                parameter.requires_grad_(False)
                is_weight = parameter.ndim > 1
                is_norm = not is_weight and name == "weight"
                parameter.fill_(1.0 / parameter[0].numel() if is_weight else float(is_norm))
    return out


class _AverageForMaximum(TorchFunctionMode):
    """Replaces max pooling by average pooling, whose gradient reaches all inputs of the window."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.max_pool2d, nn.functional.max_pool2d):
            return _average(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _average(
    x: torch.Tensor, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    **_: Any,
) -> torch.Tensor:  # fmt: skip
    if dilation not in (1, (1, 1), [1, 1]):
        raise ValueError("the field of a dilated max pool is not implemented")
    return nn.functional.avg_pool2d(x, kernel, stride or kernel, padding, ceil_mode=ceil_mode)


@contextmanager
def _outputs(model: nn.Module, names: Sequence[str]) -> Iterator[dict[str, torch.Tensor]]:
    """The outputs of the named modules in the last forward pass."""
    found: dict[str, torch.Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            if isinstance(output, torch.Tensor):
                found[name] = output.clone()  # an activation may change it in place

        return hook

    hooks = [model.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    try:
        yield found
    finally:
        for each in hooks:
            each.remove()
