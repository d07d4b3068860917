"""The tolerance of a rounded result: its error before rounding, and half a unit."""

from __future__ import annotations

import pytest
import torch

from cuda_ops.library.ladder import FLOAT32
from cuda_ops.library.matmul_tf32.ladder import MATMUL_TF32
from tests.cuda_ops.library import ladder_cases as cases

WANTED = torch.linspace(-4.0, 4.0, 20001, dtype=torch.float64)
UNIT_OF_ONE = 2.0**-7
"""Of bfloat16, for numbers from 1 to 2."""


@pytest.mark.parametrize("error", [1e-6, 0.1 * UNIT_OF_ONE, UNIT_OF_ONE, 8.0 * UNIT_OF_ONE], ids=str)
def test_a_result_within_its_error_may_be_rounded(error: float) -> None:
    for off in (-error, 0.3 * error, error):
        cases.check_near((WANTED + off).bfloat16(), WANTED, torch.full_like(WANTED, error))


@pytest.mark.parametrize("error", [UNIT_OF_ONE, 8.0 * UNIT_OF_ONE], ids=str)
def test_twice_the_error_is_refused(error: float) -> None:
    with pytest.raises(AssertionError, match="of what is allowed"):
        cases.check_near((WANTED + 2.0 * error).bfloat16(), WANTED, torch.full_like(WANTED, error))


def test_two_units_are_refused_where_the_error_is_small() -> None:
    with pytest.raises(AssertionError, match="error 2 of what is allowed"):
        cases.check_near(torch.tensor([1.0 + 2.0 * UNIT_OF_ONE]).bfloat16(), torch.ones(1).double(), torch.zeros(1))


def _product_of_denormals(bits_cut: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A product whose second matrix is denormal; of both, so many bits of each mantissa are cut off."""
    inputs = cases.with_denormals(MATMUL_TF32, FLOAT32, 1000)
    a, b = ((x.view(torch.int32) >> bits_cut << bits_cut).view(torch.float32).double() for x in inputs)
    return (a @ b).float(), inputs


def test_tf32_may_cut_13_bits_of_denormal_numbers_off() -> None:
    """These are 2^-10 of normal numbers alone: without the fixed spacing the errors are many times what is allowed."""
    found, inputs = _product_of_denormals(13)
    for version in MATMUL_TF32.versions:
        cases.check(found, MATMUL_TF32, version, inputs, cases.DENORMAL_UNIT)
    a, b = (x.double() for x in inputs)
    relative = cases.product_tolerance(MATMUL_TF32, MATMUL_TF32.versions[0], a.shape[1]) * (a.abs() @ b.abs())
    with pytest.raises(AssertionError, match="of what is allowed"):
        cases.check_near(found, a @ b, relative)


@pytest.mark.parametrize("bits_cut", [15, 23], ids=["8 bits are kept", "denormal numbers are taken for zero"])
def test_tf32_must_keep_the_other_bits(bits_cut: int) -> None:
    found, inputs = _product_of_denormals(bits_cut)
    with pytest.raises(AssertionError, match="of what is allowed"):
        cases.check(found, MATMUL_TF32, MATMUL_TF32.versions[0], inputs, cases.DENORMAL_UNIT)
