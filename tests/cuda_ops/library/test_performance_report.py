"""The performance report holds each operator's default version against the faster peer, size by size."""

from __future__ import annotations

import re
from typing import Any

import pytest

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
        "| matmul | float32 | 64 x 8 x 8 | a GPU | ours | 10.0 |  | 400 |"
    )
    assert report.sustained_table([run([])]) == ""


def lines_of(runs: dict[str, Any]) -> dict[str, list[str]]:
    """The table of all goals: the cells of a line by its first one."""
    lines = all_goals.table(runs, pages.together([*runs.values()])).splitlines()[2:]
    return {cells[0]: cells for cells in (line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines)}


def all_runs() -> dict[str, Any]:
    return pages.read_below(pages.H200)


def test_every_goal_has_its_record_and_a_missed_one_its_cause() -> None:
    runs = all_runs()
    lines = lines_of(runs)
    assert len(lines) == 18
    for _, _, _, reached, record, result, cause in lines.values():
        assert reached
        assert all((pages.RUNS / name).is_file() for name in re.findall(r"\(operators/runs/(.+?)\)", record))
        assert record.endswith("NVIDIA H200")
        assert bool(cause.strip()) == (result == "missed")
    table = goals.goals_table(pages.together([*runs.values()]))
    met = [line for line in table.splitlines()[2:] if "; 2^" in line and line.endswith("| met |")]
    assert len(met) == sum(line[5].startswith("met") for name, line in lines.items() if ": 2^" in name)


def test_a_goal_is_judged_by_its_figures() -> None:
    runs = all_runs()
    name, sparse, softmax = "h200/half.json", "h200/sparse.json", "h200/fused.json"
    slow = [row | ({"tflop_per_s": 700.0} if is_square(row, 4096) else {}) for row in runs[name]["rows"]]
    runs[name] |= {"rows": slow, "sustained": []}
    lines = lines_of(runs)
    assert lines["bfloat16, 2048, 4096 and 8192"][5] == "missed"
    assert lines["2:4 sparse bfloat16, 8192"][3:6:2] == ["1.45 (1091.3 of 751.5 TFLOP/s)", "met, and the stretch"]
    runs[sparse] = runs[sparse] | {"rows": [row | {"tflop_per_s": 700.0} for row in runs[sparse]["rows"]]}
    runs[softmax] = runs[softmax] | {"rows": [row | {"median_us": 15.0} for row in runs[softmax]["rows"]]}
    lines = lines_of(runs)
    assert lines["2:4 sparse bfloat16, 8192"][5] == "missed"
    assert lines["product and softmax, 4096 x 4096 x 128"][5] == "met, and the stretch"


def test_what_runs_on_end_is_judged_by_every_record() -> None:
    runs, on_end, other = all_runs(), "h200/half_on_end.json", "h200/half_on_end_second.json"
    cells = lines_of(runs)["bfloat16 for 2 s on end"]
    assert cells[3].startswith("0.999 at 2048, 0.996 at 4096, 1.008 at 8192 (NVIDIA H200); ")
    assert cells[5] == "met"
    slow = [row | {"tflop_per_s": 0.96 * row["tflop_per_s"]} for row in runs[on_end]["sustained"]]
    slow = [
        new if new["contender"] == "ours" else old for new, old in zip(slow, runs[on_end]["sustained"], strict=True)
    ]
    assert lines_of(runs | {on_end: runs[on_end] | {"sustained": slow}})["bfloat16 for 2 s on end"][5] == "missed"
    short = [row for row in runs[on_end]["sustained"] if row["rows"] == 4096]
    runs |= {on_end: runs[on_end] | {"sustained": short}, other: runs[other] | {"sustained": []}}
    alone = lines_of(runs)["bfloat16 for 2 s on end"]
    assert alone[3:6:2] == ["0.996 at 4096 (NVIDIA H200)", "met; not measured: 2048, 8192"]
    nothing = {name: run | {"sustained": []} for name, run in runs.items()}
    assert lines_of(nothing)["bfloat16 for 2 s on end"][5] == "not measured"


@pytest.mark.parametrize("library", goals.LIBRARIES)
def test_a_goal_is_judged_by_the_rate_and_beside_other_libraries(library: str) -> None:
    """The goal of rows of 1k: 3.9 TB/s, and no peer faster."""
    runs, name = all_runs(), "softmax, layer_norm, rms_norm: rows of 1k"

    def with_rates(ours: float, theirs: float) -> list[str]:
        rates = dict.fromkeys(("torch", "torch.compile", *goals.LIBRARIES), 0.1) | {library: theirs}
        parts = ("rows", "compiled", *goals.LIBRARIES)
        changed = {
            file: run
            | {
                part: [row | {"tb_per_s": rates.get(row["contender"], ours)} for row in run.get(part, [])]
                for part in parts
            }
            for file, run in runs.items()
        }
        return lines_of(changed)[name]

    assert with_rates(3.95, 3.9)[3:6:2] == ["3.95 to 3.95 TB/s; of 6 cases 0 are slower, 0 slower than a peer", "met"]
    slower = "3.95 to 3.95 TB/s; of 6 cases 0 are slower, 6 slower than a peer (by up to 1.2 %)"
    assert with_rates(3.95, 4.0)[3:6:2] == [slower, "missed"]
    assert with_rates(3.85, 3.8)[5] == "missed"


def test_a_sum_may_not_be_slower_than_cub() -> None:
    runs, file, name = all_runs(), "h200/forward.json", "sum, dot: 2^30"
    assert lines_of(runs)[name][5] == "met"
    cub = [row | {"median_us": 900.0} if row["contender"] == "CUB" else row for row in runs[file]["cub"]]
    assert lines_of(runs | {file: runs[file] | {"cub": cub}})[name][5] == "missed"


def is_square(row: dict[str, Any], size: int) -> bool:
    """Of the default version, without transposed matrices."""
    is_default = row["contender"] == goals.default_version(row) and not row.get("transposed")
    return is_default and (row["rows"], row["columns"], row["depth"]) == (size,) * 3
