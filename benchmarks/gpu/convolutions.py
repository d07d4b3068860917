"""Times every plan of the network's convolutions, and torch: `python -m benchmarks.gpu.convolutions --out DIR`.

It writes convolutions.json, and measured.py, from which `cuda_ops/conv` then takes its plans on such a GPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.gpu.peers import weights
from benchmarks.gpu.timing import between_events, captured
from cuda_ops.bias_silu.op import bias_silu
from cuda_ops.conv.host import Plan, Window
from cuda_ops.conv.op import conv
from cuda_ops.conv.plan import estimate_us, plan_for, possible_plans
from perception.detection.networks import TorchNetwork
from perception.detection.weights import COMPACT

INPUTS = ((1, 640, 384), (4, 640, 384), (1, 1280, 736))
"""Pictures per pass, width, height: one camera at half size; the rig for GPUs, whose front camera has its own pass."""

CALLS, ROUNDS = 10, 5
ESTIMATE_MAX = 1.7
"""Plans with an estimate above this multiple of the best estimate are not measured; estimates are a tenth off."""

TILES_WASTED_MAX = 4
"""Plans that compute more than this multiple of the wanted elements are not measured."""


def windows() -> Counter[Window]:
    """The convolutions of both networks, with the number of times that the larger network has each."""
    found: Counter[Window] = Counter()

    def remembered(window: Window, processors: int) -> Plan:
        seen.append(window)
        return plan_for(window, processors)

    for model in (weights(), COMPACT):
        for images, width, height in INPUTS:
            network = TorchNetwork(model, (width, height))
            seen: list[Window] = []
            with patch("cuda_ops.conv.op.plan_for", remembered):
                network.rows(torch.zeros((images, 3, height, width), dtype=torch.half, device="cuda"))
            for window in seen:
                found[window] += int(model != COMPACT)
    return found


def processors() -> int:
    return int(torch.cuda.get_device_properties(0).multi_processor_count)


def quick(call: Any) -> float:
    graph = captured(call, CALLS)
    graph.replay()
    return statistics.median(between_events(graph.replay, 2) / CALLS for _ in range(ROUNDS))


def measure(window: Window) -> dict[str, Any]:
    """Time of a call in a chain of equal calls, us: torch with `bias_silu`, and each plan whose result is right."""
    x = torch.randn((window.images, window.channels, window.height, window.width), device="cuda").half()
    weight = torch.randn((window.out_channels, window.channels, window.size, window.size), device="cuda").half()
    weight = (weight * window.depth**-0.5).to(memory_format=torch.channels_last)
    x, bias = x.to(memory_format=torch.channels_last), torch.randn(window.out_channels, device="cuda").half()
    stride, border = window.stride, window.size // 2
    expected = torch.nn.functional.conv2d(x.double(), weight.double(), bias.double(), stride, border)
    expected = torch.nn.functional.silu(expected)
    row: dict[str, Any] = {"window": astuple(window), "plans_us": {}, "wrong": []}
    row["torch_us"] = quick(lambda: bias_silu(torch.nn.functional.conv2d(x, weight, None, stride, border), bias))
    estimates = {plan: estimate_us(plan, window, processors()) for plan in possible_plans(window)}
    for plan, estimate in estimates.items():
        across, down, _ = plan.grid(window)
        made = across * down * plan.tile.rows * plan.tile.columns
        is_wasteful = made > TILES_WASTED_MAX * window.pixels * max(window.out_channels, 16)
        if is_wasteful or estimate > ESTIMATE_MAX * min(estimates.values()):
            continue
        with patch("cuda_ops.conv.op.plan_for", return_value=plan):
            off = (conv(x, weight, bias, stride).double() - expected).norm() / expected.norm()
            name = f"{plan.tile.name}/{plan.shares}"
            if not float(off) < 2e-3:
                row["wrong"].append(name)
                continue
            row["plans_us"][name] = quick(lambda: conv(x, weight, bias, stride))
    row["best"] = min(row["plans_us"], key=row["plans_us"].get)
    return row


def module(rows: list[dict[str, Any]]) -> str:
    """The text of cuda_ops/conv/measured.py."""
    lines = [
        f'"""Quickest plans of YOLO26\'s convolutions, measured on {torch.cuda.get_device_name()} by '
        '`benchmarks/gpu/convolutions.py`."""',
        "",
        f"PROCESSORS = {processors()}",
        "PLANS: dict[tuple[int, ...], tuple[str, int]] = {",
    ]
    for row in rows:
        name, shares = row["best"].split("/")
        lines.append(f'    {row["window"]}: ("{name}", {shares}),')
    return "\n".join([*lines, "}", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    out: Path = parser.parse_args().out
    if not torch.cuda.is_available():
        raise SystemExit("gpu.convolutions: torch sees no GPU")
    torch.manual_seed(0)
    rows = []
    for window, times in windows().items():
        row = {**measure(window), "times": times}
        rows.append(row)
        best = row["plans_us"][row["best"]]
        print(f"{times} x {row['window']}: torch {row['torch_us']:.2f}, {row['best']} {best:.2f}", *row["wrong"])
    total = {
        "torch_us": sum(row["times"] * row["torch_us"] for row in rows),
        "own_us": sum(row["times"] * row["plans_us"][row["best"]] for row in rows),
    }
    print(total)
    out.mkdir(parents=True, exist_ok=True)
    head = json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, **total})
    lines = ",\n".join(json.dumps(row) for row in rows)
    (out / "convolutions.json").write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n')
    (out / "measured.py").write_text(module(rows))
    if any(row["wrong"] for row in rows):
        raise SystemExit("gpu.convolutions: not all are right")


if __name__ == "__main__":
    main()
