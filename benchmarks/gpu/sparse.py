"""Times layers in the 2:4 pattern against dense ones: `python -m benchmarks.gpu.sparse --out DIR` writes sparse.json.

A convolution becomes a product of its weight, (out, kernel x in), and the rows of its input, (pixels, kernel x in). For
each layer of the detectors, and for large products for comparison, four ways in fp16 with equal results:

* `conv_us`: torch's dense convolution;
* `dense_us`: the dense product of rows that are there already;
* `sparse_us`: the same with the weight as one of torch's semi-structured tensors, by each library's kernels;
* `rows_us`: making the rows, which a kernel that reads the picture itself would not need; nothing for 1x1.

Times are those of a call in a replayed graph (`benchmarks/gpu/timing.py`); where a call cannot be captured, both sides
are called from Python instead. A layer that a library's kernels do not take is listed with the reason. Layers of equal
shapes are timed once, and have one row, with the name of the first and their number.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.gpu.timing import eager_in_turn, warm
from cuda_ops.library import records
from perception.detection.weights import COMPACT, COMPACT_SIZE_PX, LARGE
from perception.networks.detectors import folded_detector
from perception.networks.sparsity import is_two_of_four, sparse_layers, two_of_four

BATCHES = (1, 16)
CALLS = 10
LARGE_PRODUCTS = ((4096, 4096, 4096), (8192, 8192, 8192))
"""Rows, outputs and depth of the products for comparison."""

LIBRARIES = {
    "CUTLASS": "SparseSemiStructuredTensorCUTLASS",
    "cuSPARSELt": "SparseSemiStructuredTensorCUSPARSELT",
}
"""Libraries of sparse kernels in torch, and torch's tensors for them."""

ERROR_MAX = 5e-3
"""Largest difference of the results, relative to the norm."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A convolution and the shape of its input."""

    out: int
    channels: int
    size: int
    stride: int
    height: int
    width: int


def shapes(weights: Path) -> dict[str, Shape]:
    """The layers of a detector that the pattern fits, for one picture of the compact rig."""
    model = folded_detector(weights)
    found: dict[str, Shape] = {}

    def see(name: str) -> Callable[[nn.Module, Any], None]:
        def hook(conv: nn.Module, inputs: Any) -> None:
            assert isinstance(conv, nn.Conv2d)
            height, width = inputs[0].shape[2:]
            size, stride = conv.kernel_size[0], conv.stride[0]
            found[name] = Shape(conv.out_channels, conv.in_channels, size, stride, height, width)

        return hook

    for name in sparse_layers(model):
        model.get_submodule(name).register_forward_pre_hook(see(name))
    with torch.no_grad():
        model(torch.zeros(1, 3, COMPACT_SIZE_PX[1], COMPACT_SIZE_PX[0]))
    return found


def weight_rows(weight: torch.Tensor) -> torch.Tensor:
    """A convolution's weight as (out, kernel x in), input channels last, so that the 2:4 pattern runs along a row."""
    return weight.permute(0, 2, 3, 1).flatten(1).contiguous()


def input_rows(x: torch.Tensor, size: int, stride: int) -> torch.Tensor:
    """The input (N, in, H, W) of a convolution with half padding as rows (pixels, kernel x in) of `weight_rows`."""
    if size == 1 and stride == 1:
        return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])
    border = size // 2
    padded = nn.functional.pad(x, (border, border, border, border)).permute(0, 2, 3, 1)
    patches = padded.unfold(1, size, stride).unfold(2, size, stride)  # (N, H, W, in, size, size)
    return patches.permute(0, 1, 2, 4, 5, 3).reshape(-1, size * size * x.shape[1])


def measure(shape: Shape, batch: int) -> dict[str, Any]:
    """Times of a layer, us, by the ways above."""
    x = torch.randn((batch, shape.channels, shape.height, shape.width), device="cuda").half()
    x = x.to(memory_format=torch.channels_last)
    weight = torch.randn((shape.out, shape.channels, shape.size, shape.size), device="cuda")
    weight = (weight * two_of_four(weight.abs()) / (shape.channels * shape.size**2) ** 0.5).half()
    assert is_two_of_four(weight)
    conv_weight = weight.to(memory_format=torch.channels_last)
    border = shape.size // 2

    def conv() -> torch.Tensor:
        return nn.functional.conv2d(x, conv_weight, None, shape.stride, border)

    rows = input_rows(x, shape.size, shape.stride)
    found = products(rows, weight_rows(weight), conv().permute(0, 2, 3, 1).flatten(0, 2))
    found["conv_us"] = warm(conv, CALLS)[0]
    is_free = shape.size == 1 and shape.stride == 1
    found["rows_us"] = 0.0 if is_free else warm(lambda: input_rows(x, shape.size, shape.stride), CALLS)[0]
    return found


