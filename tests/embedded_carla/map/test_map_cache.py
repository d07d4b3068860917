"""Built maps on disk: what comes back is what was built, and nothing damaged, stale or endless is served."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from embedded_carla.maps import MapLibrary
from embedded_carla.maps.build import LoadedMap
from embedded_carla.maps.cache import CODE_DIGEST, MapCache
from embedded_carla.maps.loader import MapLoader
from embedded_carla.maps.packing import PackingError, pack, unpack
from embedded_carla.types import SemanticTag, Transform

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
    | st.binary() | st.sampled_from(SemanticTag) | st.builds(Transform, *[st.floats(-1e6, 1e6)] * 6),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


def bytes_of(value: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(bytearray(b"".join(pack(value))), dtype=np.uint8)


def same(a: Any, b: Any) -> bool:
    """Equal in value and type, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype) and a.shape == b.shape and a.tobytes() == b.tobytes()
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return same(vars(a), vars(b)) if hasattr(a, "__dict__") and not isinstance(a, SemanticTag) else bool(a == b)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedMap, LoadedMap, Path]:
    """city_grid as it was built, as it came back, and the cache's folder."""
    folder = tmp_path_factory.mktemp("cache")
    built, again = (MapLoader(MapLibrary(), 0, MapCache(folder)).load("city_grid") for _ in range(2))
    return built, again, folder


@settings(max_examples=60, deadline=None)
@given(plain)
def test_plain_data_comes_back_the_same(value: Any) -> None:
    assert same(unpack(bytes_of(value)), value)


@settings(max_examples=40, deadline=None)
@given(arrays.arrays(st.sampled_from(["<f4", "<f8", "<i4", "<u2", "|u1", "|b1"]), arrays.array_shapes(min_side=0)))
def test_arrays_come_back_aligned_and_writable(value: Any) -> None:
    found = unpack(bytes_of((value, value)))
    assert same(found[0], value)
    assert found[0] is found[1]
    assert found[0].flags.writeable


def test_a_town_comes_back_as_it_was_built(city: tuple[LoadedMap, LoadedMap, Path]) -> None:
    built, again, _ = city
    assert built is not again
    assert same(again, built)
    points = np.array([[t.x, t.y, t.z + 0.5] for t in built.scenery.spawn_points])
    assert same(again.scenery.ground.below(points), built.scenery.ground.below(points))


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty"])
def test_a_damaged_file_is_told_and_built_anew(
    harm: str, city: tuple[LoadedMap, LoadedMap, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (source,) = city[2].glob("*.map")
    data = bytearray(source.read_bytes())
    if harm == "flipped":
        data[len(data) // 2] ^= 1
    harmed: dict[str, bytes | bytearray] = {"cut": data[: len(data) // 2], "flipped": data, "empty": b""}
    (tmp_path / source.name).write_bytes(harmed[harm])
    cache = MapCache(tmp_path)
    key = f"{CODE_DIGEST} 0 {city[0].version}"
    assert cache.load(key) is None
    assert capfd.readouterr().err.count("map cache") == 1
    cache.store(key, "whole")
    assert cache.load(key) == "whole"


def test_another_seed_text_or_code_is_another_file(tmp_path: Path) -> None:
    cache = MapCache(tmp_path)
    cache.store("code 0 text", 1)
    assert [cache.load(key) for key in ("code 0 text", "code 1 text", "code 0 other", "new 0 text")] == [
        1, None, None, None,
    ]  # fmt: skip


def test_only_classes_of_this_package_are_made() -> None:
    data = bytes_of(Transform())
    assert same(unpack(data), Transform())
    with pytest.raises(PackingError, match="is not a class of this package"):
        pack(subprocess.CompletedProcess([], 0))
    with pytest.raises(PackingError, match="not plain data"):
        pack(np.array([object()]))


def test_files_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = MapCache(tmp_path, most_bytes=25_000)
    for k in range(5):
        cache.store(str(k), bytes(8_000))
        for age, path in enumerate(sorted(tmp_path.glob("*.map"), key=lambda p: p.stat().st_mtime_ns)):
            os.utime(path, (1_000_000 + age, 1_000_000 + age))
    assert [cache.load(str(k)) is None for k in range(5)] == [True, True, False, False, False]


def test_a_folder_that_cannot_be_used_costs_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = MapCache(tmp_path / "file" / "cache")
    cache.store("key", 1)
    assert capfd.readouterr().err.count("\n") == 1


def test_servers_that_write_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    write = (
        "import sys; from pathlib import Path; from embedded_carla.maps.cache import MapCache\n"
        "cache = MapCache(Path(sys.argv[1]))\n"
        "for k in range(100): cache.store('key', bytes([k]) * 300_000); assert cache.load('key') is not None\n"
    )
    servers = [subprocess.Popen([sys.executable, "-c", write, str(tmp_path)], stderr=subprocess.PIPE) for _ in range(2)]
    assert [(s.communicate(timeout=60)[1], s.returncode) for s in servers] == [(b"", 0)] * 2
    assert MapCache(tmp_path).load("key") == bytes([99]) * 300_000
    assert len(list(tmp_path.iterdir())) == 1
