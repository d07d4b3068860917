"""Derivatives and registration of the library's operators with no GPU, where the references run."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library.operators import OPERATORS  # noqa: E402
from tests.cuda_ops.library import autograd_cases as cases  # noqa: E402

REGISTERED = cases.registered("cpu")


@pytest.mark.parametrize("name", cases.DIFFERENTIABLE)
def test_gradients_are_torchs(name: str) -> None:
    cases.check_gradients(name, "cpu", cases.dtype_of(name))


@pytest.mark.filterwarnings("ignore:Input #.*double precision")
@pytest.mark.parametrize("name", cases.IN_FLOAT32)
def test_gradients_are_the_results_differences(name: str) -> None:
    cases.check_numerically(name, "cpu")


@pytest.mark.parametrize("name", cases.DIFFERENTIABLE)
def test_one_compiled_graph_takes_any_size(name: str) -> None:
    cases.check_compiled(name, "cpu", "aot_eager")


def test_every_operator_has_arguments_for_the_checks() -> None:
    assert set(OPERATORS) - cases.UNCHECKED <= set(REGISTERED)
    forward = {name for name in OPERATORS if not name.endswith("_backward")}
    assert forward - cases.UNDIFFERENTIABLE <= set(cases.DIFFERENTIABLE)


@pytest.mark.parametrize("name", REGISTERED)
def test_the_registration_is_complete(name: str) -> None:
    operator, arguments = REGISTERED[name]
    torch.library.opcheck(operator.default, arguments)
