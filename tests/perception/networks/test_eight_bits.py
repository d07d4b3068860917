"""Weights stored in eight bits: what is lost, what stays, and which files can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

from perception.detection.finetune import load_weights
from perception.detection.offline import ultralytics
from perception.detection.weights import COMPACT, LARGE
from perception.networks.compressed import SMALLEST
from perception.networks.eight_bits import VERSION, quantize_weight, restore, save_eight_bits

DOCS = Path(__file__).parents[3] / "docs"


def test_each_channel_keeps_its_own_scale() -> None:
    weight = torch.randn(3, 8, 3, 3, generator=torch.Generator().manual_seed(1))
    weight *= torch.tensor([1e-3, 1.0, 50.0])[:, None, None, None]
    levels, scale = quantize_weight(weight)
    assert levels.dtype == torch.int8
    step = weight.flatten(1).abs().amax(dim=1) / 127
    assert (scale <= step * 1.001).all()
    error = (restore(VERSION, levels, scale).float() - weight).flatten(1).square().mean(dim=1).sqrt()
    assert (error <= 0.5 * step).all()


def test_a_clipped_range_is_chosen_where_it_errs_less() -> None:
    row = torch.full((1, 4096), 0.3)
    row[0, ::2] = -0.3
    row[0, 0] = 0.31
    levels, scale = quantize_weight(row)
    plain = row.abs().max() / 127
    of_plain = ((row / plain).round() * plain - row).square().sum()
    assert (restore(VERSION, levels, scale).float() - row).square().sum() < of_plain


def test_a_channel_of_zeros_stays_zero() -> None:
    assert not restore(VERSION, *quantize_weight(torch.zeros(2, 16))).any()


def test_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 2"):
        restore(VERSION + 1, *quantize_weight(torch.ones(2, 16)))


def test_a_stored_file_reads_as_any_other(tmp_path: Path) -> None:
    package = ultralytics()
    before = torch.load(COMPACT, map_location="cpu", weights_only=False)
    stored = tmp_path / "stored.pt"
    save_eight_bits(before, stored)
    assert stored.stat().st_size < 0.62 * COMPACT.stat().st_size
    after = torch.load(stored, map_location="cpu", weights_only=False)
    assert after["train_args"] == before["train_args"]
    old, new = before["model"].state_dict(), after["model"].state_dict()
    assert new.keys() == old.keys()
    for name, value in old.items():
        assert new[name].dtype == value.dtype, name
        if value.ndim < 2 or value.numel() < SMALLEST:
            assert torch.equal(new[name], value), name
        else:
            apart = (new[name].float() - value.float()).norm() / value.float().norm()
            assert 0.0 < apart < 0.03, name
    model = package.YOLO(str(stored)).model
    assert tuple(model.names.values()) == tuple(before["model"].names.values())
    trainable = load_weights(stored, "cpu")
    assert all(parameter.requires_grad for parameter in trainable.parameters())


def test_the_large_weights_are_stored_so() -> None:
    ultralytics()
    model = torch.load(LARGE, map_location="cpu", weights_only=False)["model"]
    assert LARGE.stat().st_size < 1.2 * sum(parameter.numel() for parameter in model.parameters())
    weight = next(parameter for parameter in model.parameters() if parameter.numel() > 100_000)
    rows = weight.float().flatten(1)
    assert max(len(row.unique()) for row in rows[:4]) <= 255


def test_the_page_has_the_figures_of_the_record() -> None:
    record = json.loads((DOCS / "detector" / "eight_bits.json").read_text())["weights"]
    fp16, stored = record["detector_s_fp16.pt"], record["detector_s.pt"]
    page = " ".join((DOCS / "detector.md").read_text().split())
    told = re.search(r"([\d.]+) from fp16 \(([\d.]+) MB\), ([\d.]+) from eight bits", page)
    assert told is not None
    precision = [one["figures"]["mAP50-95, all presets"][0] for one in (fp16, stored)]
    assert [float(told[1]), float(told[3])] == precision
    assert float(told[2]) == pytest.approx(fp16["file_mb"], abs=0.05)
    assert precision[1] >= precision[0] - 0.001
    assert LARGE.stat().st_size / 1e6 < 0.9 * stored["file_mb"], "it was measured before the file was compressed"
    for name, (value, count) in fp16["figures"].items():
        if name.startswith("AP50-95") and count >= 100:
            assert stored["figures"][name][0] == pytest.approx(value, abs=0.004), name
