"""Derivatives, registration and compilation of the operator library on a GPU.

Skipped without a GPU; `make test-gpu` runs it on one.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import cuda_ops.library.operators  # noqa: E402, F401 - registers all of them
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402
from tests.cuda_ops.library import autograd_cases as cases  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
NAMES = list(cases.registered("cpu"))


@pytest.mark.parametrize("dtype", cases.TOLERANCES, ids=str)
@pytest.mark.parametrize("name", cases.DIFFERENTIABLE)
def test_gradients_are_torchs(name: str, dtype: Any) -> None:
    if dtype not in cases.DTYPES.get(name, (dtype,)):
        pytest.skip(f"{name} does not take {dtype}")
    cases.check_gradients(name, "cuda", dtype)


@pytest.mark.filterwarnings("ignore:Input #.*double precision")
@pytest.mark.parametrize("name", cases.IN_FLOAT32)
def test_gradients_are_the_results_differences(name: str) -> None:
    cases.check_numerically(name, "cuda")


@pytest.mark.parametrize("name", cases.DIFFERENTIABLE)
def test_one_compiled_graph_takes_any_size(name: str) -> None:
    cases.check_compiled(name, "cuda", "aot_eager")


def test_inductor_compiles_a_norm_and_its_gradient() -> None:
    cases.check_compiled("layer_norm", "cuda", "inductor")


@pytest.mark.parametrize("name", NAMES)
def test_the_registration_is_complete(name: str) -> None:
    operator, arguments = cases.registered("cuda")[name]
    torch.library.opcheck(operator.default, arguments)
