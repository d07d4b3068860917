"""Uploads, kernels and downloads on one or several streams: `python -m benchmarks.gpu.library.streams --out FILE`.

A batch of chunks is uploaded, normalized by softmax (again and again, so that the kernels take as long as wanted), and
downloaded. Chunk i uses stream i modulo the number of streams; within a stream the three steps follow one another. The
time of a batch is the median over rounds; torch's profiler records where the steps of one batch lie.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.effort import repeats
from cuda_ops.library import records
from cuda_ops.library.softmax.op import softmax

COLUMNS = 4096
ROUNDS = repeats(11, 5)
STREAMS = (1, 2, 3, 4, 8)
DRAWN = (1, 3)
"""Numbers of streams whose timeline is recorded."""


@dataclass(frozen=True, slots=True)
class Load:
    """A batch: `chunks` arrays of `chunk_bytes`, `kernels` softmaxes of each."""

    name: str
    what: str
    """What it is for, in the page's words."""
    chunks: int
    chunk_bytes: int
    kernels: int
    is_pinned: bool = True
    has_copies: bool = True


def loads(kernels_as_long_as_a_copy: int) -> tuple[Load, ...]:
    """The batches that are timed."""
    many = kernels_as_long_as_a_copy
    size = 16 << 20
    return (
        Load("balanced", "kernels take as long as a copy in one direction", 12, size, many),
        Load("copies", "one kernel per chunk: copies take nearly all the time", 12, size, 1),
        Load("kernels", "kernels take four times as long as a copy", 12, size, 4 * many),
        Load("pageable", "as balanced, but the arrays on the host are not pinned", 12, size, many, is_pinned=False),
        Load("small", "chunks of 64 KiB: starting a step takes longer than the step", 96, 64 << 10, 1),
        Load("no copies", "kernels that fill the GPU, and no copies", 12, size, many, has_copies=False),
    )


class Batch:
    """The arrays of a load on the host and on the GPU."""

    def __init__(self, load: Load, streams: int) -> None:
        shape = (load.chunk_bytes // 4 // COLUMNS, COLUMNS)
        self.load = load
        self.sources = [_on_host(torch.randn(shape), load.is_pinned) for _ in range(load.chunks)]
        self.results = [_on_host(torch.zeros(shape), load.is_pinned) for _ in range(load.chunks)]
        self.arrays = [source.cuda() for source in self.sources]
        self.streams = [torch.cuda.Stream() for _ in range(streams)]

    def run(self) -> None:
        """Starts all steps, chunk after chunk, and waits for the last one."""
        for i in range(self.load.chunks):
            with torch.cuda.stream(self.streams[i % len(self.streams)]):
                if self.load.has_copies:
                    self.arrays[i].copy_(self.sources[i], non_blocking=True)
                made = self.arrays[i]
                for _ in range(self.load.kernels):
                    made = softmax(made)
                if self.load.has_copies:
                    self.results[i].copy_(made, non_blocking=True)
        torch.cuda.synchronize()

    def check(self) -> None:
        """Raises RuntimeError if a chunk has another result than it has alone."""
        for source, result in zip(self.sources, self.results, strict=True):
            made = source.cuda()
            for _ in range(self.load.kernels):
                made = softmax(made)
            if self.load.has_copies and not torch.equal(made.cpu(), result):
                raise RuntimeError(f"{self.load.name}: streams changed a result")


def _on_host(array: torch.Tensor, is_pinned: bool) -> torch.Tensor:
    return array.pin_memory() if is_pinned else array


def batch_ms(batch: Batch) -> list[float]:
    """Quartiles of the time of a batch: first, median, third."""
    found = []
    for _ in range(ROUNDS + 2):
        begun = time.perf_counter()
        batch.run()
        found.append(1e3 * (time.perf_counter() - begun))
    return [round(value, 4) for value in statistics.quantiles(found[2:], n=4)]


def step_ms(chunk_bytes: int) -> dict[str, float]:
    """The time of one step alone: upload, one kernel, download; medians."""
    source = torch.randn((chunk_bytes // 4 // COLUMNS, COLUMNS)).pin_memory()
    array, result = source.cuda(), source.clone().pin_memory()
    steps: dict[str, Callable[[], Any]] = {
        "upload": lambda: array.copy_(source, non_blocking=True),
        "kernel": lambda: softmax(array),
        "download": lambda: result.copy_(array, non_blocking=True),
    }
    found: dict[str, float] = {}
    for name, step in steps.items():
        times = []
        for _ in range(ROUNDS + 2):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(8):
                step()
            end.record()
            end.synchronize()
            times.append(float(start.elapsed_time(end)) / 8)
        found[name] = round(statistics.median(times[2:]), 5)
    return found


def timeline(batch: Batch) -> list[dict[str, Any]]:
    """Where the steps of one batch lie, by torch's profiler: stream, kind, begin and end in us."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        batch.run()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(file))
        return spans(json.loads(file.read_text())["traceEvents"])


KINDS = {"Memcpy HtoD": "upload", "Memcpy DtoH": "download"}


def spans(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps among a trace's events, from the first one's begin on; streams are numbered in the order of their use.

    Kernels that follow one another on a stream are one step.
    """
    steps = sorted(_steps(events), key=lambda step: step["begin_us"])
    numbers: dict[int, int] = {}
    made: list[dict[str, Any]] = []
    last: dict[int, dict[str, Any]] = {}
    for step in steps:
        step["stream"] = numbers.setdefault(step["stream"], len(numbers))
        before = last.get(step["stream"])
        if before is not None and before["kind"] == step["kind"] == "kernels":
            before["end_us"] = step["end_us"]
            continue
        last[step["stream"]] = step
        made.append(step)
    begun = min((step["begin_us"] for step in made), default=0.0)
    return [
        step | {"begin_us": round(step["begin_us"] - begun, 2), "end_us": round(step["end_us"] - begun, 2)}
        for step in made
    ]


def _steps(events: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        category = event.get("cat")
        if category == "kernel":
            kind = "kernels"
        elif category == "gpu_memcpy":
            kind = next((kind for name, kind in KINDS.items() if event["name"].startswith(name)), "copy")
        else:
            continue
        begin = float(event["ts"])
        end = begin + float(event["dur"])
        yield {"stream": int(event["args"]["stream"]), "kind": kind, "begin_us": begin, "end_us": end}


def measure() -> dict[str, Any]:
    """All loads with all numbers of streams."""
    alone = step_ms(16 << 20)
    many = max(1, round(max(alone["upload"], alone["download"]) / alone["kernel"]))
    figures: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "columns": COLUMNS,
        "steps_ms": alone,
        "loads": [],
    }
    for load in loads(many):
        row: dict[str, Any] = asdict(load) | {"batch_ms": {}, "timelines": {}}
        for streams in STREAMS:
            batch = Batch(load, streams)
            row["batch_ms"][str(streams)] = batch_ms(batch)
            batch.check()
            if load.name in ("balanced", "pageable") and streams in DRAWN:
                row["timelines"][str(streams)] = timeline(batch)
            del batch
        figures["loads"].append(row)
        print(load.name, {streams: times[1] for streams, times in row["batch_ms"].items()}, flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library.streams", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/streams.json"))
    out: Path = parser.parse_args().out
    if not torch.cuda.is_available():
        raise SystemExit("library.streams: torch sees no GPU")
    torch.manual_seed(0)
    figures = measure()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(records.text(figures))


if __name__ == "__main__":
    main()
