"""Times the network alone, in the forms that were tried: `python -m benchmarks.gpu.network --out FILE`.

Each form is captured in a graph of four passes and timed by events. The kernels of the form in use are listed first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.gpu.peers import weights
from benchmarks.gpu.timing import captured, warm
from cuda_ops.runtime.gpu import launcher
from perception.detection.networks import TorchNetwork
from perception.detection.offline import ultralytics
from perception.on_gpu import optimize_yolo
from perception.on_gpu.convolutions import use_own_convolutions
from perception.on_gpu.frame import SCORE_MIN

SIZE_PX = (640, 384)


def plain() -> Any:
    """The network as ultralytics builds it, with its one-to-one head, in half precision."""
    model = ultralytics().YOLO(str(weights())).model
    model.end2end = True
    return model.fuse(verbose=False).eval().cuda().half()


def in_channels_last() -> Any:
    return plain().to(memory_format=torch.channels_last)


def joined() -> Any:
    model = in_channels_last()
    optimize_yolo.fuse_bias_silu(model)
    return model


def with_own_convolutions() -> Any:
    model = joined()
    use_own_convolutions(model)
    return model


def with_own_head() -> Any:
    model = with_own_convolutions()
    optimize_yolo.optimize_head(model.model[-1])
    model.model[-1].score_min = SCORE_MIN
    return model


def compiled() -> Any:
    return torch.compile(in_channels_last(), dynamic=False)


FORMS: dict[str, tuple[Callable[[], Any], bool]] = {
    "channels first": (plain, True),
    "channels last": (in_channels_last, True),
    "channels last, bias and SiLU in one kernel": (joined, True),
    "own convolutions where they fit, pools and attention": (with_own_convolutions, True),
    "the same, the head on streams of its own, and one kernel for the best rows": (with_own_head, True),
    "the same, no kernel beginning before the one before has ended": (with_own_head, False),
}
"""Each form: the function that builds it, and whether kernels may begin early."""

OWN_KERNELS = ("attend", "best_rows", "bias_silu", "conv", "depthwise", "max_pool")


def measure(make: Callable[[], Any], is_early: bool) -> tuple[float, float]:
    """GPU time of a pass, and CPU time to start a graph of one pass; microseconds."""
    picture = torch.rand((1, 3, SIZE_PX[1], SIZE_PX[0]), device="cuda").half()
    picture = picture.contiguous(memory_format=torch.channels_last)
    with torch.inference_mode(), ExitStack() as stack:
        if not is_early:
            for name in OWN_KERNELS:
                stack.enter_context(patch.object(launcher(name, 0), "_can_start_early", False))
        model = make()
        for _ in range(3):
            model(picture)
        alone, one = warm(lambda: model(picture), 4)[0], captured(lambda: model(picture), 1)
        started = []
        for _ in range(100):
            start = time.perf_counter()
            one.replay()
            started.append(1e6 * (time.perf_counter() - start))
            torch.cuda.synchronize()
        return alone, statistics.median(started)


def kernels(network: TorchNetwork) -> list[tuple[str, int, float]]:
    """Kernels of the network, longest first: (name, launches per pass, microseconds per pass)."""
    picture = torch.rand((1, 3, SIZE_PX[1], SIZE_PX[0]), device="cuda").half()
    network.rows(picture, SCORE_MIN)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(10):
            network.rows(picture, SCORE_MIN)
        torch.cuda.synchronize()
    found = [(e.key, e.count // 10, e.device_time_total / 10.0) for e in profile.key_averages()]
    return sorted((one for one in found if one[2] > 0.0), key=lambda one: -one[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/gpu_network.json"))
    parser.add_argument("--compile", action="store_true", help="also by torch.compile: 45 s and a C compiler")
    arguments = parser.parse_args()
    out: Path = arguments.out
    if not torch.cuda.is_available():
        raise SystemExit("gpu.network: torch sees no GPU")
    out.parent.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "forms_us": {}}
    try:
        listed = kernels(TorchNetwork(weights(), SIZE_PX))
    except RuntimeError as error:  # without a profiler the forms' times are still useful
        listed = []
        print(f"no list of kernels: {error}")
    figures["launches"] = sum(one[1] for one in listed)
    figures["kernels"] = [{"name": name[:90], "launches": count, "us": us} for name, count, us in listed[:25]]
    for row in figures["kernels"]:
        print(f"{row['launches']:4d} {row['us']:8.1f} us {row['name']}")
    forms = FORMS | ({"channels last, torch.compile": (compiled, True)} if arguments.compile else {})
    for name, (make, is_early) in forms.items():
        start = time.perf_counter()
        try:
            us, launch_us = measure(make, is_early)
            figures["forms_us"][name] = {"pass": us, "launch_cpu": launch_us}
        except Exception as error:  # noqa: BLE001 - the other forms' figures are still useful
            torch.cuda.synchronize()
            figures["forms_us"][name] = f"{type(error).__name__}: {str(error)[:200]}"
        print(f"{name}: {figures['forms_us'][name]} us, {time.perf_counter() - start:.0f} s in all", flush=True)
        out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
