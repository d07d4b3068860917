"""The operators' pages say what the ladders and the measured figures say."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.gpu.library import goals, pages
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.runtime.compiler import PACKAGE


@pytest.mark.parametrize("name", pages.made())
def test_a_page_is_up_to_date(name: str) -> None:
    assert (pages.PAGES / name).read_text() == pages.made()[name]


def test_every_operator_has_a_page() -> None:
    assert {f"{ladder.name}.md" for ladder in LADDERS} < set(pages.made())


def test_the_ladders_name_all_kernels() -> None:
    ladders = (*LADDERS, CONVOLVE)
    named = {PACKAGE / f"{ladder.source(version)}.cu" for ladder in ladders for version in ladder.versions}
    assert named == set((PACKAGE / "library").glob("*/*.cu"))
    for ladder in ladders:
        assert [version.number for version in ladder.versions] == list(range(1, len(ladder.versions) + 1))


def _figures(softmax_tb_per_s: float) -> dict[str, Any]:
    """Figures in which our default versions reach 3 TB/s, as the copy does, and the peers 2.9."""
    columns = [("add", 1 << 28), ("relu", 1 << 28), ("sigmoid", 1 << 28), ("sum", 1 << 30), ("dot", 1 << 30)]
    columns += [(name, count) for name in goals.ROWS for count in (1024, 4096, 131072, 262144)]
    rows = []
    for name, count in columns:
        for element in goals.BOTH:
            case = {"operator": name, "element": element, "rows": 1, "columns": count}
            ours = softmax_tb_per_s if (name, element, count) == ("softmax", "float32", 4096) else 3.0
            rates = {"v1": 1.0, goals.default_version(case): ours, "torch": 2.0, "torch.compile": 2.9}
            rows += [case | {"contender": contender, "tb_per_s": rate} for contender, rate in rates.items()]
    return {"copy": {"tb_per_s": 3.0}, "rows": rows, "compiled": []}


@pytest.mark.parametrize(
    ("softmax_tb_per_s", "behind", "result"), [(2.95, "0 of 2", "met"), (2.61, "1 of 2, by up to 10.0 %", "missed")]
)
def test_a_goal_is_met_by_the_rate_and_against_the_peers(softmax_tb_per_s: float, behind: str, result: str) -> None:
    lines = goals.goals_table(_figures(softmax_tb_per_s)).splitlines()[2:]
    cells = {line.split(" | ")[0]: line.rstrip(" |").split(" | ") for line in lines}
    assert cells["| softmax; float32; rows of 4k to 131k"][-2:] == [behind, result]
    assert cells["| layer_norm; bfloat16; rows of 4k to 131k"][-2:] == ["0 of 2", "met"]
    assert cells["| add; float32, bfloat16; 2^28"][-1] == "missed"  # 4.3 TB/s are more than the H200's copy
    assert cells["| sum, dot; float32; 2^30"][-1] == "missed"


def test_the_bold_rate_is_the_default_versions() -> None:
    ladder = next(ladder for ladder in LADDERS if ladder.name == "softmax")
    figures = _figures(2.95) | {"machine": {"gpu": "a GPU", "torch": "2.11"}}
    (line,) = (
        line
        for line in pages.page(ladder, {"run.json": figures}).splitlines()
        if line.startswith("| float32 | 1 x 4096 |")
    )
    measured = {"v1": "1.00", "v4": "**2.95**"}
    cells = [measured.get(f"v{version.number}", "") for version in ladder.versions]
    assert line == f"| {' | '.join(['float32', '1 x 4096', *cells, '2.00', '2.90'])} |"
