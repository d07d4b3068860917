"""The tolerance of a rounded result: its error before rounding, and half a unit."""

from __future__ import annotations

import pytest
import torch

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