def products(rows: torch.Tensor, weight: torch.Tensor, wanted: torch.Tensor) -> dict[str, Any]:
    """Times of the dense and of the sparse product; their results must be `wanted`."""
    linear = nn.functional.linear

    def dense_product() -> torch.Tensor:
        return linear(rows, weight)

    found: dict[str, Any] = {"pixels": rows.shape[0], "out": weight.shape[0], "depth": weight.shape[1]}
    _check(dense_product(), wanted)
    found["dense_us"] = warm(dense_product, CALLS)[0]
    for library in LIBRARIES:
        found[library] = _sparse_times(library, dense_product, rows, weight, wanted, found["dense_us"])
    return found


def _sparse_times(
    library: str,
    dense_product: Callable[[], torch.Tensor],
    rows: torch.Tensor,
    weight: torch.Tensor,
    wanted: torch.Tensor,
    dense_us: float,
) -> dict[str, Any]:
    """Time of the sparse product by a library, and how many times faster it is than the dense one."""
    try:
        sparse = getattr(torch.sparse, LIBRARIES[library]).from_dense(weight)
        made = nn.functional.linear(rows, sparse)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        return {"not_taken": str(error).splitlines()[0][:160]}
    _check(made, wanted)

    def product() -> torch.Tensor:
        return nn.functional.linear(rows, sparse)

    try:
        with torch.cuda.stream(torch.cuda.current_stream()):  # a failed capture leaves its own stream current
            sparse_us = warm(product, CALLS)[0]
    except RuntimeError as error:
        torch.cuda.synchronize()
        eager_us, sparse_us = eager_in_turn(dense_product, product)
        reason = str(error).splitlines()[0][:160]
        return {"sparse_us": sparse_us, "speed_up": eager_us / sparse_us, "not_captured": reason}
    return {"sparse_us": sparse_us, "speed_up": dense_us / sparse_us}


def _check(found: torch.Tensor, wanted: torch.Tensor) -> None:
    off = float((found.float() - wanted.float()).norm() / wanted.float().norm())
    if not off < ERROR_MAX:
        raise SystemExit(f"gpu.sparse: a result is off by {off:.2e}")


def large_product(rows: int, out: int, depth: int) -> dict[str, Any]:
    x = torch.randn((rows, depth), device="cuda").half()
    weight = torch.randn((out, depth, 1, 1), device="cuda") / depth**0.5
    weight = (weight * two_of_four(weight.abs())).half().flatten(1)
    return products(x, weight, x.float() @ weight.float().T)


def row_of(
    found: dict[str, Any], weights: str = "", batch: int = 0, layer: str = "", layers: int = 0
) -> dict[str, Any]:
    """What was found of one product, or of the layers of one shape, as a row with the same names whatever was taken."""
    sizes = ("pixels", "out", "depth", "conv_us", "rows_us", "dense_us")
    row = {"weights": weights, "batch": batch, "layer": layer, "layers": layers} | {
        name: found.get(name) for name in sizes
    }
    for library in LIBRARIES:
        of_library = found[library]
        row |= {f"{library} us": of_library.get("sparse_us"), f"{library} times as fast": of_library.get("speed_up")}
        row[f"{library} note"] = of_library.get("not_taken") or of_library.get("not_captured") or ""
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--weights", type=Path, nargs="+", default=[COMPACT, LARGE])
    given = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("gpu.sparse: torch sees no GPU")
    torch.manual_seed(0)
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    record: dict[str, Any] = {"machine": machine, "rows": []}
    given.out.mkdir(parents=True, exist_ok=True)

    def add(row: dict[str, Any]) -> None:
        record["rows"].append(row)
        print(row, flush=True)
        (given.out / "sparse.json").write_text(records.text(record))

    with torch.no_grad():
        for sizes in LARGE_PRODUCTS:
            add(row_of(large_product(*sizes)))
        for weights in given.weights:
            named: dict[Shape, list[str]] = {}
            for name, shape in shapes(weights).items():
                named.setdefault(shape, []).append(name)
            for batch in BATCHES:
                for shape, names in named.items():
                    add(row_of(measure(shape, batch), weights.stem, batch, names[0], len(names)))


if __name__ == "__main__":
    main()
