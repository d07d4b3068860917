"""A kept network gives the same rows to the bit, a damaged file is never used, and no sum overflows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from av_core.disk_cache import DIGEST_BYTES
from perception.detection import networks
from perception.detection.networks import WEIGHT_LEVEL_MAX, Float32, OpenVinoNetwork
from perception.detection.offline import openvino
from perception.detection.weights import COMPACT, COMPACT_SIZE_PX, Exported, exported

PICTURE = np.random.default_rng(3).integers(0, 256, (384, 640, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "av-stack" / "networks"


def rows(threads: int = 1) -> Float32:
    return OpenVinoNetwork(exported(COMPACT, COMPACT_SIZE_PX), threads).start(PICTURE)()


def test_a_kept_network_gives_the_same_rows(folder: Path) -> None:
    first = rows()
    (file,) = folder.iterdir()
    made = file.stat().st_mtime_ns
    assert rows().tobytes() == first.tobytes()
    assert file.stat().st_mtime_ns == made
    rows(threads=2)
    assert len(list(folder.iterdir())) == 2


def test_a_changed_byte_is_noticed(folder: Path) -> None:
    first = rows()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    changed = bytearray(whole)
    changed[DIGEST_BYTES + len(whole) // 2] ^= 0xFF
    file.write_bytes(changed)
    assert rows().tobytes() == first.tobytes()
    assert file.read_bytes() != changed


def test_a_folder_that_cannot_be_used_costs_no_drive(folder: Path) -> None:
    folder.parent.write_text("no folder")
    assert rows().shape == (300, 6)


def eight_bits(largest: int, folder: Path) -> Exported:
    """A convolution of bytes whose weights have levels up to `largest`, written as OpenVINO keeps such a network."""
    ov = openvino()
    ops = ov.opset13
    pictures = ops.parameter([1, 3, 8, 8], ov.Type.f32)
    bytes_ = ops.fake_quantize(pictures, *(np.float32(level) for level in (0.0, 1.0, 0.0, 1.0)), 256)
    levels = ops.convert(ops.constant(np.full((6, 3, 8, 8), largest, np.int8)), "f32")
    weight = ops.multiply(levels, np.full((6, 1, 1, 1), 1.0 / largest, np.float32))
    sums = ops.convolution(bytes_, weight, [1, 1], [0, 0], [0, 0], [1, 1])
    folder.mkdir()
    file = folder / "network.xml"
    ov.save_model(ov.Model([ops.reshape(sums, [1, 1, 6], False)], [pictures]), file, compress_to_fp16=False)
    return Exported(file, (8, 8), ("car",))


@pytest.mark.parametrize("largest", [WEIGHT_LEVEL_MAX, 127])
def test_large_weights_of_eight_bits_do_not_overflow_on_an_older_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, largest: int
) -> None:
    monkeypatch.setattr(networks, "adds_in_32_bits", lambda: False)
    source = eight_bits(largest, tmp_path / "made")
    for _ in range(2):  # compiled, then from the cache
        network = OpenVinoNetwork(source, 1)
        assert network.infer(np.full((8, 8, 3), 255, np.uint8)) == pytest.approx(np.full((1, 6), 3 * 8 * 8), rel=0.01)
    assert ("a processor with VNNI" in caplog.text) == (largest > WEIGHT_LEVEL_MAX)
