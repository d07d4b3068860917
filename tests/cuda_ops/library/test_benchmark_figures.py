"""What the benchmarks of the operator library make of raw figures: counters, timelines, two runs compared, pages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.counters import in_base_units, named
from benchmarks.gpu.library import agreement, chosen_page, counters, goals, pages, report
from benchmarks.gpu.library.__main__ import is_measured, small_case
from benchmarks.gpu.library.shapes import Shape, cases, half_product_cases, problem_of, product_cases, shapes_of
from benchmarks.gpu.library.streams import spans
from cuda_ops.library import records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import Version
from cuda_ops.library.recorder import record
from cuda_ops.library.roofline import rows_of

NCU = [
    '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","launch__registers_per_thread"',
    '"","","us","Mbyte","register/thread"',
    '"0","void softmax_block<float>(const T1 *)","102.4","1,134.2","40"',
    '"1","add_tile(float)","7","no data","16"',
]


def test_counters_of_time_and_bytes_are_in_ns_and_bytes() -> None:
    first, second = in_base_units(NCU)
    assert first["gpu__time_duration.sum"] == pytest.approx(102400.0)
    assert first["dram__bytes_read.sum"] == pytest.approx(1134.2e6)
    assert named(first)["kernel"] == "void softmax_block<float>"
    assert second["dram__bytes_read.sum"] == 0.0  # ncu counted none
    assert named(second) == {"kernel": "add_tile", "time_ns": 7000.0, "registers": 16.0, "cycles_waited_for": {}}


def test_torchs_kernels_between_those_of_the_plan_are_not_counted() -> None:
    plan = [({"operator": "sum"}, ["reduce_tree", "finish_tree"]), ({"operator": "add"}, ["add_scalar"])]
    names = ["void at::copy<int>", "void reduce_tree<float>", "finish_tree", "void at::copy<int>", "add_scalar"]
    rows = [{"kernel": name, "blocks": number} for number, name in enumerate(names)]
    found = counters.in_plan(plan, rows)
    assert [(row["operator"], row["blocks"]) for row in found] == [("sum", 1), ("sum", 2), ("add", 4)]
    with pytest.raises(RuntimeError, match="add_scalar of add was planned"):
        counters.in_plan(plan, rows[:-1])


def test_a_product_of_8_bits_is_timed_as_torch_takes_it() -> None:
    lying = {ladder.name: small_case(ladder).transposed for ladder in LADDERS if ladder.is_product}
    assert {name for name, transposed in lying.items() if transposed == "b"} == {"matmul_fp8", "matmul_int8"}
    assert {small_case(ladder).columns for ladder in LADDERS} == {32, 1024}


def test_kernels_that_follow_one_another_on_a_stream_are_one_step() -> None:
    def event(category: str, name: str, stream: int, begin: float, duration: float) -> dict[str, Any]:
        return {"cat": category, "name": name, "ts": begin, "dur": duration, "args": {"stream": stream}}

    events = [
        event("kernel", "softmax", 21, 110.0, 5.0),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 21, 100.0, 10.0),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 25, 111.0, 4.0),
        event("kernel", "softmax", 21, 116.0, 5.0),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 21, 121.0, 9.0),
        {"name": "process_name", "ph": "M"},
    ]
    found = [(step["stream"], step["kind"], step["begin_us"], step["end_us"]) for step in spans(events)]
    assert found == [
        (0, "upload", 0.0, 10.0),
        (0, "kernels", 10.0, 21.0),
        (1, "upload", 11.0, 15.0),
        (0, "download", 21.0, 30.0),
    ]


def figure(operator: str, contender: str, median_us: float) -> dict[str, Any]:
    case = {"operator": operator, "element": "float32", "rows": 16384, "columns": 4096}
    quartiles = {"first_quartile_us": 0.99 * median_us, "third_quartile_us": 1.01 * median_us}
    return case | {"contender": contender, "median_us": median_us} | quartiles


def test_a_record_has_a_line_per_row_rounded_numbers_and_each_name_once() -> None:
    rows: list[dict[str, Any]] = [
        {"contender": "v1", "median_us": 1160.4640483856201},
        {"contender": "v2", "median_us": None},
    ]
    others: list[dict[str, Any]] = [{"contender": "v3", "error": "none", "waits": {"barrier": 1.5}}, {}, *rows]
    all_rows = [*rows, *others]
    figures = {"machine": {"gpu": "a GPU", "processors": 132}, "rows": all_rows, "cub": [], "pairs": [[1, 2.5]]}
    text = records.text(figures)
    assert records.opened(text) == records.rounded(figures)
    assert [list(row) for row in records.opened(text)["rows"]] == [list(row) for row in all_rows]
    assert text.count("median_us") == 2  # one table before the rows with other names, one after them
    assert '["v1",1160.46],' in text.splitlines()


def test_a_version_is_shown_with_the_time_of_its_present_shape() -> None:
    before, other = figure("softmax", "v4", 200.0) | {"tb_per_s": 2.0}, figure("softmax", "torch", 300.0)
    again = figure("softmax", "v4", 160.0) | {"tb_per_s": 2.5, "shape": "1 x 512 threads, 2 packs"}
    later = figure("softmax", "v5", 150.0) | {"shape": "2 x 512 threads, 1 packs"}
    found = rows_of({"rows": [before, other], "retimed": [again, later]})
    assert [(row["contender"], row["median_us"]) for row in found] == [("v4", 160.0), ("torch", 300.0), ("v5", 150.0)]


def test_two_runs_are_compared_but_for_changed_versions() -> None:
    first = {"rows": [figure("add", "v1", 100.0), figure("softmax", "v1", 100.0), figure("softmax", "torch", 200.0)]}
    second = {"rows": [figure("add", "v1", 103.0), figure("softmax", "v1", 50.0), figure("softmax", "torch", 198.0)]}
    found = agreement.pairs([first], [second], ["softmax"])
    assert [(pair.operator, pair.ratio) for pair in found] == [("add", 1.03), ("softmax", 0.99)]
    assert agreement.table(found, {"all, one GPU twice": found[:1]}).splitlines()[-2:] == [
        "| all | 2 | 1.010 | 0.990 | 1.030 | 3.0 % | 2.0 % |",
        "| all, one GPU twice | 1 | 1.030 | 1.030 | 1.030 | 3.0 % | 2.0 % |",
    ]


def test_products_are_compared_by_what_lies_transposed_too() -> None:
    first = figure("matmul", "v1", 100.0) | {"depth": 64}
    second = [first | {"median_us": 102.0}, first | {"median_us": 150.0, "transposed": "b"}]
    kept = agreement.opened(json.loads(json.dumps(agreement.kept([{"machine": {}, "rows": second}]))))
    assert [pair.ratio for pair in agreement.pairs([{"rows": [first]}], [kept], [])] == [1.02]


def test_a_run_is_kept_as_far_as_the_comparison_needs_it() -> None:
    rows = [figure("add", "v1", 103.0) | {"eager_us": 110.0}, figure("add", "torch", 1.0) | {"median_us": None}]
    record = json.loads(json.dumps(agreement.kept([{"machine": {"gpu": "a GPU"}, "rows": rows}])))
    assert agreement.opened(record) == {"rows": [figure("add", "v1", 103.0) | {"depth": 0, "variant": ""}]}
    retimed = {"rows": rows, "retimed": [figure("add", "v1", 90.0) | {"shape": "1 packs"}]}
    assert agreement.pairs([retimed], [agreement.opened(record)], []) == []


def test_the_fused_operator_is_held_against_the_two_by_torch_compile() -> None:
    case = {"operator": "layer_norm_softmax", "element": "float32", "rows": 16384, "columns": 4096}
    ours = figure("layer_norm_softmax", goals.default_version(case), 190.0)
    apart = [figure(name, "torch.compile", 185.0) for name in ("layer_norm", "softmax")]
    line = goals.fused_table({"rows": [ours], "compiled": apart}).splitlines()[-1]
    assert line == "| float32 | 4096 | 190 | 370 | 1.95 | met |"


def test_a_product_is_held_against_cublas() -> None:
    def row(size: int, contender: str, tflop_per_s: float | None) -> dict[str, Any]:
        case = {"operator": "matmul", "element": "float32", "rows": size, "columns": size, "depth": size}
        return case | {"contender": contender, "tflop_per_s": tflop_per_s}

    ours = goals.default_version(row(4096, "v1", None))
    rates = [row(4096, "v1", 5.0), row(4096, ours, 53.6), row(4096, "torch", 51.0), row(1024, "v1", None)]
    run = {"rows": [*rates, row(1024, ours, 20.0), row(1024, "torch", 40.0)]}
    assert goals.products_table([run]).splitlines()[2:] == [
        "| [matmul](matmul.md) | float32 | 4096 x 4096 x 4096 | 53.6 | 51.0 | 1.051 | 1.05 | met |",
        "| [matmul](matmul.md) | float32 | 1024 x 1024 x 1024 | 20.0 | 40.0 | 0.500 |  |  |",
    ]


def test_a_half_precision_product_of_transposed_matrices_has_no_goal() -> None:
    def row(contender: str, tflop_per_s: float, transposed: str) -> dict[str, Any]:
        case = {"operator": "matmul_half", "element": "bfloat16", "rows": 2048, "columns": 2048, "depth": 2048}
        return case | {"contender": contender, "tflop_per_s": tflop_per_s, "transposed": transposed}

    rows = [row(name, rate, lies) for lies in ("", "b") for name, rate in (("v6", 630.0), ("torch", 600.0))]
    assert goals.products_table([{"rows": rows}]).splitlines()[2:] == [
        "| [matmul_half](matmul_half.md) | bfloat16 | 2048 x 2048 x 2048 | 630.0 | 600.0 | 1.050 | 0.97 | met |",
        "| [matmul_half](matmul_half.md) | bfloat16 | 2048 x 2048 x 2048, b transposed | 630.0 | 600.0 | 1.050 |  |  |",
    ]


def test_odd_products_are_held_against_cublas_together() -> None:
    def row(rows: int, columns: int, depth: int, contender: str, median_us: float) -> dict[str, Any]:
        case = {"operator": "matmul_half", "element": "bfloat16", "rows": rows, "columns": columns, "depth": depth}
        return case | {"contender": contender, "median_us": median_us}

    rows = [
        row(4104, 4104, 4104, "torch", 100.0),
        row(4104, 4104, 4104, "v10", 200.0),
        row(4096, 64, 4096, "v10", 10.0),
    ]
    rows += [row(4096, 64, 4096, "torch", 20.0), row(8192, 8192, 8192, "torch", 9.0), row(8192, 8192, 8192, "v6", 3.0)]
    found = goals.ragged_sentence([{"rows": rows}])
    assert "The 2 rectangular and odd products of bfloat16 run at 1.000 times" in found
    assert "0.50 at 4104 x 4104 x 4104 (goal: 0.85) to 2.00 at 4096 x 64 x 4096." in found
    assert goals.ragged_sentence([{"rows": rows[:1]}]) == ""


def test_the_default_of_a_product_goes_by_its_packs() -> None:
    case = {"operator": "matmul_half", "element": "bfloat16", "rows": 4097, "columns": 1023, "depth": 2047}
    assert goals.default_version(case) == "v9"
    assert goals.default_version(case | {"rows": 7}) == "v3"
    assert goals.default_version(case | {"columns": 1024, "depth": 2048}) == "v6"
    assert goals.default_version(case | {"columns": 1024, "depth": 2048, "transposed": "a"}) == "v9"


def test_a_page_shows_the_counters_of_its_operator() -> None:
    row = {
        "operator": "softmax", "version": 1, "element": "float32", "rows": 8192, "columns": 4096,
        "fewest_bytes": 200_000_000, "kernel": "void softmax_three_passes<float>", "time_ns": 1e5,
        "dram_read_bytes": 200e6, "dram_write_bytes": 130e6, "dram_percent_of_peak": 80.2, "l2_hits_percent": 50.0,
        "warps_resident_percent": 90.0, "issuing_percent_of_cycles": 20.0, "registers": 32.0,
        "cycles_waited_for": {"long_scoreboard": 20.14, "selected": 1.0, "barrier": 0.8, "wait": 0.2},
    }  # fmt: skip
    counted = json.loads(json.dumps({"gpu": "a GPU", "rows": [row, row | {"operator": "add"}]}))
    ladder = next(ladder for ladder in LADDERS if ladder.name == "softmax")
    _, text = pages.page(ladder, {}, {"some.json": counted}).split("## Counters")
    (line,) = (line for line in text.splitlines() if line.startswith("| v1"))
    cells = "v1 | float32 | 8192 x 4096 | softmax_three_passes | 100.0 | 1.65 | 80 % | 50 % | 90 % | 20 % | 32"
    assert line == f"| {cells} | long_scoreboard 20.1, barrier 0.8 |"


def test_a_page_shows_what_ran_for_seconds() -> None:
    case = {"operator": "matmul_half", "element": "bfloat16", "rows": 4096, "columns": 4096, "depth": 4096}
    timed = case | {"contender": "v6", "median_us": 200.0, "tb_per_s": 0.5, "tflop_per_s": 687.2}
    long = case | {"contender": "ours", "tflop_per_s": 640.04, "clock_mhz": 1410, "power_mw": 698765}
    run = {"machine": {"gpu": "a GPU", "torch": "2.11"}, "copy": {"tb_per_s": 2.0}, "rows": [timed]}
    ladder = next(ladder for ladder in LADDERS if ladder.name == "matmul_half")
    page = pages.page(ladder, {"a.json": run | {"sustained": [long, long | {"operator": "matmul"}]}})
    assert page.count("| bfloat16 | 4096 x 4096 x 4096 | ours | 640.0 | 1410 | 699 |") == 1
    assert "two seconds" not in pages.page(ladder, {"a.json": run})


def test_a_page_names_the_run_that_timed_its_operator_later() -> None:
    rows = [figure(name, "v1", 200.0) | {"tb_per_s": 2.0} for name in ("softmax", "layer_norm")]
    one, other = ({"machine": {"gpu": gpu, "torch": "2.11"}, "copy": {"tb_per_s": 2.0}} for gpu in ("a GPU", "another"))
    run = one | {"rows": rows, "later": {"operators": ["softmax"], **other}}
    shown = {ladder.name: pages.page(ladder, {"a.json": run}) for ladder in LADDERS}
    assert "[runs/a.json](runs/a.json): timed again later, one another, torch 2.11." in shown["softmax"]
    assert "[runs/a.json](runs/a.json): one a GPU, torch 2.11." in shown["layer_norm"]
    assert [line[:26] for line in report.machines_table({"a.json": run}).splitlines()[2:]] == [
        "| [a.json](operators/runs/",
        "| the same, softmax: timed",
    ]


def test_the_page_of_the_streams_has_a_line_per_batch_and_a_bar_per_step() -> None:
    steps = [
        {"stream": number % 2, "kind": kind, "begin_us": 100.0 * number, "end_us": 100.0 * number + 90.0}
        for number, kind in enumerate(("upload", "kernels", "download", "upload"))
    ]
    load = {
        "name": "balanced", "what": "as long as a copy", "chunks": 12, "chunk_bytes": 16 << 20, "kernels": 30,
        "batch_ms": {"1": [9.0, 9.6, 9.9], "2": [4.7, 4.8, 4.9]}, "timelines": {"2": steps},
    }  # fmt: skip
    figures = {"gpu": "a GPU", "steps_ms": {"upload": 0.3, "kernel": 0.01, "download": 0.31}, "loads": [load]}
    page, drawn = pages.streams("<!-- streams: begin -->\n<!-- streams: end -->\n", figures)
    assert "upload 300 us, kernel 10 us, download 310 us" in page
    assert "| as long as a copy | 12 of 16 MiB | 30 | 9.60 | 4.80 | 2.00 |" in page
    assert "balanced, 2 streams: 0.39 ms" in drawn
    assert drawn.count("<rect") == 1 + 3 + len(steps)


def test_ligers_times_stand_beside_those_of_the_version_that_ran() -> None:
    size = {"operator": "softmax", "element": "float32", "rows": 16384, "columns": 4096}
    times = {"v4": 180.0, "torch": 200.0, "liger": 270.0}
    table = goals.library_table(
        [size | {"contender": name, "median_us": time} for name, time in times.items()], "liger"
    )
    assert table.splitlines()[-1] == "| softmax | float32 | 16384 x 4096 | v4 | 180 | 270 | 200 | 1.50 |"


def test_kernels_are_compiled_only_for_the_cases_that_a_part_runs() -> None:
    on_end = [case.rows for case in half_product_cases() if is_measured(case, ["sustained"])]
    assert sorted(on_end) == [2048, 4096, 8192]
    beside_liger = {case.ladder.name for case in cases() if is_measured(case, ["liger"])}
    assert beside_liger == {"softmax", "layer_norm", "rms_norm"}
    assert all(is_measured(case, ["forward"]) for case in half_product_cases())


def test_a_swept_tile_gives_its_kernel_as_many_arguments_as_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 9 of float32 products takes two more than those that swept tiles give."""
    monkeypatch.setattr("cuda_ops.library.run.architecture", lambda device: 90)
    case = next(product_cases())
    problem = problem_of(case)
    for shape in shapes_of(case.ladder, problem):
        own, tried = (record(case.ladder, version, problem) for version in (shape.version, with_launch(shape)))
        assert [one.kernel.count(",") for one in tried] == [one.kernel.count(",") for one in own]


