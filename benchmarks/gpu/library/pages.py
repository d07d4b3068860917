"""Writes docs/operators/*.md from the ladders and the measured figures: `python -m benchmarks.gpu.library.pages`.

And docs/performance-report.md (`report`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.gpu.library import agreement, chosen_page, convolutions_page, machine_code, report, streams_page
from benchmarks.gpu.library.experiments import hint_page, policies_page
from benchmarks.gpu.library.goals import (
    LIBRARIES,
    cpu_table,
    default_version,
    fused_table,
    goals_table,
    library_table,
    products_table,
    ragged_sentence,
)
from benchmarks.gpu.library.introductions import INTRODUCTIONS
from benchmarks.gpu.library.row_counters import page as row_counters_page
from benchmarks.markdown_tables import placed, rows
from cuda_ops.library import records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.ladder import FLOAT32, Ladder, Problem
from cuda_ops.library.roofline import NAMES, in_order, lines, points_of, roof_of, rows_of, summary
from cuda_ops.library.roofline_convolutions import convolution_points, layer_points, roof_with_copy
from cuda_ops.library.roofline_picture import WARM, picture

PAGES = Path(__file__).resolve().parents[3] / "docs" / "operators"
RUNS = PAGES / "runs"
"""What `python -m benchmarks.gpu.library` wrote on an H100: of each run the operators and the gradients."""
LATER = RUNS / "later"
"""Cases of versions that came after the newest run on an H100, on another one."""
PRODUCTS = RUNS / "products"
"""What `python -m benchmarks.gpu.library --products` and the like wrote on H100s."""
H200 = RUNS / "h200"
"""What all of them wrote on H200s, the GPU that the goals are for: by these files goals are judged."""
AGAIN = PAGES / "again"
"""Times of the operators in other runs (`agreement`), on the same GPU or on another one of its kind."""
STREAMS = {"streams": "streams.json", "streams on an H200": "streams_h200.json"}
"""What `python -m benchmarks.gpu.library.streams` wrote on an H100 and on an H200, by the name of the table."""
CONVOLUTIONS_FILE = PAGES / "convolutions.json"
"""What `python -m benchmarks.gpu.library.convolutions` wrote."""
MACHINE_CODE_FILE = PAGES / "machine_code.json"
"""What `main` writes of the kernels that have changed (`machine_code`)."""
LAYERS_FILE = PAGES.parent / "cuda" / "h200_convolutions.json"
"""What `python -m benchmarks.gpu.convolutions` wrote: the convolutions of both detectors."""
BENCH_FILE = PAGES.parent / "cuda" / "h200.json"
"""What `python -m benchmarks.gpu` wrote on the same kind of GPU."""
INDEX, GOALS, CPU, FUSED, AGREEMENT = "operators", "goals", "cpu", "fused", "agreement"
ROOFLINE, SQUARE, RAGGED, CONVOLUTIONS = "roofline", "products", "ragged", "convolutions"
MACHINE_CODE, LAYERS, CHOSEN, COUNTED_ROWS = "machine code", "layers", "chosen counters", "row counters"
ALIGNED = "aligned"
TIMES = (
    "Terabytes per second, more is better: the bytes that the operator has to move (see above), by the median time. A "
    "version that loads its input twice moves more bytes than are counted. Calls are in a CUDA graph, and their data "
    "in no cache ([times](terms.md#times)). Bold is the version that runs by default, empty what cannot run or was not "
    "timed. A plus marks a version that got another launch shape after the run: its time is the one of that shape in "
    "the same run. A later version is not faster at every size, and kernels may have changed since an earlier run. The "
    "[goals](README.md#goals) are for an H200.\n"
)
PRODUCT_TIMES = (
    "Tera-operations (TFLOP) per second, more is better, by the median time: a multiply-add is two operations. Sizes "
    "are rows, columns and depth. Calls are in a CUDA graph, on buffers that rotate ([times](terms.md#times)). torch "
    "calls cuBLAS, {peer}. Bold is the version that runs by default; of some sizes only that one was timed.\n"
)
PEERS = {
    "matmul_tf32": "with TF32",
    "matmul_fp8": "with scales of 1 and fast accumulation (torch._scaled_mm)",
    "matmul_int8": "whose result is int32, without scales (torch._int_mm)",
    "matmul_sparse": "on the matrix with its zeros, as matmul_half does; multiply-adds with zeros count",
}
"""How torch computes a product; the others without TF32."""
OTHERS = ("torch", "torch.compile", "matmul_half", "cuSPARSELt")
"""What is timed beside an operator's versions."""

