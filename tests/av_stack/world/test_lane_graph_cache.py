"""A kept lane graph equals the one that is read; no state of the cache ends a drive or brings another map."""

from __future__ import annotations

import ast
import logging
import pickle
from pathlib import Path

import carla
import pytest

from av_core.types import LaneGraph
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import cache, graph

XODR = embedded_map_files()["country_road"].read_text()


@pytest.fixture(scope="module")
def read() -> LaneGraph:
    return graph.read_anew(carla.Map("country_road", XODR), XODR)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "av-stack" / "lane_graphs"


def fails() -> LaneGraph:
    pytest.fail("read again")


def test_a_kept_graph_is_the_one_that_is_read(read: LaneGraph) -> None:
    carla_map = carla.Map("country_road", XODR)
    new, kept = graph.lane_graph(carla_map), cache.kept("country_road", carla_map.to_opendrive(), fails)
    assert pickle.dumps(kept) == pickle.dumps(new)
    assert kept.name == read.name
    assert kept.signals == read.signals
    assert kept.lanes.keys() == read.lanes.keys()
    for key, lane in read.lanes.items():
        assert kept.lanes[key].points.tobytes() == lane.points.tobytes()
        assert kept.lanes[key].curvature_1pm.tobytes() == lane.curvature_1pm.tobytes()
        assert kept.lanes[key].curve.x_m.tobytes() == lane.curve.x_m.tobytes()
        assert kept.lanes[key].left_marking == lane.left_marking


@pytest.mark.parametrize("changed", ["name", "text", "code"])
def test_another_map_or_other_code_is_read_anew(read: LaneGraph, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.kept("a", XODR, lambda: read)
    made = []
    if changed == "code":
        monkeypatch.setattr(cache, "_code", lambda: ("other",))

    def make() -> LaneGraph:
        made.append(changed)
        return read

    cache.kept("b" if changed == "name" else "a", XODR + " " if changed == "text" else XODR, make)
    assert made == [changed]


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_file_is_made_anew(read: LaneGraph, folder: Path, damage: bytes | None) -> None:
    cache.kept("a", XODR, lambda: read)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1] if damage is None else damage)
    assert cache.kept("a", XODR, lambda: read).lanes.keys() == read.lanes.keys()
    assert cache.kept("a", XODR, fails).lanes.keys() == read.lanes.keys()


def test_a_folder_that_cannot_be_used_costs_one_line(
    read: LaneGraph, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.parent.write_text("no folder")
    with caplog.at_level(logging.WARNING):
        assert cache.kept("a", XODR, lambda: read).lanes.keys() == read.lanes.keys()
    assert len(caplog.records) == 1
    assert "maps are read anew" in caplog.text


def test_the_oldest_files_go(read: LaneGraph, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_GRAPHS", 2)
    for name in "abc":
        cache.kept(name, XODR, lambda: read)
    assert len(list(folder.iterdir())) == 2
    for name in "bc":
        cache.kept(name, XODR, fails)


def test_the_key_covers_all_code_that_reads_a_map() -> None:
    """Of the project, the readers use only their own folder, av_core, and a function that words errors."""
    used = set()
    for source in Path(cache.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                used.add(node.module)
    ours = {name for name in used if name.startswith(("av_", "perception", "planning", "scenarios", "sim_configs"))}
    ours -= {name for name in ours if name.startswith(("av_core", "av_stack.world.carla.map."))}
    assert ours <= {"av_stack.world.carla.client", "av_stack.world.carla.map"}
