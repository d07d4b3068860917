"""The trial of an operator with no GPU, where the references run: small errors, and a large one of a wrong result."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.library import trial  # noqa: E402
from cuda_ops.library.catalogue import LADDERS  # noqa: E402
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Element, Ladder  # noqa: E402
from cuda_ops.library.operators import OPERATORS  # noqa: E402


@pytest.mark.parametrize(("element", "largest"), [(FLOAT32, 1e-6), (BFLOAT16, 2**-8)], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.name)
def test_an_operator_is_near_torchs_in_float64(ladder: Ladder, element: Element, largest: float) -> None:
    if element not in ladder.elements:
        pytest.skip(f"{ladder.name} does not take {element.name}")
    inputs = trial.random_inputs(ladder, element, 5, 48, "cpu", 0, depth=16)
    assert trial.error_of(ladder, None, inputs) <= largest


def test_a_wrong_result_has_a_large_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ladder = next(one for one in LADDERS if one.name == "softmax")
    inputs = trial.random_inputs(ladder, FLOAT32, 5, 48, "cpu", 0)
    monkeypatch.setitem(OPERATORS, "softmax", lambda x, version: torch.softmax(x, -1) * 1.01)
    assert trial.error_of(ladder, None, inputs) == pytest.approx(0.01, rel=1e-3)