SUSTAINED_TEXT = (
    "For two seconds on end on one {gpu}, the default version and torch in turn, with the clock and the power late in "
    "that time:\n"
)
COUNTERS_FILES = ("counters_h200.json", "counters.json")
"""What `python -m benchmarks.gpu.library.counters` wrote, of some operators on an H200, and of all on an H100."""
CHOSEN_FILE = PAGES / "chosen_counters.json"
"""What `python -m benchmarks.gpu.library.chosen_counters` wrote."""
POLICIES, POLICIES_FILE = "row policies", PAGES / "row_policies.json"
"""What `python -m benchmarks.gpu.library.experiments.row_policies` wrote."""
HINT, HINT_FILE = "l2 hint", PAGES / "l2_hint.json"
"""What `python -m benchmarks.gpu.library --parts liger` wrote when version 6 had the hint."""
COUNTED_ROWS_FILE = PAGES / "row_counters.json"
"""What `python -m benchmarks.gpu.library.row_counters` wrote."""
COUNTED_BEFORE_FILE = PAGES / "row_counters_before.json"
"""The same before version 6 aligned the rows and weights that it copies ahead."""
COUNTERS_TEXT = (
    "Nsight Compute on one {gpu}, one launch per kernel, caches flushed before it ([{name}]({name}), by "
    "`python -m benchmarks.gpu.library.counters`). [Counters](terms.md#counters) explains the columns and the "
    "waits.\n"
)


def page(
    ladder: Ladder,
    runs: Mapping[str, dict[str, Any]],
    counters: Mapping[str, dict[str, Any]] | None = None,
    code: Mapping[str, Any] | None = None,
) -> str:
    """The page of one operator; `runs` and `counters` by the name of the file, `code` is an excerpt of machine code."""
    measured = {f"runs/{name}": run for name, run in runs.items() if _has(run, ladder)}
    parts = [
        f"# {ladder.name}\n",
        f"`{ladder.formula}`\n",
        f"{_bound(ladder)} `version=N` of the operator in "
        f"[op.py](../../cuda_ops/library/{_folder_of_operator(ladder)}/op.py) runs version N; without it the version "
        "runs that was fastest for such sizes and types. [Terms](terms.md) explains the words of this page, "
        "[add a version](README.md#add-a-version) how to add one.\n",
        "Made by `python -m benchmarks.gpu.library.pages` from "
        f"[ladder.py](../../cuda_ops/library/{ladder.folder}/ladder.py)"
        + ("".join(f" and [{name}]({name})" for name in measured) or "; no GPU has timed it yet")
        + ".\n",
        *([f"{INTRODUCTIONS[ladder.folder]}\n"] if ladder.folder in INTRODUCTIONS else []),
        "## Versions\n",
        rows(["version", "what changed", "what it should gain", "what limits it"], _versions(ladder)),
    ]
    if measured:
        parts += ["## Times\n", _text_of_times(ladder)]
    for name, run in measured.items():
        if _was_timed(run, ladder):
            parts += [f"[{name}]({name}): {_machine(run, ladder)}", rows(*_times(ladder, run))]
    for run in measured.values():
        parts += _sustained(ladder, run)
    counted = {name: one for name, one in (counters or {}).items() if _has(one, ladder)}
    parts += ["## Counters\n"] * bool(counted)
    for name, one in counted.items():
        parts += [COUNTERS_TEXT.format(gpu=one["gpu"], name=name), rows(*_counters(ladder, one))]
    if code is not None:
        parts += ["## Machine code\n", machine_code.section(ladder, code)]
    return "\n".join(parts)


def _folder_of_operator(ladder: Ladder) -> str:
    """Where its op.py is: a gradient is in that of its operator."""
    return ladder.folder.removesuffix("_backward")


def _text_of_times(ladder: Ladder) -> str:
    return PRODUCT_TIMES.format(peer=PEERS.get(ladder.name, "without TF32")) if ladder.is_product else TIMES


def _has(figures: dict[str, Any], ladder: Ladder) -> bool:
    is_sustained = any(row["operator"] == ladder.name for row in figures.get("sustained", []))
    return is_sustained or _was_timed(figures, ladder)


def _was_timed(figures: dict[str, Any], ladder: Ladder) -> bool:
    return any(row["operator"] == ladder.name for row in figures["rows"])


