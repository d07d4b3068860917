"""The kernel cache when its folder is shared, spoilt, read-only or no folder at all."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from av_core.disk_cache import key_of
from cuda_ops.runtime.cache import KernelCache, default_folder

PAYLOAD = bytes(range(256)) * 500


def fails() -> bytes:
    pytest.fail("compiled again")


def test_keeps_an_entry_for_the_next_process(tmp_path: Path) -> None:
    assert KernelCache(tmp_path).get("k", lambda: PAYLOAD) == PAYLOAD
    assert KernelCache(tmp_path).get("k", fails) == PAYLOAD


def test_the_key_keeps_parts_apart() -> None:
    assert key_of(["ab", "c"]) != key_of(["a", "bc"]) != key_of(["abc"])


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 40, PAYLOAD])
def test_a_spoilt_entry_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    cache = KernelCache(tmp_path)
    cache.get("k", lambda: PAYLOAD)
    next(tmp_path.glob("*.cubin")).write_bytes(damage)
    assert cache.get("k", lambda: PAYLOAD) == PAYLOAD
    assert cache.get("k", fails) == PAYLOAD


def test_a_cut_entry_is_made_anew(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.get("k", lambda: PAYLOAD)
    entry = next(tmp_path.glob("*.cubin"))
    entry.write_bytes(entry.read_bytes()[:-1])
    assert cache.get("k", lambda: PAYLOAD) == PAYLOAD


@pytest.mark.parametrize("place", ["file", "below a file", "device"])
def test_a_folder_that_cannot_be_written_costs_one_line(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    folder = {"file": file, "below a file": file / "cache", "device": Path("/proc/self/no_cache")}[place]
    with caplog.at_level(logging.WARNING):
        cache = KernelCache(folder)
        assert cache.get("k", lambda: PAYLOAD) == PAYLOAD
        assert cache.get("k", lambda: PAYLOAD) == PAYLOAD
    assert len(caplog.records) == 1
    assert str(folder) in caplog.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_read_only_folder_is_read(tmp_path: Path) -> None:
    KernelCache(tmp_path).get("k", lambda: PAYLOAD)
    tmp_path.chmod(0o500)
    try:
        assert KernelCache(tmp_path).get("k", fails) == PAYLOAD
        assert KernelCache(tmp_path).get("other", lambda: PAYLOAD) == PAYLOAD
    finally:
        tmp_path.chmod(0o700)


def test_processes_share_it(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from cuda_ops.runtime.cache import KernelCache\n"
        "cache = KernelCache(pathlib.Path(sys.argv[1]))\n"
        "for i in range(60):\n"
        "    assert cache.get(str(i % 7), lambda: bytes([i % 7]) * 20000) == bytes([i % 7]) * 20000\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [worker.wait(30) for worker in workers] == [0, 0, 0, 0]
    assert len(list(tmp_path.iterdir())) == 7


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AV_STACK_KERNEL_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
