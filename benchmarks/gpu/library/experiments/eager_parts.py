"""CPU time of the parts of an eager call: `python -m benchmarks.gpu.library.experiments.eager_parts --out FILE.json`.

ReLU of 1,024 elements, ours and torch's, and each step that ours takes, alone; besides, steps that might take its
place. All parts take turns on one host. Each call is made by a lambda, whose own time is the part "nothing".
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.effort import repeats
from benchmarks.gpu.library import rotating
from benchmarks.gpu.library.__main__ import machine
from cuda_ops.library import records
from cuda_ops.library.activation.ladder import RELU
from cuda_ops.library.activation.op import relu
from cuda_ops.library.ladder import ONE
from cuda_ops.library.run import is_direct, prepare, run
from cuda_ops.runtime.gpu import why_no_gpu
from cuda_ops.runtime.prepared import PreparedLaunch

COUNT = 1024
REPEATS = repeats(7)
"""How often all parts are timed in turn."""
Parts = dict[str, Callable[[], Any]]


def parts() -> Parts:
    """What is timed, by name: whole calls, then steps of ours in their order, then what might replace a step."""
    x = torch.randn(COUNT, device="cuda")
    out, inplace = torch.empty_like(x), x.clone()
    addresses = x.data_ptr(), out.data_ptr()
    key = RELU, 0, torch.float32, 1, COUNT, 0, 0, 0.0, (), 0, (False, False), ONE, None
    start = prepare(RELU, 0, torch.float32, 1, COUNT, 0, 0, 0.0, ())
    if not isinstance(start, PreparedLaunch):
        raise SystemExit("library.experiments.eager_parts: ReLU is not one prepared launch")
    launch, kernel, call = start._launch, start._kernel, start._idle[0]
    start(*addresses)
    c, functorch = torch._C, torch._C._functorch
    allocate = getattr(c._dynamo.guards, "_empty_strided_cuda", None)
    found: Parts = {
        "nothing": lambda: None,
        "relu": lambda: relu(x),
        "torch.relu": lambda: torch.relu(x),
        "torch.relu_, which allocates nothing": lambda: torch.relu_(inplace),
        "is_direct": lambda: is_direct(x),
        "of it: is_compiling": lambda: torch.compiler.is_compiling(),
        "of it: type, is_cuda, requires_grad": lambda: type(x) is torch.Tensor and x.is_cuda and x.requires_grad,
        "of it: stacks of modes": lambda: c._len_torch_dispatch_stack() or c._len_torch_function_stack(),
        "of it: functorch, tracing": lambda: (functorch.peek_interpreter_stack(), c._get_tracing_state()),
        "of it: why_no_gpu": lambda: why_no_gpu(),
        "contiguous": lambda: x.contiguous(),
        "empty_like": lambda: torch.empty_like(x),
        "numel": lambda: x.numel(),
        "two addresses": lambda: (x.data_ptr(), out.data_ptr()),
        "run": lambda: run(RELU, 0, x, addresses, 1, COUNT),
        "of it: search for the prepared launch": lambda: prepare(*key),
        "of it: hash of a batch": lambda: hash(ONE),
        "of it: current device": lambda: x.get_device() == c._cuda_getDevice(),
        "of it: prepared launch": lambda: start(*addresses),
        "of that: current stream": lambda: c._cuda_getCurrentRawStream(0),
        "of that: cuLaunchKernelEx": lambda: launch(call.config_pointer, kernel, call.pointers, None),
        "instead of empty_like: new_empty": lambda: x.new_empty(x.shape),
    }
    if allocate is not None:

        def relu_in_such_memory() -> torch.Tensor:
            if not is_direct(x):
                return relu(x)
            dense = x.contiguous()
            made: torch.Tensor = allocate(tuple(dense.shape), dense.stride(), dense.dtype)
            run(RELU, 0, dense, (dense.data_ptr(), made.data_ptr()), 1, made.numel())
            return made

        found["instead of empty_like: _empty_strided_cuda"] = lambda: allocate(tuple(x.shape), x.stride(), x.dtype)
        found["relu with _empty_strided_cuda"] = relu_in_such_memory
    return found


def timed(found: Parts) -> list[dict[str, Any]]:
    """One row for each part: the median of its repetitions' medians, the least and the greatest, us."""
    medians: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(REPEATS):
        for name, call in found.items():
            medians[name].append(rotating.cpu_us(call))
    return [
        {"part": name, "median_us": statistics.median(values), "least_us": min(values), "greatest_us": max(values)}
        for name, values in medians.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/eager_parts.json"))
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("library.experiments.eager_parts: torch sees no GPU")
    rows = timed(parts())
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(records.text({"machine": machine(), "rows": rows}))
    for row in rows:
        print(f"{row['median_us']:7.2f} us ({row['least_us']:.2f} to {row['greatest_us']:.2f})  {row['part']}")


if __name__ == "__main__":
    main()
