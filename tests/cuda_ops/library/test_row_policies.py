"""The kernels of the experiment with policies of loads and stores, on the CPU: each gives the exact result rounded."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library.experiments import row_policies  # noqa: E402
from cuda_ops.library.ladder import PACK_BYTES, Ladder, Problem  # noqa: E402
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM  # noqa: E402
from cuda_ops.library.softmax.ladder import SOFTMAX  # noqa: E402
from cuda_ops.runtime.compiler import KernelSource  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402
from tests.cuda_ops.library.test_ladder_logic import Case  # noqa: E402
from tests.cuda_ops.logic.cuda_shim import ShimLauncher, build_together, find_compiler  # noqa: E402

ROWS = 2


@pytest.mark.parametrize("ladder", [RMS_NORM, LAYER_NORM, SOFTMAX], ids=lambda ladder: ladder.name)
def test_each_kind_of_policy_gives_the_exact_result_rounded(ladder: Ladder, tmp_path: Path) -> None:
    """One kernel for each time of the weights, with a row that is kept and one that is loaded twice."""
    find_compiler()
    runs = []
    for timed in (one for one in row_policies.CASES if one.ladder is ladder):
        columns, element = row_policies.COLUMNS, timed.element
        case = Case(ladder, cases.inputs_of(ladder, element, ROWS, columns), ROWS, columns, 0)
        problem = Problem(element, ROWS, columns, PACK_BYTES // element.size_bytes, 90, cases.EPSILON)
        own = [one for one in row_policies.tried(timed) if one.source == row_policies.SOURCE]
        kinds = {(one.factors["weights"], one.factors["again"] != ""): one for one in own}
        runs += [(one, case, one.recorded(timed, problem).kernel) for one in kinds.values()]
    source = KernelSource(row_policies.SOURCE, instances=tuple(sorted({kernel for _, _, kernel in runs})))
    launcher = ShimLauncher(build_together([source], tmp_path))
    for one, case, _ in runs:
        one.launch(launcher, case.problem, case.arrays)
        case.check(ladder.versions[-1])
