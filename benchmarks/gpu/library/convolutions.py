"""Times the convolution's versions beside cuDNN: `python -m benchmarks.gpu.library.convolutions --out FILE.json`.

All arrays are channels_last, and cuDNN chooses its algorithm by trying them (`torch.backends.cudnn.benchmark`).
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from benchmarks.gpu.library import rotating
from benchmarks.gpu.library.__main__ import ROTATED_BYTES, machine
from cuda_ops.library import records
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.convolve.op import convolve
from cuda_ops.library.roofline_convolutions import NAMES, problem_of

SIZES = (
    (16, 64, 160, 160, 64),
    (16, 128, 80, 80, 128),
    (16, 256, 40, 40, 256),
    (16, 512, 20, 20, 512),
    (1, 256, 40, 40, 256),
    (16, 256, 80, 80, 512),
)
"""Pictures, channels, height, width, and channels of the result: as in detectors, and a large one."""
WINDOWS = (1, 3, 5)


def time_case(case: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each version and for cuDNN."""
    pictures, channels, height, width, columns, taps = (case[name] for name in NAMES)
    problem = problem_of(case)
    sets = max(2, min(16, -(-ROTATED_BYTES // CONVOLVE.moved_bytes(problem))))

    def draw(*shape: int) -> torch.Tensor:
        made = torch.randn(shape, device="cuda").bfloat16()
        return made.contiguous(memory_format=torch.channels_last) if len(shape) == 4 else made

    inputs = [
        (draw(pictures, channels, height, width), draw(columns, channels, taps, taps), draw(columns))
        for _ in range(sets)
    ]
    calls: dict[str, rotating.Call] = {
        "v1": lambda i: convolve(*inputs[i], version=1),
        "v2": lambda i: convolve(*inputs[i], version=2),
        "cudnn": lambda i: functional.conv2d(*inputs[i][:2], padding=taps // 2),
        "cudnn and bias": lambda i: functional.conv2d(*inputs[i], padding=taps // 2),
    }
    times = rotating.in_turn(calls, sets, is_eager=False)
    return [case | {"contender": name} | asdict(one) | rotating.clocks() for name, one in times.items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library.convolutions", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/convolutions.json"))
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    figures: dict[str, Any] = {"machine": machine(), "rows": []}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        for taps in WINDOWS:
            case = dict(zip(NAMES, (*size, taps), strict=True))
            made = time_case(case)
            figures["rows"] += made
            problem = problem_of(case)
            rates = {row["contender"]: row["median_us"] and CONVOLVE.rate(problem, row["median_us"]) for row in made}
            print(case, {name: rate and round(rate, 1) for name, rate in rates.items()}, flush=True)
            arguments.out.write_text(records.text(figures))


if __name__ == "__main__":
    main()
