"""Weights files that are compressed without loss: every bit comes back, and the shipped files are compressed."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.networks.store import store_lossless
from perception.detection.offline import ultralytics
from perception.detection.quantize import without_indentation
from perception.detection.weights import COMPACT
from perception.networks.compressed import VERSION, deflate, halves, join, save_in_halves

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "perception" / "weights").glob("*.pt"))


def test_every_fp16_value_comes_back_from_its_halves() -> None:
    values = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.half).reshape(256, 256)
    high, low = halves(values)
    joined = join(VERSION, high, low)
    assert (high.dtype, high.shape, joined.dtype) == (torch.uint8, values.shape, torch.half)
    assert torch.equal(joined.detach().view(torch.int16), values.view(torch.int16))


def test_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 2"):
        join(VERSION + 1, *halves(torch.ones(2, 16, dtype=torch.half)))


def test_a_compressed_file_is_read_as_before(tmp_path: Path) -> None:
    kept: dict[str, Any] = {
        "levels": torch.randint(-20, 20, (64, 1024), dtype=torch.int8),
        "name": "x",
        "scale": torch.rand(64),
    }
    plain, small = tmp_path / "plain.pt", tmp_path / "small.pt"
    torch.save(kept, plain)
    torch.save(kept, small)
    deflate(small)
    assert small.stat().st_size < 0.8 * plain.stat().st_size
    read = torch.load(small, weights_only=True)
    assert read["name"] == "x"
    assert all(torch.equal(read[name], kept[name]) for name in ("levels", "scale"))


def test_a_stored_file_has_the_same_bits(tmp_path: Path) -> None:
    ultralytics()
    before = torch.load(COMPACT, map_location="cpu", weights_only=False)
    save_in_halves(before, tmp_path / COMPACT.name)
    assert (tmp_path / COMPACT.name).stat().st_size == pytest.approx(COMPACT.stat().st_size, rel=0.01)
    after = torch.load(tmp_path / COMPACT.name, map_location="cpu", weights_only=False)
    new = after["model"].state_dict()
    for name, value in before["model"].state_dict().items():
        assert new[name].dtype == value.dtype, name
        assert torch.equal(new[name].reshape(-1).view(torch.uint8), value.reshape(-1).view(torch.uint8)), name


def test_a_file_is_stored_as_it_is_where_halves_would_be_larger(tmp_path: Path) -> None:
    kept = {"weight": torch.nn.Parameter(torch.zeros(64, 1024, dtype=torch.half))}
    torch.save(kept, tmp_path / "zeros.pt")
    store_lossless(tmp_path / "zeros.pt", tmp_path / "stored.pt")
    with zipfile.ZipFile(tmp_path / "stored.pt") as archive:
        assert not any(b"compressed" in archive.read(name) for name in archive.namelist())
    assert torch.equal(torch.load(tmp_path / "stored.pt", weights_only=True)["weight"], kept["weight"])


@pytest.mark.parametrize("weights", SHIPPED, ids=lambda path: path.name)
def test_the_shipped_files_are_compressed(weights: Path) -> None:
    with zipfile.ZipFile(weights) as archive:
        records = archive.infolist()
    assert all(record.compress_type == zipfile.ZIP_DEFLATED for record in records)
    assert sum(record.compress_size for record in records) < 0.92 * sum(record.file_size for record in records)


def test_the_network_beside_the_weights_has_no_indentation() -> None:
    assert without_indentation('<a>\n\t<b c="1 2" />\n\t<d>x y</d>\n</a>') == '<a><b c="1 2" /><d>x y</d></a>'
    (network,) = SHIPPED[0].parent.glob("*.xml")
    assert without_indentation(network.read_text()) == network.read_text()


def test_the_page_has_the_sizes_of_the_files() -> None:
    page = (ROOT / "docs" / "detector.md").read_text()
    rows = re.findall(r"^\| `perception/weights/(\w+\.pt)` .*?([\d.]+) MB", page, re.MULTILINE)
    assert {name for name, _ in rows} >= {"detector_n.pt", "detector_s.pt"}
    for name, size_mb in rows:
        assert float(size_mb) == pytest.approx((SHIPPED[0].parent / name).stat().st_size / 1e6, abs=0.051)