def _bound(ladder: Ladder) -> str:
    """What the operator has to do, and what bounds it."""
    if ladder.is_product:
        problem = Problem(ladder.elements[0], 4096, 4096, 4, 90, depth=4096)
        work = ladder.operations(problem) / ladder.moved_bytes(problem)
        return (
            f"Matrices of 4096 x 4096 need {work:.0f} operations for each byte that the operator has to move. "
            "Arithmetic bounds it, not memory."
        )
    problem = Problem(FLOAT32, 1, 1000, 4, 90)
    moved, work = ladder.moved_bytes(problem) / 4000, ladder.operations(problem) / 1000
    return (
        f"The operator {_moves(moved)}, and needs {work:g} operation{'' if work == 1 else 's'} per element: "
        f"{work / moved / 4:.2f} per byte in float32. Memory bounds it, not arithmetic."
    )


def _moves(moved: float) -> str:
    if moved == 1:
        return "has to read its array once"
    return f"has to move {moved:g} times the bytes of its first array (inputs read once, results written once)"


def _versions(ladder: Ladder) -> list[list[str]]:
    return [
        [
            f"[{version.number}: {version.name}](../../cuda_ops/{ladder.source(version)}.cu)"
            + (f" (sm_{version.architecture_min})" if version.architecture_min > 75 else ""),
            version.change,
            version.why,
            version.limit,
        ]
        for version in ladder.versions
    ]


def _machine(figures: dict[str, Any], ladder: Ladder) -> str:
    """The GPU of the operator's rows: "later" in a record tells of operators that were timed again after the others."""
    later = figures.get("later", {})
    run, which = (later, "timed again later, ") if ladder.name in later.get("operators", ()) else (figures, "")
    machine, copy = run["machine"], run["copy"]["tb_per_s"]
    return (
        f"{which}one {machine['gpu']}, torch {machine['torch']}. In the same run, torch's copy of 1 GiB reaches "
        f"{copy:.2f} TB/s, read and written.\n"
    )


