"""The GPU bench times ours and each peer both ways and says which peer cannot be captured, and why; needs no GPU."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu import chart, timing  # noqa: E402
from benchmarks.gpu.table import NAME, cells, tables  # noqa: E402
from benchmarks.gpu.timing import Peer, PeerTimes, peer_times  # noqa: E402
from benchmarks.markdown_tables import placed  # noqa: E402

OURS_IN_A_GRAPH_US = 2.0


def ours() -> float:
    return OURS_IN_A_GRAPH_US


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call returns its time in a graph, or "sync" where a capture of it fails as at a synchronisation."""

    def warm(call: Any, calls: int) -> tuple[float, float]:
        if call() == "sync":
            try:
                raise RuntimeError("operation not permitted when capturing\ndetails")
            finally:
                raise RuntimeError("capture was invalidated")
        return call(), 0.0

    monkeypatch.setattr(timing, "warm", warm)
    monkeypatch.setattr(timing, "eager", lambda call: 80.0)
    monkeypatch.setattr(timing, "between_events", lambda call, repeats: 80.0 if call is ours else 400.0)
    monkeypatch.setattr(timing, "on_cpu", lambda call: 800.0)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)


def test_a_peer_is_compared_with_the_same_way_of_ours() -> None:
    times = peer_times(Peer(lambda: 30.0), ours, OURS_IN_A_GRAPH_US)
    assert times == PeerTimes(80.0, graph_us=30.0, eager_us=400.0, graph_ratio=15.0, eager_ratio=5.0)
    assert cells(times) == ["30.0", "15.0x", "400", "80", "5.0x"]


def test_a_peer_that_cannot_be_captured_says_why_and_has_no_ratio_to_a_graph() -> None:
    times, why = peer_times(Peer(lambda: "sync"), ours, OURS_IN_A_GRAPH_US), "operation not permitted when capturing"
    assert times == PeerTimes(80.0, eager_us=400.0, eager_ratio=5.0, not_captured=why)
    assert cells(times) == [f"cannot be captured: {why}", "", "400", "80", "5.0x"]


def test_a_peer_on_the_cpu_is_compared_with_eager_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr("cv2.setNumThreads", threads.append)
    times = peer_times(Peer(lambda: None, is_on_cpu=True), ours, OURS_IN_A_GRAPH_US)
    assert times == PeerTimes(80.0, cpu_us=800.0, eager_ratio=10.0)
    assert cells(times) == ["runs on the CPU", "", "800", "80", "10.0x"]
    assert threads == [-1]  # all cores, also where a package has limited OpenCV before


def test_the_page_of_the_hot_path_says_what_its_record_says() -> None:
    docs = Path(__file__).parents[2] / "docs"
    figures = json.loads((docs / "cuda" / "h200_quiet.json").read_text())
    page = (docs / "cuda.md").read_text()
    assert placed(page, NAME, tables(figures)) == page


def test_the_share_of_the_copy_rate_is_of_cold_data() -> None:
    row = {"name": "canny", "warm_us": 2.0, "warm_spread_us": 0.1, "cold_us": 8.0, "eager_us": 40.0}
    row |= {"launch_cpu_us": 30.0, "moved_bytes": 16_000_000, "goal_us": None, "peers": {}}
    machine = {"gpu": "a GPU", "driver": 13000, "torch": "2.11", "opencv": "5.0"}
    figures = {"machine": machine, "copy_bytes_per_s": 4e12, "empty_launch_us": 1.0, "empty_launch_cold_us": 3.6}
    assert "| canny | 2.00 | 0.10 | 8.00 | 50 % | 40.0 | 30.0 |  |" in tables(figures | {"rows": [row]})


def test_the_chart_draws_the_way_that_was_timed() -> None:
    assert chart.best_way({"graph_us": 3.0, "eager_us": 9.0, "cpu_us": None}) == (3.0, True)
    assert chart.best_way({"graph_us": None, "eager_us": 9.0, "cpu_us": None}) == (9.0, False)
    assert chart.best_way({"graph_us": None, "eager_us": None, "cpu_us": 7.0}) == (7.0, False)
