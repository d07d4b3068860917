"""A suite on a Ray cluster of two nodes, one of which dies while it drives: every run is done, and once."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from av_core.errors import ConfigError
from av_stack.suite.job import Attempt, Job, Options
from av_stack.suite.ray_node import NodeTask, drive_on_node, node_kind, packed, unpack
from av_stack.suite.ray_pool import RayPool
from benchmarks.suite_kills.cluster import RUNS, TwoNodes
from benchmarks.suite_kills.processes import Process, children, clients

TABLE = """
name: {name}
map: city_grid
seed: 1
route: {{start: [423.2, -340.0], goal: [423.2, -322.0]}}
timeout_s: 1.0
"""
NAMES = ("one", "two", "three")


@pytest.fixture
def cluster() -> Iterator[TwoNodes]:
    with TwoNodes() as nodes:
        yield nodes


@pytest.mark.timeout(400)  # a cluster starts, and every run loads the wheel
def test_a_node_dies_and_every_run_is_done_once(cluster: TwoNodes, tmp_path: Path) -> None:
    tables, out = tmp_path / "tables", tmp_path / "out"
    tables.mkdir()
    for name in NAMES:
        (tables / f"{name}.yaml").write_text(TABLE.format(name=name))
    command = [sys.executable, "-m", "av_stack.cli", "suite", str(tables), "--out", str(out), "--agent", "idle"]
    suite = subprocess.Popen([*command, "--ray", cluster.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    workers = {one.pid for one in wait_for_children(cluster.raylet(), suite)}
    os.kill(cluster.raylet(), signal.SIGKILL)
    assert workers
    assert suite.wait() == 1  # an agent that does nothing passes no run
    content = json.loads((out / "suite.json").read_text())
    assert content["is_complete"]
    assert sorted(entry["scenario"] for entry in content["drives"]) == sorted(NAMES)
    assert not any(entry["crash"] for entry in content["drives"])
    crashes = [attempt["crash"] for entry in content["drives"] for attempt in entry["attempts"] if attempt["crash"]]
    assert len(crashes) == 1
    assert "the Ray cluster lost the run" in crashes[0]
    lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    assert Counter(line["run"] for line in lines if line["event"] == "kept") == dict.fromkeys(NAMES, 1)
    assert all((out / name / "result.json").is_file() for name in NAMES)


def wait_for_children(raylet: int, suite: subprocess.Popen[bytes]) -> list[Process]:
    """The Ray workers of that node that drive."""
    deadline_s = time.monotonic() + 200.0
    while time.monotonic() < deadline_s and suite.poll() is None:
        workers = {one.pid for one in children(raylet)}
        if found := [one for one in clients(RUNS) if one.parent in workers]:
            return found
        time.sleep(0.05)
    pytest.fail("no run came to the second node")


def test_an_address_without_a_cluster_is_one_clear_line() -> None:
    with pytest.raises(ConfigError, match=r"--ray 127.0.0.1:1: no Ray cluster answers"):
        RayPool("127.0.0.1:1", None, Options())


def test_the_files_of_a_run_travel_whole(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "result.json").write_text("{}")
    (here / "pictures").mkdir()
    (here / "pictures" / "first.png").write_bytes(b"\x89PNG")
    (here / "recording.mcap").write_bytes(bytes(range(256)) * 1000)
    unpack(packed(here), there)
    contents = [{p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()} for root in (here, there)]
    assert len(contents[0]) == 3
    assert contents[0] == contents[1]


def test_the_file_of_a_work_travels_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the node the command gets a copy of the file, and the run's table."""
    seen = []

    def fake(words: Sequence[str], folder: Path, _: threading.Event) -> Attempt:
        command, file, table, option, out = words
        seen.append((command, Path(file).read_bytes(), Path(table).read_text(), option, Path(out) == folder))
        (folder / "result.json").write_text("{}")
        return Attempt("done", None, 0.1)

    monkeypatch.setattr("av_stack.suite.attempt.run_command", fake)
    job = Job("look", "scenario", "name: look", "city_grid")
    ended = drive_on_node(NodeTask(job, Options(), node_kind(), None, "weather-look"), b"a recording")
    assert seen == [("weather-look", b"a recording", "name: look", "--out", True)]
    assert ended.attempt.crash is None
    with zipfile.ZipFile(io.BytesIO(ended.files)) as archive:
        assert "result.json" in archive.namelist()