def _times(ladder: Ladder, figures: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Column names and cells: one line per size and type, one column per contender."""
    found: dict[tuple[str, tuple[int, int, int, str]], dict[str, str]] = {}
    for row in (*rows_of(figures), *figures.get("compiled", [])):
        if row["operator"] != ladder.name:
            continue
        size = row["rows"], row["columns"], row.get("depth", 0), records.variant_of(row)
        cells = found.setdefault((row["element"], size), {})
        rate = "" if row["tb_per_s"] is None else _rate(row) + (" +" if "shape" in row else "")
        cells.setdefault(row["contender"], f"**{rate}**" if row["contender"] == default_version(row) else rate)
    contenders = [f"v{version.number}" for version in ladder.versions]
    contenders += [name for name in OTHERS if any(name in cells for cells in found.values())]
    lines = [
        [element, _size(*size), *(cells.get(name, "") for name in contenders)]
        for (element, size), cells in sorted(found.items(), key=lambda item: (item[0][0], item[0][1][1]))
    ]
    return ["type", "size", *contenders], lines


def _sustained(ladder: Ladder, figures: dict[str, Any]) -> list[str]:
    """The table of what ran for seconds on end, if there is any."""
    lines = [
        [
            row["element"],
            _size(row["rows"], row["columns"], row.get("depth", 0)),
            row["contender"],
            _rate(row),
            *("" if row[name] is None else f"{row[name] / unit:.0f}" for name, unit in READINGS),
        ]
        for row in figures.get("sustained", [])
        if row["operator"] == ladder.name
    ]
    names = ["type", "size", "contender", "TFLOP/s", "clock, MHz", "power, W"]
    return [SUSTAINED_TEXT.format(gpu=figures["machine"]["gpu"]), rows(names, lines)] if lines else []


READINGS = (("clock_mhz", 1), ("power_mw", 1000))


def _rate(row: dict[str, Any]) -> str:
    return f"{row['tflop_per_s']:.1f}" if "tflop_per_s" in row else f"{row['tb_per_s']:.2f}"


def _size(count: int, columns: int, depth: int, variant: str = "") -> str:
    size = f"{count} x {columns}" + (f" x {depth}" if depth else "")
    return f"{size}, {variant}" if variant else size


def _counters(ladder: Ladder, counters: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Column names and cells: one line per kernel of a version."""
    names = ["version", "type", "size", "kernel", "time, us", "memory, of the fewest bytes", "memory, of its peak"]
    names += ["L2 hits", "warps resident", "issuing", "registers", "waits"]
    lines = []
    for row in counters["rows"]:
        if row["operator"] != ladder.name:
            continue
        moved = (row["dram_read_bytes"] + row["dram_write_bytes"]) / row["fewest_bytes"]
        waited = row["cycles_waited_for"].items()
        waits = [f"{name} {cycles:.1f}" for name, cycles in waited if name != "selected"]
        lines.append(
            [
                f"v{row['version']}",
                row["element"],
                _size(row["rows"], row["columns"], row.get("depth", 0)),
                row["kernel"].split("<")[0].removeprefix("void "),
                f"{row['time_ns'] / 1e3:.1f}",
                f"{moved:.2f}",
                *(f"{row[name]:.0f} %" for name in PERCENTAGES),
                f"{row['registers']:.0f}",
                ", ".join(waits[:2]),
            ]
        )
    return names, lines


PERCENTAGES = ("dram_percent_of_peak", "l2_hits_percent", "warps_resident_percent", "issuing_percent_of_cycles")


def index_table() -> str:
    """The table of all operators."""
    lines = [
        [f"[{ladder.name}]({ladder.name}.md)", f"`{ladder.formula}`", str(len(ladder.versions))] for ladder in LADDERS
    ]
    return rows(["operator", "result", "versions"], lines)


def filled(
    index: str,
    on_h200: Mapping[str, dict[str, Any]],
    on_h100: Mapping[str, dict[str, Any]],
    again: Mapping[str, dict[str, Any]],
) -> str:
    """The index page with its tables, of the records of an H200; `again` are other runs, on H200s and on H100s."""
    runs = list(on_h200.values())
    index = placed(placed(index, INDEX, index_table()), SQUARE, products_table(runs))
    index = placed(index, RAGGED, ragged_sentence(runs))
    figures = together(runs)
    table = agreement.table(
        agreement.pairs(runs, [again["h200_second"], again["h200_third_sparse"]], ()),
        {
            "softmax and norms, two later H200s": agreement.pairs(runs, [again["h200_later_second"]], ()),
            "gradients, a third H200": agreement.pairs(runs, [again["h200_third_backward"]], ()),
            "all, a fourth H200": agreement.pairs(runs, [again["h200_fourth"]], ()),
            "all, two H100s": agreement.pairs(list(on_h100.values()), [again["another_gpu"]], CHANGED),
            "all, one H100 twice": agreement.pairs(list(on_h100.values()), [again["same_gpu"]], ()),
        },
    )
    index = placed(placed(index, FUSED, fused_table(figures)), AGREEMENT, table)
    return placed(placed(index, GOALS, goals_table(figures)), CPU, cpu_table(figures))


def newest(runs: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The files of the last run: their names begin alike, and last in the alphabet (h100b_forward.json)."""
    last = max((name.rpartition("_")[0] for name in runs), default="")
    return {name: run for name, run in runs.items() if name.rpartition("_")[0] == last}


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of one GPU's files as one; what was timed beside other libraries is among `compiled`."""
    found = {part: [row for run in runs for row in run.get(part, [])] for part in PARTS}
    return {
        "rows": [row for run in runs for row in rows_of(run)],
        "compiled": [row for part in ("compiled", *LIBRARIES) for row in found[part]],
        **{part: found[part] for part in ("cpu_time", "cub")},
    }


PARTS = ("compiled", *LIBRARIES, "cpu_time", "cub")
CHANGED = ("layer_norm_softmax",)
"""Operators whose kernels changed between the newest run on an H100 and the one on another H100."""


def roofline(
    page: str, measured: list[dict[str, Any]], convolutions: dict[str, Any], layers: dict[str, Any]
) -> dict[str, str]:
    """The page of the roofline with its tables, and its pictures, by the names of the files."""
    roof, points = roof_of(measured), in_order([*points_of(measured), *convolution_points(convolutions)])
    table = f"{summary(roof)}.\n\n{rows(NAMES, lines(points, roof))}"
    theirs, convolved = roof_with_copy(roof, records.read(BENCH_FILE)), layer_points(layers)
    table_of_layers = rows(("window", *NAMES[1:]), lines(convolved, theirs))
    return {
        "roofline.md": placed(placed(page, ROOFLINE, table), LAYERS, table_of_layers),
        "roofline.svg": picture(points, roof),
        "roofline_layers.svg": picture(convolved, theirs, WARM),
    }


def streams(page: str, figures: dict[str, Any], name: str = "streams") -> tuple[str, str]:
    """The page of the streams with the table of that name, and its picture."""
    table = f"{streams_page.steps_sentence(figures)}\n\n{streams_page.times_table(figures)}"
    return placed(page, name, table), streams_page.picture(figures)


def read_counters() -> dict[str, dict[str, Any]]:
    """Nsight Compute's counters by the name of the file."""
    return {name: records.read(PAGES / name) for name in COUNTERS_FILES}


def read_runs() -> dict[str, dict[str, Any]]:
    """The figures of the runs, by the name of the file."""
    return {file.name: records.read(file) for file in sorted(RUNS.glob("*.json"))}


def read_below(folder: Path) -> dict[str, dict[str, Any]]:
    """The figures in a folder of `RUNS`, by the name of the file below `RUNS`; not all have "rows" of their own."""
    return {f"{folder.name}/{file.name}": {"rows": []} | records.read(file) for file in sorted(folder.glob("*.json"))}


def read_again() -> dict[str, dict[str, Any]]:
    """The newest run's operators in other runs, by the name of the file."""
    return {file.stem: agreement.opened(records.read(file)) for file in sorted(AGAIN.glob("*.json"))}


def made() -> dict[str, str]:
    """Every page and picture by the name of its file."""
    runs, later, products, counters = read_runs(), read_below(LATER), read_below(PRODUCTS), read_counters()
    on_h200, codes = read_below(H200), read_machine_code()
    everywhere = on_h200 | runs | later | products
    found = {f"{ladder.name}.md": page(ladder, everywhere, counters, codes[ladder.name]) for ladder in LADDERS}
    found["README.md"] = filled((PAGES / "README.md").read_text(), on_h200, newest(runs), read_again())
    for library in LIBRARIES:
        table = library_table(on_h200[f"{H200.name}/{library}.json"][library], library)
        found["README.md"] = placed(found["README.md"], library, table)
    chosen = records.read(CHOSEN_FILE)["rows"]
    found["README.md"] = placed(found["README.md"], CHOSEN, chosen_page.table(chosen, is_of_convolutions=False))
    counted, before = (records.read(file)["rows"] for file in (COUNTED_ROWS_FILE, COUNTED_BEFORE_FILE))
    found["README.md"] = placed(found["README.md"], COUNTED_ROWS, row_counters_page.table(counted))
    found["README.md"] = placed(found["README.md"], POLICIES, policies_page.table(records.read(POLICIES_FILE)["rows"]))
    hinted = records.read(HINT_FILE)["liger"]
    found["README.md"] = placed(
        found["README.md"], HINT, hint_page.table(on_h200[f"{H200.name}/liger.json"]["liger"], hinted)
    )
    found["README.md"] = placed(found["README.md"], ALIGNED, row_counters_page.before_and_after(before, counted))
    measured, convolutions = [run for run in on_h200.values() if run["rows"]], records.read(CONVOLUTIONS_FILE)
    page_of_roofline = (PAGES / "roofline.md").read_text()
    found |= roofline(page_of_roofline, measured, convolutions, records.read(LAYERS_FILE))
    found["../performance-report.md"] = report.report(on_h200, together([*on_h200.values()]))
    table = convolutions_page.table(convolutions, roof_of(measured))
    page_of_convolve = placed((PAGES / "convolve.md").read_text(), CONVOLUTIONS, table)
    page_of_convolve = placed(page_of_convolve, CHOSEN, chosen_page.table(chosen, is_of_convolutions=True))
    code = machine_code.section(CONVOLVE, codes[CONVOLVE.name])
    found["convolve.md"] = placed(page_of_convolve, MACHINE_CODE, code)
    found["streams.md"] = (PAGES / "streams.md").read_text()
    for name, file in STREAMS.items():
        picture_of = f"{Path(file).stem}.svg"
        found["streams.md"], found[picture_of] = streams(found["streams.md"], records.read(PAGES / file), name)
    return found


def read_machine_code() -> dict[str, dict[str, Any]]:
    """The excerpts of machine code by the name of the operator."""
    found: dict[str, dict[str, Any]] = records.read(MACHINE_CODE_FILE) if MACHINE_CODE_FILE.is_file() else {}
    return found


def main() -> None:
    known = read_machine_code()
    if (codes := machine_code.refreshed(known)) != known:
        MACHINE_CODE_FILE.write_text(f"{json.dumps(codes, indent=1)}\n")
    for name, text in made().items():
        (PAGES / name).write_text(text)


if __name__ == "__main__":
    main()
