"""Sparse weights: the 2:4 pattern, single weights, and a training that keeps the zeros."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from perception.networks.sparsity import (
    apply,
    hold_zeros,
    input_scales,
    is_two_of_four,
    largest,
    masks_of,
    two_of_four,
    weight_scores,
)


@settings(max_examples=20, deadline=None)
@given(
    out=st.integers(1, 5), groups=st.integers(1, 3), size=st.sampled_from([1, 3]), seed=st.integers(0, 10_000),
    levels=st.sampled_from([2, 5, 1000]),
)  # fmt: skip
def test_two_of_each_four_weights_are_kept_and_they_are_the_largest(
    out: int, groups: int, size: int, seed: int, levels: int
) -> None:
    """With few levels most weights are equal, so that ties must be broken."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randint(1, levels + 1, (out, 4 * groups, size, size), generator=generator).float()
    mask = two_of_four(weight)
    assert mask.shape == weight.shape
    assert is_two_of_four(weight * mask)
    for row, group, v, u in itertools.product(range(out), range(groups), range(size), range(size)):
        chosen = mask[row, 4 * group : 4 * group + 4, v, u]
        values = weight[row, 4 * group : 4 * group + 4, v, u]
        assert int(chosen.sum()) == 2
        assert values[chosen].min() >= values[~chosen].max()


def test_a_pattern_that_does_not_fit_is_refused() -> None:
    assert not is_two_of_four(torch.ones(1, 4, 1, 1))
    assert is_two_of_four(torch.tensor([1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]).reshape(1, 8, 1, 1))
    assert not is_two_of_four(
        torch.tensor([0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0]).roll(2).reshape(1, 8, 1, 1).roll(1, 1)
    )
    with pytest.raises(ValueError, match="6 input channels: not a multiple of 4"):
        two_of_four(torch.ones(2, 6, 3, 3))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_largest_weights_of_all_layers_are_kept(share: float) -> None:
    generator = torch.Generator().manual_seed(2)
    scores = {name: size * torch.rand((8, 8, 3, 3), generator=generator) for name, size in (("a", 1.0), ("b", 3.0))}
    masks = largest(scores, share)
    kept = torch.cat([scores[name][masks[name]] for name in scores])
    gone = torch.cat([scores[name][~masks[name]] for name in scores])
    assert len(kept) == round(share * 2 * 8 * 8 * 9)
    assert kept.min() >= gone.max()
    assert masks["b"].float().mean() > masks["a"].float().mean()


class Block(nn.Module):
    """A convolution with batch norm under the names that ultralytics gives them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.bn(self.conv(x)))


def weight_of(model: nn.Module, name: str) -> torch.Tensor:
    found = model.get_submodule(name).weight
    assert isinstance(found, nn.Parameter)
    return found.data


def test_scores_follow_what_a_weight_contributes() -> None:
    """The folded magnitude times that of the input: both layers' scores stay when a factor moves between them."""
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block()).eval()
    pictures = torch.rand(4, 8, 9, 9)
    names = ["0.conv", "1.conv"]
    before = weight_scores(model, names, input_scales(model, names, lambda: model(pictures)))
    plain = weight_scores(model, names)
    weight_of(model, "0.bn").mul_(10.0)
    model.get_parameter("0.bn.bias").data.mul_(10.0)
    weight_of(model, "1.conv").div_(10.0)
    after = weight_scores(model, names, input_scales(model, names, lambda: model(pictures)))
    torch.testing.assert_close(after["1.conv"], before["1.conv"])
    torch.testing.assert_close(after["0.conv"], 10.0 * before["0.conv"])
    torch.testing.assert_close(plain["0.conv"], weight_of(model, "0.conv").abs() / (1.0 + 1e-5) ** 0.5)


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW", "MuSGD"])
def test_zeros_survive_training(optimizer: str) -> None:
    """Also with momentum from before, and with Muon, whose steps mix the gradients of all weights."""
    from perception.detection.offline import ultralytics

    ultralytics()
    from ultralytics.optim import MuSGD

    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block())
    groups = [{"params": [p for p in model.parameters() if p.ndim == 4], "use_muon": True, "weight_decay": 0.01},
              {"params": [p for p in model.parameters() if p.ndim != 4], "use_muon": False}]  # fmt: skip
    makers: dict[str, Callable[[], torch.optim.Optimizer]] = {
        "SGD": lambda: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        "AdamW": lambda: torch.optim.AdamW(model.parameters(), lr=0.01),
        "MuSGD": lambda: MuSGD(groups, lr=0.1, momentum=0.9),
    }
    made = makers[optimizer]()

    def step() -> None:
        made.zero_grad()
        (model(torch.rand(4, 8, 9, 9)) - 1.0).square().mean().backward()
        made.step()

    step()
    apply(model, {"0.conv": two_of_four(weight_of(model, "0.conv").abs())})
    masks = hold_zeros(model, made)
    assert list(masks) == ["0.conv"], "the other layer is dense"
    before = weight_of(model, "0.conv").clone()
    for _ in range(5):
        step()
    after = weight_of(model, "0.conv")
    assert is_two_of_four(after)
    assert not after[~masks["0.conv"]].any()
    assert (after - before)[masks["0.conv"]].abs().mean() > 1e-4
    assert not masks_of(nn.Sequential(nn.Conv2d(8, 8, 3)))
    assert np.isclose(float(masks["0.conv"].float().mean()), 0.5)
