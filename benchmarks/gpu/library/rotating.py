"""Timing of operators on cold data: buffers rotate, so that no call finds its inputs in the L2 cache.

A contender is captured once in a CUDA graph that calls it on each set of buffers; every call keeps its own result. The
graphs of all contenders are replayed in turn, round after round, so that clocks and neighbours are the same for all.
Times are as measured: nothing is subtracted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.gpu.effort import repeats

Call = Callable[[int], Any]
"""Runs a contender on the buffers of that number."""
ROUNDS, EAGER_ROUNDS, EAGER_CALLS = repeats(15, 5), repeats(9), 6
CPU_CALLS, CPU_ROUNDS = 200, repeats(9)


@dataclass(slots=True)
class Times:
    """Microseconds per call: median and quartiles over the rounds; or the reason why there are none."""

    median_us: float | None = None
    first_quartile_us: float | None = None
    third_quartile_us: float | None = None
    eager_us: float | None = None
    error: str = ""


@dataclass(slots=True)
class _Captured:
    graph: torch.cuda.CUDAGraph
    results: list[Any] = field(default_factory=list)


def reason(error: BaseException) -> str:
    """The first line of the error with which a chain of errors began."""
    while isinstance(error.__context__, RuntimeError):
        error = error.__context__
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"


def in_turn(contenders: dict[str, Call], sets: int, is_eager: bool = True) -> dict[str, Times]:
    """Times of all contenders in graphs, alternately, and eagerly too; an error of one is written down as such."""
    times = {name: Times() for name in contenders}
    graphs: dict[str, _Captured] = {}
    for name, call in contenders.items():
        try:
            graphs[name] = _captured(call, sets)
        except Exception as error:  # noqa: BLE001 - any peer may fail in any way; its row says how
            torch.cuda.synchronize()
            times[name].error = f"cannot be captured: {reason(error)}"
    found: dict[str, list[float]] = {name: [] for name in graphs}
    for round_number in range(ROUNDS + 1):
        for name, captured in graphs.items():
            elapsed = _between_events(captured.graph.replay, 1) / sets
            if round_number > 0:
                found[name].append(elapsed)
    for name, values in found.items():
        quartiles = statistics.quantiles(values, n=4)
        times[name].first_quartile_us, times[name].median_us, times[name].third_quartile_us = quartiles
    graphs.clear()
    if is_eager:
        _time_eagerly(contenders, sets, times)
    return times


def on_end(
    contenders: dict[str, Call], sets: int, seconds: float, rounds: int = repeats(2, 1)
) -> Iterator[tuple[str, float, dict[str, int | None]]]:
    """Microseconds per call of each contender in turn, run for `seconds` on end; with the clocks late in that time."""
    graphs = {name: _captured(call, sets) for name, call in contenders.items()}
    for _ in range(rounds):
        for name, captured in graphs.items():
            replays = 1
            for _ in range(3):  # the first replay after a pause is slow, and clocks fall while the card warms
                once = _between_events(captured.graph.replay, replays)
                replays = max(1, round(0.2 * seconds * 1e6 / once))
            replays = max(1, round(seconds * 1e6 / once))
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(replays):
                captured.graph.replay()
            end.record()
            time.sleep(0.7 * seconds)
            readings = clocks()
            end.synchronize()
            yield name, float(start.elapsed_time(end)) * 1e3 / replays / sets, readings


def _time_eagerly(contenders: dict[str, Call], sets: int, times: dict[str, Times]) -> None:
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(EAGER_ROUNDS):
        for name, call in contenders.items():
            if "eager:" in times[name].error:
                continue
            try:
                found[name].append(_eager(call, sets))
            except Exception as error:  # noqa: BLE001 - as above
                times[name].error += f" eager: {reason(error)}"
    for name, values in found.items():
        if values:
            times[name].eager_us = statistics.median(values)


def _eager(call: Call, sets: int) -> float:
    counter = iter(range(EAGER_CALLS))
    return _between_events(lambda: call(next(counter) % sets), EAGER_CALLS)


def cpu_us(call: Callable[[], Any]) -> float:
    """CPU time to start one call, us: the median over rounds that the GPU keeps up with."""
    found = []
    for _ in range(CPU_ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CPU_CALLS):
            call()
        found.append(1e6 * (time.perf_counter() - start) / CPU_CALLS)
    torch.cuda.synchronize()
    return statistics.median(found)


def _captured(call: Call, sets: int) -> _Captured:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(sets):
            call(i)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    made = _Captured(torch.cuda.CUDAGraph())
    with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(made.graph):
        made.results = [call(i) for i in range(sets)]
    return made


def _between_events(run: Callable[[], Any], times: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / times


def clocks() -> dict[str, int | None]:
    """The processor clock, MHz, and the power drawn, mW, where NVML tells them."""
    readings: Sequence[tuple[str, Callable[[], int]]] = (
        ("clock_mhz", torch.cuda.clock_rate),
        ("power_mw", torch.cuda.power_draw),
    )
    found: dict[str, int | None] = {}
    for name, read in readings:
        try:
            found[name] = int(read())
        except Exception:  # noqa: BLE001 - torch raises what NVML raises, or that NVML is missing
            found[name] = None
    return found
