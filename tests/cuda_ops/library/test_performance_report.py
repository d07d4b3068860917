"""The performance report holds each operator's default version against the faster peer, size by size."""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.library import goals, report
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
