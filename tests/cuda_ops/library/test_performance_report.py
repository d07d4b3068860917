"""The performance report holds each operator's default version against the faster peer, size by size."""

from __future__ import annotations

import re
from typing import Any

from benchmarks.gpu.library import all_goals, goals, pages, report
from cuda_ops.library.roofline import points_of, roof_of

MACHINE = {"gpu": "a GPU", "processors": 100, "torch": "2.11", "driver": 13000, "python": "3.12"}


def row(operator: str, columns: int, contender: str, median_us: float, **more: Any) -> dict[str, Any]:
    case = {"operator": operator, "element": "float32", "rows": 64, "columns": columns} | more
    readings = {"clock_mhz": 1500, "power_mw": 400_000 + columns}
    return case | {"contender": contender, "median_us": median_us, "tb_per_s": 1e3 / median_us} | readings


def run(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"machine": MACHINE, "copy": {"tb_per_s": 2.5}, "rows": rows, "cpu_time": [], "took_s": 12.5} | more


def test_an_operator_is_held_against_the_faster_peer() -> None:
    case = {"operator": "softmax", "element": "float32", "rows": 64}
    rows, compiled = [], []
    for columns, ours, torch_us, compiled_us in ((1024, 500.0, 400.0, 1000.0), (4096, 500.0, 2000.0, 1000.0)):
        default = goals.default_version(case | {"columns": columns})
        rows += [row("softmax", columns, default, ours), row("softmax", columns, "torch", torch_us)]
        compiled.append(row("softmax", columns, "torch.compile", compiled_us))
    (entry,) = report.entries_of([run(rows, compiled=compiled)])
    assert entry.ratios() == {(64, 1024, 0, ""): 0.8, (64, 4096, 0, ""): 2.0}
    roof = roof_of([run(rows)])
    (line,) = report.operators_table([entry], points_of([run(rows)]), roof).splitlines()[2:]
    shown = ["2.00 TB/s", "80 %", "1.26", "0.80 (64 x 1024)", "2.00 (64 x 4096)", "1500", "403"]
    assert line.removesuffix(" |").split(" | ")[-7:] == shown


def test_a_ladder_is_shown_where_most_of_its_versions_were_timed() -> None:
    rows = [row("add", 9, "v2", 100.0), row("add", 8, "v1", 400.0), row("add", 8, "v2", 200.0)]
    (line,) = report.ladders_table(report.entries_of([run(rows)])).splitlines()[2:]
    assert line.startswith("| [add](operators/add.md) | float32 | 64 x 8 | 2.50 | 5.00 |  |")


def test_an_untimed_row_and_an_absent_reading_are_left_out() -> None:
    failed = row("add", 8, "torch", 1.0) | {"median_us": None, "tb_per_s": None}
    silent = row("add", 8, "v2", 200.0) | {"clock_mhz": None, "power_mw": None}
    sustained = row("matmul", 8, "ours", 1.0, depth=8, tflop_per_s=10.0) | {"clock_mhz": None}
    (entry,) = report.entries_of([run([failed, silent])])
    assert entry.ratios() == {}
    assert report.sustained_table([run([], sustained=[sustained])]).splitlines()[2] == (
        "| matmul | float32 | 64 x 8 x 8 | ours | 10.0 |  | 400 |"
    )
    assert report.sustained_table([run([])]) == ""


def lines_of(runs: dict[str, Any]) -> dict[str, list[str]]:
    """The table of all goals: the cells of a line by its first one."""
    figures = pages.together([run for name, run in runs.items() if "/" not in name or name.startswith("later/")])
    lines = all_goals.table(runs, figures).splitlines()[2:]
    return {cells[0]: cells for cells in (line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines)}


def test_every_goal_has_its_record_and_a_missed_one_its_cause() -> None:
    runs = pages.newest(pages.read_runs()) | pages.read_below(pages.LATER) | pages.read_below(pages.PRODUCTS)
    lines = lines_of(runs)
    assert len(lines) == 18
    for _, _, _, reached, record, result, cause in lines.values():
        assert reached
        assert all((pages.RUNS / name).is_file() for name in re.findall(r"\(operators/runs/(.+?)\)", record))
        assert "NVIDIA" in record
        assert bool(cause.strip()) == (result == "missed")
    table = goals.goals_table(
        pages.together([*pages.newest(pages.read_runs()).values(), runs["later/norm_softmax.json"]])
    )
    met = [line for line in table.splitlines()[2:] if line.endswith("| met |")]
    assert len(met) == sum(line[5].startswith("met") for name, line in lines.items() if ": 2^" in name)


def test_a_goal_is_judged_by_its_figures() -> None:
    runs = pages.newest(pages.read_runs()) | pages.read_below(pages.LATER) | pages.read_below(pages.PRODUCTS)
    name, sparse, softmax = "products/h100_half.json", "products/h100_sparse.json", "products/h100_fused.json"
    slow = [row | ({"tflop_per_s": 700.0} if is_square(row, 4096) else {}) for row in runs[name]["rows"]]
    runs[name] |= {"rows": slow, "sustained": []}
    lines = lines_of(runs)
    assert lines["bfloat16, 2048, 4096 and 8192"][5] == "missed"
    assert lines["bfloat16 for 2 s on end"][5] == "not measured"
    assert lines["2:4 sparse bfloat16, 8192"][3:6:2] == ["1.38 (1050.9 of 759.7 TFLOP/s)", "met"]
    runs[sparse] = runs[sparse] | {"rows": [row | {"tflop_per_s": 700.0} for row in runs[sparse]["rows"]]}
    runs[softmax] = runs[softmax] | {"rows": [row | {"median_us": 15.0} for row in runs[softmax]["rows"]]}
    lines = lines_of(runs)
    assert lines["2:4 sparse bfloat16, 8192"][5] == "missed"
    assert lines["product and softmax, 4096 x 4096 x 128"][5] == "met, and the stretch"


def is_square(row: dict[str, Any], size: int) -> bool:
    """Of the default version, without transposed matrices."""
    is_default = row["contender"] == goals.default_version(row) and not row.get("transposed")
    return is_default and (row["rows"], row["columns"], row["depth"]) == (size,) * 3
