"""How the CUDA operators are timed, and what they are timed against.

Warm: 20 calls captured in one graph, the time of a replay over 20. Cold: one captured call after 256 MB were written,
between two events, less the same of an empty launch. Peers on the GPU are timed the same way where they can be
captured, else eagerly between events; peers on the CPU by the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from cuda_ops.frame import FrameGraph

Call = Callable[[], Any]
CALLS, REPLAYS, ROUNDS = 20, 10, 15
FLUSH_BYTES = 256 << 20


@dataclass
class Row:
    """One operator at one size; microseconds."""

    name: str
    warm_us: float
    warm_spread_us: float
    cold_us: float
    launch_cpu_us: float
    moved_bytes: int
    goal_us: float | None = None
    peers_us: dict[str, float] = field(default_factory=dict)
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


def between_events(run: Call, repeats: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / repeats


def warm(call: Call, calls: int = CALLS) -> tuple[float, float]:
    """Median and interquartile range of a call inside a replayed graph."""
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
    for _ in range(3):
        call()
    return statistics.median(between_events(call, 5) for _ in range(7))


def on_gpu(call: Call) -> float:
    """A peer's time: captured where it can be."""
    try:
        return warm(call, 5)[0]
    except RuntimeError:  # it synchronises or allocates outside torch: no capture
        torch.cuda.synchronize()
        return eager(call)


def on_cpu(call: Call, repeats: int = 9) -> float:
    call()
    found = []
    for _ in range(repeats):
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
    """Median CPU time of a start, the frame before having ended: with full queues the driver would wait."""
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
    """Rows so far, and what each is measured against."""

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

    def add(self, name: str, call: Call, moved: int, goal: float | None, peers: dict[str, Callable[[], float]]) -> None:
        median, spread = warm(call)
        row = Row(name, median, spread, cold(call, self.flush) - self.floor_cold_us, launch_cpu(call), moved, goal)
        for peer, measure in peers.items():
            try:
                row.peers_us[peer] = measure()
            except (ImportError, AttributeError, RuntimeError, TypeError) as error:
                row.notes += f"{peer}: {str(error).splitlines()[0][:80]}; "
        self.rows.append(row)
        print(f"{name}: warm {median:.2f} us ({spread:.2f}), cold {row.cold_us:.2f}, peers {row.peers_us} {row.notes}")
