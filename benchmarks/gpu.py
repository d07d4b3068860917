"""Benchmark of the CUDA operators and their peers: `python -m benchmarks.gpu --out DIR` writes gpu.json and gpu.md.

`gpu_timing` describes the method; `gpu_operators`, `gpu_network_parts`, `gpu_frame` and `gpu_perception` hold the
cases. `--parts` selects some of them, separated by commas.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import torch

from benchmarks.gpu_frame import bench_frame, bench_whole_frame
from benchmarks.gpu_network_parts import bench_network_parts
from benchmarks.gpu_operators import (
    bench_canny,
    bench_detect,
    bench_features,
    bench_ground,
    bench_hough,
    bench_preprocess,
)
from benchmarks.gpu_perception import bench_perception
from benchmarks.gpu_timing import Bench, PeerTimes

OPERATORS: dict[str, Callable[[Bench], None]] = {
    "preprocess": bench_preprocess,
    "detect": bench_detect,
    "canny": bench_canny,
    "hough": bench_hough,
    "ground": bench_ground,
    "features": bench_features,
    "network_parts": bench_network_parts,
}
FRAMES: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "frame": bench_frame,
    "whole_frame": bench_whole_frame,
    "perception": bench_perception,
}
NEED_ULTRALYTICS = ("whole_frame", "perception")

HEADER = (
    "operator", "in a graph, us", "spread", "cold, us", "eager, us", "CPU time of an eager call, us",
    "of the copy rate", "goal, us",
)  # fmt: skip
PEERS_HEADER = (
    "operator", "peer", "in a graph, us", "ratio to ours in a graph", "eager, us", "ours eager, us",
    "ratio to ours eager",
)  # fmt: skip


def table(bench: Bench, machine: dict[str, Any]) -> str:
    lines = [
        f"{machine['gpu']}, driver {machine['driver']}, torch {machine['torch']}, OpenCV {machine['opencv']}; copy "
        f"{bench.copy_bytes_per_s / 1e12:.2f} TB/s; an empty launch in a graph {bench.floor_warm_us:.2f} us.",
        "",
        "| " + " | ".join(HEADER) + " |",
        "|---" * len(HEADER) + "|",
    ]
    for row in bench.rows:
        share = row.moved_bytes / (row.warm_us * 1e-6) / bench.copy_bytes_per_s
        times = f"{row.warm_us:.2f} | {row.warm_spread_us:.2f} | {row.cold_us:.2f} | {row.eager_us:.1f}"
        lines.append(f"| {row.name} | {times} | {row.launch_cpu_us:.1f} | {share:.0%} | {row.goal_us or ''} |")
    lines += ["", "| " + " | ".join(PEERS_HEADER) + " |", "|---" * len(PEERS_HEADER) + "|"]
    for row in bench.rows:
        lines += [f"| {row.name} | {title} | {cells(times)} |" for title, times in row.peers.items()]
    return "\n".join(lines) + "\n"


def cells(times: PeerTimes) -> str:
    """The last five columns of a peer's row."""
    called_us = times.eager_us if times.cpu_us is None else times.cpu_us
    eager = f"{called_us:.0f} | {times.ours_eager_us:.0f} | {times.eager_ratio:.1f}x"
    if times.cpu_us is not None:
        return f"runs on the CPU |  | {eager}"
    if times.graph_us is None:
        return f"cannot be captured: {times.not_captured} |  | {eager}"
    return f"{times.graph_us:.1f} | {times.graph_ratio:.1f}x | {eager}"


def machine() -> dict[str, Any]:
    """The machine and package versions on which the figures are measured."""
    from cuda.bindings import driver

    cpu = [line.split(":", 1)[1].strip() for line in _cpu_info() if line.startswith("model name")]
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": int(driver.cuDriverGetVersion()[1]),
        "torch": torch.__version__,
        "opencv": cv2.__version__,
        "cuda-core": metadata.version("cuda-core"),
        "python": platform.python_version(),
        "cpu": cpu[0] if cpu else platform.processor(),
        "cpus": os.cpu_count(),
    }


def _cpu_info() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.is_file() else []


def main() -> None:
    names = [*OPERATORS, *FRAMES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--parts", default=",".join(names), help=f"of {', '.join(names)}")
    arguments = parser.parse_args()
    out, parts = arguments.out, arguments.parts.split(",")
    if unknown := set(parts) - set(names):
        raise SystemExit(f"bench-gpu: --parts {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    if not torch.cuda.is_available():
        raise SystemExit("bench-gpu: torch sees no GPU")
    if find_spec("ultralytics") is None:
        parts = [name for name in parts if name not in NEED_ULTRALYTICS]
    cv2.setNumThreads(0)
    bench, frames = Bench(), {}
    for name in parts:
        if name in OPERATORS:
            OPERATORS[name](bench)
        else:
            frames[name] = FRAMES[name](bench)
            print(f"{name}: {frames[name]}")
    bench.time_peers()
    out.mkdir(parents=True, exist_ok=True)
    figures = {
        "machine": machine(),
        "copy_bytes_per_s": bench.copy_bytes_per_s,
        "empty_launch_us": bench.floor_warm_us,
        **frames,
        "rows": [asdict(row) for row in bench.rows],
    }
    (out / "gpu.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "gpu.md").write_text(table(bench, machine()))
    print(table(bench, machine()))


if __name__ == "__main__":
    main()
