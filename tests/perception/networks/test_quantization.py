"""Calibration, rounding to eight bits, the sensitivity of layers, and training with rounded weights."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from torch import nn

from av_stack.cli.main import main
from perception.networks.aware_training import AwareSpec, train_aware
from perception.networks.calibration import (
    CALIBRATORS,
    LEVELS,
    Histogram,
    Range,
    by_entropy,
    by_max,
    by_percentile,
    histograms,
)
from perception.networks.fake_quantization import (
    QuantizedConv2d,
    quantizable,
    quantized,
    quantized_weight,
    sensitivities,
)
from tests.forked import forked

WEIGHTS = Path(__file__).parents[3] / "perception" / "weights" / "detector_n.pt"
STREET = Path(__file__).parents[1] / "pictures" / "detector_street.jpg"


def histogram_of(values: np.ndarray, bins: int = 2048) -> Histogram:
    counts, edges = np.histogram(values, bins)
    return Histogram(float(edges[0]), float(edges[-1]), counts.astype(np.float64))


def squared_error(values: np.ndarray, given: Range) -> float:
    levels = np.clip(np.round(values / given.scale) + given.zero_point, 0, LEVELS - 1)
    return float(np.square((levels - given.zero_point) * given.scale - values).mean())


def test_the_largest_range_holds_every_value_and_zero() -> None:
    assert by_max(histogram_of(np.array([2.0, 3.0, 5.0]))) == Range(0.0, 5.0)
    given = by_max(histogram_of(np.array([-0.28, 0.0, 6.0])))
    assert (given.low, given.high) == pytest.approx((-0.28, 6.0))
    assert (0 - given.zero_point) * given.scale == pytest.approx(given.low, abs=given.scale)
    assert given.zero_point == 11


def test_a_percentile_leaves_out_that_fraction_at_each_end() -> None:
    values = np.random.default_rng(0).normal(size=200_000)
    given = by_percentile(histogram_of(values), tail=0.01)
    assert (given.low, given.high) == pytest.approx(np.quantile(values, [0.01, 0.99]), abs=0.02)


def test_entropy_clips_a_long_tail_and_keeps_an_even_distribution() -> None:
    rng = np.random.default_rng(0)
    tailed = np.concatenate([rng.normal(size=200_000), [60.0, -60.0]])
    clipped, even = by_entropy(histogram_of(tailed)), by_entropy(histogram_of(rng.uniform(-1.0, 1.0, 200_000)))
    assert 3.0 < clipped.high < 20.0
    assert squared_error(tailed[:-2], clipped) < 0.2 * squared_error(tailed[:-2], by_max(histogram_of(tailed)))
    assert even.high > 0.95


@pytest.mark.parametrize("name", CALIBRATORS)
def test_every_calibrator_copes_with_activations_that_are_never_negative(name: str) -> None:
    values = np.maximum(np.random.default_rng(1).normal(size=50_000), 0.0)
    given = CALIBRATORS[name](histogram_of(values))
    assert given.low == 0.0
    assert given.zero_point == 0
    assert 1.0 < given.high <= values.max() + 1e-9


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.ReLU(), nn.Conv2d(4, 2, 1)).eval()


def run(model: nn.Module, pictures: torch.Tensor) -> None:
    for one in pictures:
        model(one[None])


def ranges_of(model: nn.Module, pictures: torch.Tensor) -> dict[str, Range]:
    seen = histograms(model, quantizable(model), lambda: run(model, pictures))
    return {name: by_max(one) for name, one in seen.items()}


def test_histograms_count_every_input_once() -> None:
    model, pictures = network(), torch.rand(3, 3, 8, 8)
    seen = histograms(model, ["0", "2"], lambda: run(model, pictures))
    assert seen["0"].counts.sum() == pictures.numel()
    assert seen["2"].counts.sum() == 3 * 8 * 6 * 6
    assert (seen["0"].low, seen["0"].high) == pytest.approx((float(pictures.min()), float(pictures.max())))


def test_weights_have_at_most_as_many_values_as_levels() -> None:
    weight = torch.randn(4, 32, 3, 3) * torch.tensor([0.01, 0.1, 1.0, 10.0])[:, None, None, None]
    per_tensor, per_channel = quantized_weight(weight, False), quantized_weight(weight, True)
    assert len(per_tensor.unique()) <= 255
    assert all(len(row.unique()) <= 255 for row in per_channel)
    error = [(one[0] - weight[0]).norm() / weight[0].norm() for one in (per_tensor, per_channel)]
    assert error[0] > 0.5, "the smallest channel vanishes with one scale for all"
    assert error[1] < 0.02


def test_a_quantized_network_is_near_its_original_and_leaves_it_alone() -> None:
    model, pictures = network(), torch.rand(4, 3, 8, 8)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    ranges = ranges_of(model, pictures)
    wanted = model(pictures)
    apart = float((quantized(model, ranges)(pictures) - wanted).detach().norm() / wanted.detach().norm())
    assert 0.0 < apart < 0.05
    assert torch.equal(quantized(model, ranges, keep=list(ranges))(pictures), wanted)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    with pytest.raises(TypeError, match="1 is ReLU"):
        quantized(model, {"1": Range(0.0, 1.0)})


def test_frozen_scales_no_longer_follow_the_weight() -> None:
    layer = QuantizedConv2d(nn.Conv2d(1, 1, 1, bias=False), Range(-1.0, 1.0), per_channel=True)
    layer.conv.weight.data.fill_(0.5)
    layer.freeze()
    layer.conv.weight.data.fill_(2.0)
    assert float(layer(torch.ones(1, 1, 1, 1)).detach()) == pytest.approx(0.5, abs=0.01), "clipped to the old range"


def test_the_layer_with_a_useless_range_is_the_most_sensitive_one() -> None:
    model, pictures = network(), torch.rand(4, 3, 8, 8)
    ranges = ranges_of(model, pictures) | {"2": Range(0.0, 500.0)}
    found = sensitivities(model, ranges, lambda one: one(pictures))
    assert list(found) == ["2", *sorted({"0", "4"}, key=lambda name: -found[name])]
    assert found["2"] > 10.0 * found["0"]


class Detecting(nn.Module):
    """A network with the outputs of a detector: rows, and scores and boxes of its one-to-one head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = network()

    def forward(self, x: torch.Tensor) -> tuple[None, dict[str, dict[str, torch.Tensor]]]:
        found = self.body(x).flatten(2)
        return None, {"one2one": {"scores": found[:, :1], "boxes": found[:, 1:]}}


