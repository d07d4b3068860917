"""Channel pruning: the smaller network gives what the full one gives without the removed channels."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from perception.detection.offline import ultralytics
from perception.networks.pruning import (
    choose,
    cost,
    filter_scores,
    prune,
    recalibrate,
    scale_scores,
    shift_statistics,
    silence,
    taylor_scores,
)

ultralytics()

from ultralytics.nn.tasks import DetectionModel  # noqa: E402

from perception.networks.channels import Channels, channels_of  # noqa: E402


@pytest.fixture(scope="module")
def detector() -> Any:
    """YOLO26n with random weights, and a batch norm with random parameters and the statistics of noise."""
    generator = torch.Generator().manual_seed(0)
    model = DetectionModel("yolo26n.yaml", nc=3, verbose=False)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            for value in (module.weight, module.bias):
                value.data.copy_(0.5 + 0.3 * torch.randn(value.shape, generator=generator))
    recalibrate(model, [torch.rand((2, 3, 64, 64), generator=generator)])
    return model.eval()


def outputs(model: Any) -> dict[str, torch.Tensor]:
    picture = torch.rand((1, 3, 64, 96), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        heads = model(picture)[1]
    return {f"{head} {name}": heads[head][name] for head in heads for name in ("boxes", "scores")}


def random_scores(channels: Channels, seed: int) -> dict[int, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    roots = {root for group in channels.groups() for root in group}
    return {root: torch.rand(channels.widths[root], generator=generator) for root in sorted(roots)}


def counts_of(channels: Channels) -> dict[int, int]:
    return {channels.root(s): channels.widths[s] for s in range(len(channels.widths))}


def test_every_convolution_is_found_with_its_channels(detector: Any) -> None:
    channels = channels_of(detector)
    found = {layer.name: layer for layer in channels.layers}
    convolutions = {name: one for name, one in detector.named_modules() if isinstance(one, nn.Conv2d)}
    assert set(found) == set(convolutions)
    for name, layer in found.items():
        assert sum(channels.widths[segment] for segment in layer.reads) == convolutions[name].in_channels
        assert sum(channels.widths[segment] for segment in layer.writes) == convolutions[name].out_channels
    assert found["model.7.conv"].stride_px == 32
    assert found["model.16.cv1.conv"].stride_px == 8
    assert {layer.stride_px for name, layer in found.items() if "one2one" in name} == {8, 16, 32}


@pytest.mark.parametrize(("seed", "share"), [(0, 0.75), (1, 0.4)])
def test_the_pruned_network_gives_what_the_full_one_gives_with_these_channels_zero(
    detector: Any, seed: int, share: float
) -> None:
    small, silent = copy.deepcopy(detector), copy.deepcopy(detector)
    channels = channels_of(small)
    kept = choose(channels, random_scores(channels, seed), share)
    left = cost(channels, channels.layers, {root: len(indices) for root, indices in kept.items()})
    assert left <= share * cost(channels, channels.layers, counts_of(channels))
    prune(channels, kept)
    silence(channels_of(silent), kept)
    wanted, full = outputs(silent), outputs(detector)
    for name, found in outputs(small).items():
        torch.testing.assert_close(found, wanted[name], atol=1e-4, rtol=1e-4)
        assert (found - full[name]).abs().max() > 1e-2
    smaller = channels_of(small)
    assert cost(smaller, smaller.layers, counts_of(smaller)) == pytest.approx(left)


def test_a_pruned_network_can_be_pruned_again(detector: Any) -> None:
    model = copy.deepcopy(detector)
    for seed in (0, 1):
        channels = channels_of(model)
        prune(channels, choose(channels, random_scores(channels, seed), 0.7))
    assert {tuple(value.shape) for value in outputs(model).values()} == {
        tuple(value.shape) for value in outputs(detector).values()
    }


def test_widths_are_multiples_of_the_step_and_no_part_vanishes(detector: Any) -> None:
    channels = channels_of(detector)
    kept = choose(channels, random_scores(channels, 5), 0.4, step=8)
    for root, width in counts_of(channels).items():
        assert len(kept[root]) >= 0.25 * width
        assert len(kept[root]) % 8 == 0 or len(kept[root]) == width
    with pytest.raises(ValueError, match=r"a share of 0\.01 cannot be reached"):
        choose(channels, random_scores(channels, 5), 0.01)


def test_the_channels_of_the_least_scores_go(detector: Any) -> None:
    channels = channels_of(detector)
    scores = random_scores(channels, 2)
    for root, indices in choose(channels, scores, 0.6).items():
        if root in scores and len(indices) < channels.widths[root]:
            gone = torch.ones(channels.widths[root], dtype=torch.bool)
            gone[indices] = False
            assert scores[root][gone].max() <= scores[root][indices].min()


def test_a_channel_without_effect_has_no_score(detector: Any) -> None:
    """By `taylor` where the batch norm gives zero; by `scale` and `filters` where its factor is zero."""
    model = copy.deepcopy(detector)
    norm = model.get_submodule("model.1.bn")
    norm.weight.data[3], norm.bias.data[3] = 0.0, 0.0
    channels = channels_of(model)
    (root,) = next(layer.writes for layer in channels.layers if layer.name == "model.1.conv")
    picture = torch.rand(1, 3, 32, 32)
    losses = (model(picture)[1]["one2many"]["scores"].square().mean() for _ in range(2))
    taylor = taylor_scores(channels, losses)
    for scores in (taylor, scale_scores(channels), filter_scores(channels)):
        score = scores[channels.root(root)]
        assert score.shape == (32,)
        assert score[3] == 0.0
        assert (score[torch.arange(32) != 3] > 0.0).all()


def test_taylor_is_the_square_of_the_losses_derivative_by_a_factor_on_the_channel(detector: Any) -> None:
    model = copy.deepcopy(detector).double()
    channels = channels_of(model)
    (root,) = next(layer.writes for layer in channels.layers if layer.name == "model.3.conv")
    picture = torch.rand((1, 3, 32, 32), generator=torch.Generator().manual_seed(4)).double()

    def loss(factor: float = 1.0) -> torch.Tensor:
        norm = model.get_submodule("model.3.bn")
        before = norm.weight.data[7].clone(), norm.bias.data[7].clone()
        norm.weight.data[7] *= factor
        norm.bias.data[7] *= factor
        found: torch.Tensor = model(picture)[1]["one2many"]["scores"].square().mean()
        norm.weight.data[7], norm.bias.data[7] = before
        return found

    with torch.no_grad():
        slope = (loss(1.0 + 1e-5) - loss(1.0 - 1e-5)) / 2e-5
    found = taylor_scores(channels, [loss()])[channels.root(root)]
    assert float(found[7]) == pytest.approx(float(slope) ** 2, rel=1e-3)


def test_recalibration_measures_the_statistics_of_the_pictures(detector: Any) -> None:
    model = copy.deepcopy(detector)
    batches = [torch.rand((2, 3, 32, 32), generator=torch.Generator().manual_seed(k)) for k in range(3)]
    recalibrate(model, batches)
    with torch.no_grad():
        made = [model.get_submodule("model.0.conv")(batch) for batch in batches]
    norm = model.get_submodule("model.0.bn")
    wanted = np.mean([one.mean(dim=(0, 2, 3)).numpy() for one in made], axis=0)
    np.testing.assert_allclose(norm.running_mean.numpy(), wanted, atol=1e-5)
    assert not model.training
    assert norm.momentum == pytest.approx(0.03)


def test_statistics_move_by_what_the_pruning_changed(detector: Any) -> None:
    """Nothing moves where nothing was pruned; else the mean by the difference, and the variance by the ratio."""
    model, pictures = copy.deepcopy(detector), [torch.rand((2, 3, 32, 32), generator=torch.Generator().manual_seed(6))]
    before, after = copy.deepcopy(model), copy.deepcopy(model)
    recalibrate(before, pictures)
    recalibrate(after, pictures)
    shift_statistics(model, before, after)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, detector.state_dict()[name])
    after.get_submodule("model.0.conv").weight.data.mul_(2.0)
    recalibrate(after, pictures)
    shift_statistics(model, before, after)
    old, new = (one.get_submodule("model.0.bn") for one in (detector, model))
    measured = before.get_submodule("model.0.bn")
    torch.testing.assert_close(new.running_mean, old.running_mean + measured.running_mean)
    torch.testing.assert_close(new.running_var, 4.0 * old.running_var, rtol=1e-3, atol=1e-6)


def test_an_unknown_module_is_named(detector: Any) -> None:
    model = copy.deepcopy(detector)
    model.model[9] = nn.Identity()
    model.model[9].f, model.model[9].i = -1, 9
    with pytest.raises(TypeError, match=r"model\.9 is Identity"):
        channels_of(model)
