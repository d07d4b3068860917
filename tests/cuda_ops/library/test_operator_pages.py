"""The operators' pages say what the ladders and the measured figures say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from benchmarks.gpu.library import goals, machine_code, pages
from cuda_ops.errors import CompilerMissingError
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.runtime.compiler import PACKAGE

MADE = pages.made()


@pytest.mark.parametrize("name", MADE)
def test_a_page_is_up_to_date(name: str) -> None:
    assert (pages.PAGES / name).read_text() == MADE[name]


LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.mark.parametrize("name", [*(name for name in MADE if name.endswith(".md")), "terms.md"])
def test_the_links_of_a_page_lead_somewhere(name: str) -> None:
    page = pages.PAGES / name
    for path, anchor in LINK.findall(page.read_text()):
        target = page.parent / path if path else page
        assert target.exists(), path
        if anchor:
            titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_operator_has_a_page() -> None:
    assert {f"{ladder.name}.md" for ladder in LADDERS} < set(MADE)


def test_the_ladders_name_all_kernels() -> None:
    ladders = (*LADDERS, CONVOLVE)
    named = {PACKAGE / f"{ladder.source(version)}.cu" for ladder in ladders for version in ladder.versions}
    assert named == set((PACKAGE / "library").glob("*/*.cu"))
    for ladder in ladders:
        assert [version.number for version in ladder.versions] == list(range(1, len(ladder.versions) + 1))


def test_the_excerpts_are_of_todays_kernels() -> None:
    """Made anew by `python -m benchmarks.gpu.library.pages`, which needs no GPU."""
    codes = pages.read_machine_code()
    wanted = {ladder.name: machine_code.hash_of(ladder) for ladder in machine_code.LADDERS_SHOWN}
    assert {name: code["hash"] for name, code in codes.items()} == wanted


@pytest.mark.parametrize("name", ["softmax", "matmul_half"])
def test_an_excerpt_is_what_the_compiler_makes(name: str) -> None:
    code = pages.read_machine_code()[name]
    try:
        installed = machine_code.tools()
    except CompilerMissingError as error:
        pytest.skip(str(error))
    if installed != (recorded := {tool: code[tool] for tool in installed}):
        pytest.skip(f"the excerpts are of {recorded}, installed are {installed}")
    assert machine_code.entry(next(one for one in LADDERS if one.name == name)) == code


def test_an_excerpt_shows_what_its_version_is_about() -> None:
    for ladder in machine_code.LADDERS_SHOWN:
        code = pages.read_machine_code()[ladder.name]
        lines = [line for piece in code["lines"] for line in piece]
        assert 0 < len(lines) <= machine_code.LINES_MAX
        shown = {name for name in machine_code.version_of(ladder).instructions if name in "".join(lines)}
        hidden = {"F2FP.BF16"} if ladder.name == "matmul_parts" else set()  # of the kernel that makes the parts
        assert shown == set(machine_code.version_of(ladder).instructions) - hidden


def test_pieces_are_taken_from_loops_first() -> None:
    once = "        /*0000*/  LDG.E R1, desc[UR4][R2.64] ;\n"
    loop = ".L_x_0:\n        /*0010*/  @!P0 LDG.E R3, desc[UR4][R2.64] ;\n        /*0020*/  @P1 BRA `(.L_x_0) ;\n"
    code = machine_code.parsed(once + "        /*0008*/  NOP ;\n" * 20 + loop)
    assert [one.is_in_loop for one in code] == [False] * 21 + [True] * 2
    (piece,) = machine_code.excerpt(code, ["LDG.E", "STG"])
    assert (len(piece), piece[-1].name, piece[-1].text[:3]) == (machine_code.LINES_MAX, "LDG.E", "@!P")
    assert machine_code.excerpt(code[1:21], ["LDG.E"]) == []


def _figures(softmax_tb_per_s: float) -> dict[str, Any]:
    """Figures in which our default versions reach 4.4 TB/s, and the peers 4.3."""
    columns = [("add", 1 << 28), ("relu", 1 << 28), ("sigmoid", 1 << 28), ("sum", 1 << 30), ("dot", 1 << 30)]
    columns += [(name, count) for name in goals.ROWS for count in (1024, 4096, 131072, 262144)]
    rows = []
    for name, count in columns:
        for element in goals.BOTH:
            case = {"operator": name, "element": element, "rows": 1, "columns": count}
            ours = softmax_tb_per_s if (name, element, count) == ("softmax", "float32", 4096) else 4.4
            rates = {"v1": 1.0, goals.default_version(case): ours, "torch": 2.0, "torch.compile": 4.3}
            rows += [case | {"contender": contender, "tb_per_s": rate} for contender, rate in rates.items()]
    return {"copy": {"tb_per_s": 4.3}, "rows": rows, "compiled": []}


@pytest.mark.parametrize(
    ("softmax_tb_per_s", "cells"),
    [(4.35, ["0 of 2", "0 of 2", "met"]), (4.257, ["0 of 2", "1 of 2, by up to 1.0 %", "missed"])],
)
def test_a_goal_is_met_by_the_rate_and_against_the_peers(softmax_tb_per_s: float, cells: list[str]) -> None:
    lines = goals.goals_table(_figures(softmax_tb_per_s)).splitlines()[2:]
    found = {line.split(" | ")[0]: line.removesuffix(" |").split(" | ") for line in lines}
    assert found["| softmax; float32; rows of 4k to 131k"][-3:] == cells
    assert found["| layer_norm; bfloat16; rows of 4k to 131k"][-3:] == ["0 of 2", "0 of 2", "met"]
    assert found["| add; float32, bfloat16; 2^28"][-1] == "met"
    assert found["| sum, dot; float32; 2^30"][-3:] == ["2 of 2", "0 of 2", "missed"]  # 4.5 TB/s are wanted


def test_the_bold_rate_is_the_default_versions() -> None:
    ladder = next(ladder for ladder in LADDERS if ladder.name == "softmax")
    figures = _figures(4.25) | {"machine": {"gpu": "a GPU", "torch": "2.11"}}
    (line,) = (
        line
        for line in pages.page(ladder, {"run.json": figures}).splitlines()
        if line.startswith("| float32 | 1 x 4096 |")
    )
    measured = {"v1": "1.00", "v6": "**4.25**"}
    cells = [measured.get(f"v{version.number}", "") for version in ladder.versions]
    assert line == f"| {' | '.join(['float32', '1 x 4096', *cells, '2.00', '4.30'])} |"