def test_training_brings_the_rounded_network_nearer_to_the_float_one() -> None:
    model, pictures = Detecting().eval(), torch.rand(8, 3, 12, 12)
    ranges = {name: Range(-0.2, 2.0) for name in quantizable(model)}
    student = quantized(model, ranges, per_channel=False)
    for parameter in student.parameters():
        parameter.data += 0.02 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
    losses = train_aware(student, model, lambda: pictures, AwareSpec(steps=60, rate=3e-3))
    assert len(losses) == 60
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    weight = student.body.get_submodule("0").conv.weight
    assert len(quantized_weight(weight, False).detach().unique()) <= 255
    assert train_aware(student, model, lambda: pictures, AwareSpec(steps=9, seconds=1e-9)) == []


def test_the_command_writes_a_network_that_a_drive_can_use(tmp_path: Path) -> None:
    from perception.detection.detector import Detector
    from perception.detection.networks import OpenVinoNetwork
    from perception.detection.weights import COMPACT, COMPACT_SIZE_PX, exported
    from perception.networks.detector_quantization import QuantizationSpec, quantize_detector

    bgr = cv2.imread(str(STREET))
    assert bgr is not None
    paths = [tmp_path / f"{number}.png" for number in range(2)]
    for path in paths:
        cv2.imwrite(str(path), bgr)
    record = quantize_detector(COMPACT, paths, QuantizationSpec("max", keep=2, pictures=2), tmp_path / "out")
    assert record["kept"] == list(record["sensitivity"])[:2]
    made = exported(tmp_path / "out" / COMPACT.name, COMPACT_SIZE_PX, tmp_path / "cache")
    assert made.model.parent == tmp_path / "out", "it is not exported again"
    assert made.model.read_text().count('type="FakeQuantize"') > 0.9 * len(record["ranges"])
    found, shipped = (
        Detector(OpenVinoNetwork(one), 0.5).detect_in(np.asarray(bgr, np.uint8))
        for one in (made, exported(COMPACT, COMPACT_SIZE_PX))
    )
    assert {one.name for one in found} == {one.name for one in shipped}
    assert abs(len(found) - len(shipped)) <= 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("none.pt", "."), "WEIGHTS none.pt: no such file"),
        ((str(WEIGHTS), "."), "0 pictures in images/train; expected 300"),
        ((str(WEIGHTS), ".", "--method", "median"), "--method"),
        ((str(WEIGHTS), ".", "--per", "row"), "--per"),
    ],
)
def test_bad_options_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = forked(main, ("quantize", *options), 60.0)
    assert done.returncode == 2
    assert said in done.stderr
