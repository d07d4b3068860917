"""Tries one version of an operator: its error against float64, and its time compared with torch's."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from cuda_ops.library.ladder import FLOAT8, INT8, Element, Ladder
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE
from cuda_ops.library.matmul_sparse.packing import two_of_four
from cuda_ops.library.operators import OPERATORS
from cuda_ops.library.peers import EPSILON, TORCH, more_for

ROUNDS, CALLS = 9, 10


def random_inputs(
    ladder: Ladder, element: Element, rows: int, columns: int, device: str, seed: int, depth: int = 0
) -> list[Any]:
    """Random arguments of the operator: flat arrays of rows * columns elements, or rows, with a weight per column.

    The arguments of a product are `rows` x `depth` and `depth` x `columns`.
    """
    generator = torch.Generator(device).manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        if element == INT8:
            return torch.randint(-127, 128, shape, generator=generator, device=device, dtype=torch.int8)
        if element == FLOAT8:
            return torch.randn(shape, generator=generator, device=device).to(torch.float8_e4m3fn)
        return torch.randn(shape, generator=generator, device=device, dtype=getattr(torch, element.name))

    if ladder.is_product:
        a, b = draw(rows, depth), draw(depth, columns)
        return [two_of_four(a) if ladder is MATMUL_SPARSE else a, b]
    absent = {"bias", "dbias"} if "rms" in ladder.name else set()
    if ladder.name in ("sum", "max", "mean"):  # they share dot's kernels, and have no second array
        absent = {"y"}
    made = []
    for name in ladder.inputs:
        if name in ("weight", "bias") and name not in absent:
            made.append(draw(columns))
        elif name not in absent:
            made.append(draw(rows * columns) if ladder.is_flat else draw(rows, columns))
    if ladder.name in ("softmax_backward", "log_softmax_backward"):
        forward = TORCH[ladder.name.removesuffix("_backward")]
        made[1] = forward(made[1])
    return made


def error_of(ladder: Ladder, version: int | None, inputs: Sequence[torch.Tensor]) -> float:
    """The largest error of any result against torch in float64, relative to the largest magnitude in that result."""
    found = _several(OPERATORS[ladder.name](*inputs, version=version))
    wide = [x.double() for x in inputs]
    exact = _several(_exact(ladder.name, wide))
    return max(
        float((one.double() - wanted).abs().max() / wanted.abs().max())
        for one, wanted in zip(found, exact, strict=True)
    )


def _exact(name: str, wide: list[torch.Tensor]) -> Any:
    if name != "rms_norm_backward":
        return TORCH[name](*wide, *more_for(name, wide))
    gradient, *leaves = wide  # torch's operator for this gradient has no CPU kernel
    x, weight = (leaf.requires_grad_() for leaf in leaves)
    out = functional.rms_norm(x, x.shape[-1:], weight, EPSILON)
    return torch.autograd.grad(out, (x, weight), gradient)


def _several(found: Any) -> tuple[torch.Tensor, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def times_us(ladder: Ladder, version: int | None, inputs: Sequence[torch.Tensor]) -> tuple[float, float]:
    """(our time, torch's time) of an eager call on the GPU: medians of alternating calls; small arrays stay in L2."""
    more = [*inputs, *more_for(ladder.name, list(inputs))]
    calls = (lambda: OPERATORS[ladder.name](*inputs, version=version), lambda: TORCH[ladder.name](*more))
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS + 1):
        for call, values in zip(calls, found, strict=True):
            values.append(_between_events(call))
    return statistics.median(found[0][1:]), statistics.median(found[1][1:])


def _between_events(call: Callable[[], Any]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e3 / CALLS