def with_launch(shape: Shape) -> Version:
    return replace(shape.version, launch=shape.launch)


def test_a_counted_launch_is_held_against_what_its_size_needs() -> None:
    counted = {
        "element": "bfloat16", "kernel": "void at::<unnamed>::norm<float, 4>", "blocks": 132.0, "time_ns": 34528.0,
        "dram_read_bytes": 60.0, "dram_write_bytes": 20.0, "dram_percent_of_peak": 50.3, "l2_bytes": 1.69e8,
        "tensor_percent_of_peak": 37.6, "warps_resident_percent": 14.0, "issuing_percent_of_cycles": 38.4,
        "cycles_waited_for": {"wait": 2.0, "selected": 1.0, "barrier": 0.8},
    }  # fmt: skip
    window = {"pictures": 16, "channels": 64, "height": 20, "width": 30, "columns": 128, "taps": 3}
    convolution = {"operator": "convolve", "contender": "v2", "operations": 500, "transposed": None}
    product = {
        "operator": "matmul_half",
        "contender": "torch",
        "rows": 4,
        "columns": 8,
        "depth": 16,
        "operations": None,
    }
    lines = [
        counted | window | convolution | {"fewest_bytes": 100, "tensor_operations": 810},
        counted | product | {"fewest_bytes": None, "tensor_operations": 0, "transposed": "b"},
    ]
    of_convolutions, of_products = (chosen_page.table(lines, one).splitlines()[2:] for one in (True, False))
    rest = "14 % | 38 % | wait 2.0, barrier 0.8 |"
    assert of_convolutions == [
        "| convolve | bfloat16 | 3 x 3, 16 x 20 x 30, 64 to 128 | v2 | `at::norm` | 132 | 34.5 | 0.80 | 50 % | 169 "
        f"| 38 % | 1.62 | {rest}"
    ]
    assert of_products == [
        "| matmul_half | bfloat16 | 4 x 8 x 16, b transposed | torch | `at::norm` | 132 | 34.5 |  | 50 % | 169 "
        f"|  |  | {rest}"
    ]
