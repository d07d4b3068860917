"""Timing of the CUDA operators and their peers.

In a graph (warm): 20 calls are captured in one graph; the time is that of a replay over 20. Cold: one captured call
after 256 MB were written, between two events, as measured: an empty launch is timed in the same way, not subtracted.
Eager: 5 calls from Python between two events.

Peers on the GPU are timed in a graph and eagerly too, and compared like with like. For a peer that cannot be captured,
the reason is recorded instead. Peers on the CPU are timed by the wall clock and compared with eager calls.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cv2
import torch

from benchmarks.gpu.effort import repeats

if TYPE_CHECKING:  # it needs CUDA's own packages, which torch's operators do without
    from cuda_ops.frame import FrameGraph

Call = Callable[[], Any]
CALLS, REPLAYS, ROUNDS = 20, 10, repeats(15, 5)
EAGER_CALLS = 5
FLUSH_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Peer:
    """Another library's implementation of an operator; with `is_on_cpu` the wall clock times it."""

    call: Call
    is_on_cpu: bool = False


@dataclass(slots=True)
class PeerTimes:
    """Times of a peer per call, us, by each method that applies to it; ratios are the peer's time over ours."""

    ours_eager_us: float
    """Our eager call, timed alternately with the peer's, since eager times depend on the load of the host."""

    graph_us: float | None = None
    eager_us: float | None = None
    cpu_us: float | None = None
    graph_ratio: float | None = None
    eager_ratio: float | None = None
    not_captured: str = ""
    """Why there is no graph_us; empty if there is one, and for peers on the CPU."""


@dataclass
class Row:
    """Times of one operator at one size, microseconds, and those of its peers."""

    name: str
    warm_us: float
    warm_spread_us: float
    cold_us: float
    eager_us: float
    launch_cpu_us: float
    moved_bytes: int
    goal_us: float | None = None
    peers: dict[str, PeerTimes] = field(default_factory=dict)
    notes: str = ""


def captured(call: Call, times: int) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    return graph


def between_events(run: Call, times: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / times


def warm(call: Call, calls: int = CALLS) -> tuple[float, float]:
    """Median and interquartile range of a call's time inside a replayed graph, us."""
    graph = captured(call, calls)
    between_events(graph.replay, REPLAYS)
    found = [between_events(graph.replay, REPLAYS) / calls for _ in range(ROUNDS)]
    first, median, third = statistics.quantiles(found, n=4)
    return median, third - first


def cold(call: Call, flush: torch.Tensor) -> float:
    graph = captured(call, 1)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    found = []
    for _ in range(ROUNDS):
        flush.fill_(1)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        found.append(float(start.elapsed_time(end)) * 1e3)
    return statistics.median(found)


def eager(call: Call) -> float:
    """Median time of a call from Python, launches included, us."""
    for _ in range(3):
        call()
    return statistics.median(between_events(call, EAGER_CALLS) for _ in range(ROUNDS))


def eager_in_turn(first: Call, second: Call) -> tuple[float, float]:
    """`eager` of both calls, with alternating rounds."""
    for _ in range(3):
        first(), second()
    rounds = [(between_events(first, EAGER_CALLS), between_events(second, EAGER_CALLS)) for _ in range(ROUNDS)]
    return statistics.median(one for one, _ in rounds), statistics.median(other for _, other in rounds)


def peer_times(peer: Peer, call: Call, warm_us: float) -> PeerTimes:
    """Time a peer by every method that it allows, each compared with the same method of our `call`.

    Our call takes `warm_us` in a graph.
    """
    if peer.is_on_cpu:
        use_all_cores()
        cpu_us, ours_us = on_cpu(peer.call), eager(call)
        return PeerTimes(ours_us, cpu_us=cpu_us, eager_ratio=cpu_us / ours_us)
    ours_us, eager_us = eager_in_turn(call, peer.call)
    times = PeerTimes(ours_us, eager_us=eager_us, eager_ratio=eager_us / ours_us)
    try:
        with torch.cuda.stream(torch.cuda.current_stream()):  # a failed capture leaves its own stream current
            times.graph_us = warm(peer.call, 5)[0]
    except RuntimeError as error:
        torch.cuda.synchronize()
        times.not_captured = _reason(error)
    else:
        times.graph_ratio = times.graph_us / warm_us
    return times


def _reason(error: BaseException) -> str:
    """The first line of the error with which a capture began to fail; the errors that follow from it say less."""
    while isinstance(error.__context__, RuntimeError):
        error = error.__context__
    return str(error).splitlines()[0].partition(". ")[0].partition(" unless ")[0]


def use_all_cores() -> None:
    """Give OpenCV all cores again: importing ultralytics limits it to one."""
    cv2.setNumThreads(-1)


def on_cpu(call: Call, rounds: int = repeats(9)) -> float:
    call()
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        found.append((time.perf_counter() - start) * 1e6)
    return statistics.median(found)


def launch_cpu(call: Call) -> float:
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(100):
        call()
    found = (time.perf_counter() - start) * 1e4
    torch.cuda.synchronize()
    return found


def launch_alone(graph: FrameGraph) -> float:
    """Median CPU time to start a graph after the frame before has ended; with full queues the driver would wait."""
    found = []
    for _ in range(200):
        start = time.perf_counter()
        graph.launch()
        found.append(1e6 * (time.perf_counter() - start))
        torch.cuda.synchronize()
    return statistics.median(found)


def p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


class Bench:
    """Collects the rows of a benchmark run, and the peers that are timed at its end."""

    def __init__(self) -> None:
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.dot = torch.zeros(1, device="cuda")
        self.floor_warm_us = warm(lambda: self.dot.add_(1.0))[0]
        self.floor_cold_us = cold(lambda: self.dot.add_(1.0), self.flush)
        big = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        other = torch.empty_like(big)
        self.copy_bytes_per_s = (
            2e6 * big.numel() / statistics.median(between_events(lambda: other.copy_(big), 3) for _ in range(7))
        )
        self.rows: list[Row] = []
        self._peers: list[tuple[Row, Call, str, Peer]] = []

    def add(self, name: str, call: Call, moved: int, goal: float | None, peers: dict[str, Peer]) -> None:
        median, spread = warm(call)
        cold_us = cold(call, self.flush)
        row = Row(name, median, spread, cold_us, eager(call), launch_cpu(call), moved, goal)
        self.rows.append(row)
        self._peers += [(row, call, title, peer) for title, peer in peers.items()]
        print(f"{name}: graph {median:.2f} us ({spread:.2f}), cold {cold_us:.2f}, eager {row.eager_us:.2f}", flush=True)

    def time_peers(self) -> None:
        """Time all peers of the rows so far; call it last, since a failed capture may disturb later measurements."""
        for row, call, title, peer in self._peers:
            try:
                row.peers[title] = peer_times(peer, call, row.warm_us)
                print(f"{row.name}: {title}: {row.peers[title]}", flush=True)
            except (ImportError, AttributeError, RuntimeError, TypeError) as error:
                row.notes += f"{title}: {str(error).splitlines()[0][:80]}; "
                print(f"{row.name}: {row.notes}", flush=True)
        self._peers.clear()
