"""Benchmark of the CUDA operators and their peers: `python -m benchmarks.gpu --out DIR` writes gpu.json and gpu.md.

`timing` describes the method; `operators`, `network_parts`, `frame` and `perception` hold the cases. `--parts` selects
some of them, separated by commas.
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

from benchmarks.gpu.frame import bench_frame, bench_whole_frame
from benchmarks.gpu.network_parts import bench_network_parts
from benchmarks.gpu.operators import (
    bench_canny,
    bench_detect,
    bench_features,
    bench_ground,
    bench_hough,
    bench_preprocess,
)
from benchmarks.gpu.perception import bench_perception
from benchmarks.gpu.table import tables
from benchmarks.gpu.timing import Bench, use_all_cores

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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
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
    use_all_cores()
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
        "empty_launch_cold_us": bench.floor_cold_us,
        "opencv_threads": cv2.getNumThreads(),
        **frames,
        "rows": [asdict(row) for row in bench.rows],
    }
    (out / "gpu.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "gpu.md").write_text(tables(figures))
    print(tables(figures))


if __name__ == "__main__":
    main()
