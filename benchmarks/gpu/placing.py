"""Puts the records of a run in their places, and makes the pages: `python -m benchmarks.gpu.placing out/bench`.

The last step of `make bench-gpu`. The pages are about an H200: the records of another GPU stay where they are. A record
that leaves rows out does not replace one that may have them all.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu import chart, table
from benchmarks.gpu.library import pages
from benchmarks.markdown_tables import placed
from cuda_ops.library import records

GPU = "NVIDIA H200"
DOCS = pages.PAGES.parent
CUDA = DOCS / "cuda"
PLACES = {
    "ladders_forward.json": pages.H200 / "forward.json",
    "ladders_backward.json": pages.H200 / "backward.json",
    "ladders_products.json": pages.H200 / "float32.json",
    "ladders_half_products.json": pages.H200 / "half.json",
    "ladders_tensor_products.json": pages.H200 / "tensor.json",
    "ladders_sparse_products.json": pages.H200 / "sparse.json",
    "ladders_fused_products.json": pages.H200 / "fused.json",
    "ladders_batch_products.json": pages.H200 / "batches.json",
    "ladders_liger.json": pages.H200 / "liger.json",
    "ladders_quack.json": pages.H200 / "quack.json",
    "convolutions.json": pages.PAGES / "convolutions.json",
    "streams.json": pages.PAGES / "streams_h200.json",
    "ladder_counters.json": pages.PAGES / "counters_h200.json",
    "chosen_counters.json": pages.PAGES / "chosen_counters.json",
    "row_counters.json": pages.PAGES / "row_counters.json",
    "gpu.json": CUDA / "h200_quiet.json",
}
"""Where each record of a run belongs. No page is made of the others: network, equality, counters of the hot path, and
sparse layers."""
SWEEPS = ("shapes of ", "compile shapes of ")
"""How cases of other launch shapes begin, which no page needs."""
TABLES, CHART = DOCS / "cuda.md", CUDA / "h200.png"


def gpu_of(figures: dict[str, Any]) -> str:
    """The GPU's name in a record."""
    return str(figures.get("gpu") or figures.get("machine", {}).get("gpu", ""))


def why_not(figures: dict[str, Any]) -> str:
    """Why a record does not replace the one in its place; empty if it does."""
    if gpu_of(figures) != GPU:
        return f"is of {gpu_of(figures) or 'an unknown GPU'}, the pages are of {GPU}s"
    cases = [row["case"] if isinstance(row, dict) else row for row in figures.get("left_out", [])]
    if needed := [case for case in cases if not case.startswith(SWEEPS)]:
        return f"leaves out {len(needed)} cases"
    return f"has {len(errors)} errors" if (errors := figures.get("errors", [])) else ""


def place(folder: Path) -> list[str]:
    """Copy the records to their places; one line for each file that is kept out."""
    kept_out = []
    for name, target in PLACES.items():
        source = folder / name
        if not source.is_file():
            kept_out.append(f"{name} was not written")
        elif reason := why_not(records.read(source)):
            kept_out.append(f"{name} {reason}")
        else:
            shutil.copyfile(source, target)
    return kept_out


def make_pages() -> None:
    """Every page and picture of the records in their places."""
    figures = json.loads(PLACES["gpu.json"].read_text())
    TABLES.write_text(placed(TABLES.read_text(), table.NAME, table.tables(figures)))
    chart.draw(PLACES["gpu.json"], CHART)
    pages.main()


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("gpu.placing: needed is the folder with the records")
    kept_out = place(Path(sys.argv[1]))
    for line in kept_out:
        print(f"bench-gpu: kept out of docs: {line}", flush=True)
    if len(kept_out) < len(PLACES):
        make_pages()
        print("bench-gpu: docs are made anew; `git diff docs` shows what changed", flush=True)


if __name__ == "__main__":
    main()
