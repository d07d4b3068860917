"""Problems for every version of every ladder, their exact results, and how near a result must come."""

from __future__ import annotations

from collections.abc import Callable

import torch

from cuda_ops.library import reference
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import BFLOAT16, FLOAT16, FLOAT32, Element, Ladder, Version

EPSILON = 1e-5
VERSIONS = [(ladder, version) for ladder in LADDERS for version in ladder.versions]
IDS = [f"{ladder.name}-v{version.number}" for ladder, version in VERSIONS]
FLAT = ("add", "relu", "sigmoid", "sum", "dot")
INPUTS = {"add": 2, "dot": 2}
MANTISSA_BITS = {FLOAT16: 10, BFLOAT16: 7}
LEAST_EXPONENT = {FLOAT16: -14, BFLOAT16: -126}
SUM_TOLERANCE = {1: 1e-6}
"""Of float32 sums, relative to the sum of magnitudes, by version; 1e-7 for the others."""

EXACT: dict[str, Callable[..., torch.Tensor]] = {
    "add": reference.add,
    "relu": reference.relu,
    "sigmoid": reference.sigmoid,
    "sum": reference.sum_of,
    "dot": reference.dot,
    "softmax": reference.softmax,
    "layer_norm": lambda x, weight=None, bias=None: reference.layer_norm(x, weight, bias, EPSILON),
    "rms_norm": lambda x, weight=None: reference.rms_norm(x, weight, EPSILON),
}


def exact(ladder: Ladder, inputs: list[torch.Tensor]) -> torch.Tensor:
    """The result in double precision, not rounded."""
    return EXACT[ladder.name](*(x.double() for x in inputs))


def draw(seed: int, element: Element, *shape: int, device: str = "cpu") -> torch.Tensor:
    """Normal numbers around 0.5, of magnitudes that softmax and norms meet."""
    generator = torch.Generator(device).manual_seed(seed)
    made = torch.randn(shape, generator=generator, device=device) * 2.0 + 0.5
    return made.to(getattr(torch, element.name))


def inputs_of(ladder: Ladder, element: Element, rows: int, columns: int, device: str = "cpu") -> list[torch.Tensor]:
    """Arguments of the operator: flat arrays of `columns` elements, or rows with weight and bias."""
    if ladder.name in FLAT:
        return [draw(7 + i, element, columns, device=device) for i in range(INPUTS.get(ladder.name, 1))]
    parts = {"layer_norm": 2, "rms_norm": 1}.get(ladder.name, 0)
    weights = [draw(3 + i, element, columns, device=device) for i in range(parts)]
    return [draw(1, element, rows, columns, device=device), *weights]


def check_near(
    found: torch.Tensor, wanted: torch.Tensor, ladder: Ladder, version: Version, inputs: list[torch.Tensor]
) -> None:
    """Float32 within 1e-6 of the exact result, a sum within 1e-7; other types within one unit in the last place.

    The result of a norm is a difference: its error is relative to 1, where its own magnitude is less. That of a sum is
    relative to the sum of magnitudes. A softmax of float32 has the rounding of x - max besides, at most 2^-23 of it.
    NaN and infinities are equal.
    """
    element = next(one for one in (FLOAT32, FLOAT16, BFLOAT16) if getattr(torch, one.name) == found.dtype)
    rounded = wanted.to(found.dtype)
    special = ~torch.isfinite(rounded)
    assert torch.equal(torch.isnan(found), torch.isnan(rounded)), "NaN in other places"
    assert torch.equal(found[special].nan_to_num(1.0), rounded[special].nan_to_num(1.0)), "other infinities"
    off = torch.where(special, 0.0, (found.double() - wanted).abs())
    allowed = _allowed(element, wanted, ladder, version, inputs)
    worst = (off / allowed.clamp_min(1e-300)).nan_to_num(0.0)
    assert bool((torch.where(special, 0.0, worst) <= 1.0).all()), f"error {float(worst.max()):.3g} of what is allowed"


def _allowed(
    element: Element, wanted: torch.Tensor, ladder: Ladder, version: Version, inputs: list[torch.Tensor]
) -> torch.Tensor:
    magnitude = wanted.abs()
    if ladder.name in ("sum", "dot"):
        terms = torch.stack([x.double() for x in inputs]).prod(0).abs()
        relative = SUM_TOLERANCE.get(version.number, 1e-7) * terms.sum()
    else:
        least = 1.0 if "norm" in ladder.name else 1e-38
        if ladder.name == "layer_norm" and len(inputs) > 1:
            least = float(1.0 + inputs[1].double().abs().max())
        relative = 1e-6 * magnitude.clamp_min(least)
        if ladder.name == "softmax":  # x - max is rounded: by 2^-24 of itself, for which -ln(out) stands
            relative += 2.0**-23 * magnitude * -torch.log(magnitude.clamp_min(1e-300))
    if element == FLOAT32:
        return torch.as_tensor(relative)
    exponent = torch.floor(torch.log2(magnitude.clamp_min(1e-300))).clamp_min(LEAST_EXPONENT[element])
    unit = torch.exp2(exponent - MANTISSA_BITS[element])
    return torch.maximum(1.001 * unit, torch.as_tensor(relative))


def special_rows(element: Element, columns: int, device: str = "cpu") -> torch.Tensor:
    """Rows with NaN, with an infinity of each sign, of nothing but -inf, with equal elements, and with huge ones."""
    rows = draw(5, element, 8, columns, device=device)
    rows[0, columns // 2] = float("nan")
    rows[1, columns - 1] = float("inf")
    rows[2, 0] = float("-inf")
    rows[3] = float("-inf")
    rows[4] = 2.5
    rows[5, :-1] = float("-inf")
    rows[6] *= 1e4
    rows[7, columns // 3] = float("-inf")
    return rows
