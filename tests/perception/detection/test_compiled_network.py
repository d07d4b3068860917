"""A kept network gives the same rows to the bit, and a damaged file is never used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from av_core.disk_cache import DIGEST_BYTES
from perception.detection.networks import Float32, OpenVinoNetwork
from perception.detection.weights import COMPACT, COMPACT_SIZE_PX, exported

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
