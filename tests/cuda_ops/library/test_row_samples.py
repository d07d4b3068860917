"""Where warps wait, by the samples of each instruction that Nsight Compute took."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.gpu.library.pages import COUNTED_ROWS_FILE, PAGES
from benchmarks.gpu.library.row_counters import samples
from benchmarks.gpu.library.row_counters.page import REQUEST_BYTES, SECTOR_BYTES, waits_of
from cuda_ops.library import records

NAMES = (
    "Address", "Source", "# Samples", "Instructions Executed", "L2 Theoretical Sectors Global",
    "L2 Theoretical Sectors Global Ideal", "stall_barrier", "stall_long_sb", "stall_long_sb (Not Issued)",
)  # fmt: skip
LINES = (
    ("LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64]", 0, 8, 256, 128, 0, 0, 0),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P6, [R98+URZ], R97", 1, 4, 0, 0, 0, 1, 1),
    ("LEA R19, R16, R19, 0x18", 0, 4, 0, 0, 0, 0, 0),
    ("@!P6  BRA 0x7fb37f7a6e90", 24, 4, 0, 0, 0, 24, 24),
    ("@!P6  BRA 0x7fb37f7a6f00", 5, 4, 0, 0, 0, 5, 5),
    ("FMNMX R46, R36, -INF , !PT", 60, 4, 0, 0, 0, 60, 60),
    ("@!P1  LDS.64 R12, [R58]", 10, 4, 0, 0, 10, 0, 0),
    ("@P0  STG.E.128 desc[UR4][R2.64], R4", 0, 4, 64, 64, 0, 0, 0),
)


def page(kernel: str) -> str:
    cells = [NAMES, *(("0x10", *map(str, line)) for line in LINES)]
    return "\n".join([f'"Kernel Name","{kernel}"', *(",".join(f'"{cell}"' for cell in line) for line in cells)])


def test_waits_for_a_cluster_are_told_from_those_for_the_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, plan, out = tmp_path / "source.csv", tmp_path / "plan.json", tmp_path / "samples.json"
    source.write_text(page("void softmax_ahead<float, (int)4>(const T1 *, T1 *)") + "\n" + page("quack_kernel"))
    plan.write_text(json.dumps({"calls": [[{"contender": "v6"}, ["softmax_ahead"]], [{"contender": "quack"}, []]]}))
    monkeypatch.setattr(sys, "argv", ["samples", str(source), "--plan", str(plan), "--out", str(out)])
    samples.main()
    ours, quacks = records.read(out)["rows"]
    assert (ours["contender"], ours["kernel"]) == ("v6", "void softmax_ahead<float, (int)4>")
    assert (ours["samples"], ours["at_cluster_barriers_percent"]) == (100, 25.0)
    assert ours["waits_percent"] == {"long_sb": 90.0, "barrier": 10.0}
    assert ours["instructions_percent"][0] == ["FMNMX R46, R36, -INF , !PT", 60.0]
    assert ours["requests"] == {
        "LDGSTS.E.BYPASS.128": {"executed": 8, "sectors": 256, "fewest_sectors": 128},
        "STG.E.128": {"executed": 4, "sectors": 64, "fewest_sectors": 64},
    }
    assert quacks["contender"] == "quack"


def test_a_plan_of_other_kernels_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, plan = tmp_path / "source.csv", tmp_path / "plan.json"
    source.write_text(page("void softmax_ahead<float, (int)4>(const T1 *, T1 *)"))
    plan.write_text(json.dumps({"calls": [[{"contender": "v6"}, ["norm_ahead"]]]}))
    monkeypatch.setattr(sys, "argv", ["samples", str(source), "--plan", str(plan), "--out", str(tmp_path / "out.json")])
    with pytest.raises(SystemExit, match="norm_ahead"):
        samples.main()
    assert not (tmp_path / "out.json").exists()


def least_and_most(numbers: Iterable[float], unit: str = " %", digits: int = 0) -> str:
    found = list(numbers)
    return f"{min(found):.{digits}f}{unit} to {max(found):.{digits}f}{unit}"


def test_what_is_said_of_the_counters_of_rows() -> None:
    """docs/operators/README.md explains version 6's misses by them."""
    rows = records.read(COUNTED_ROWS_FILE)["rows"]
    text = " ".join((PAGES / "README.md").read_text().split())
    ours = [row for row in rows if row["contender"] == "v6"]
    short = [row for row in ours if row["columns"] == 4096]
    relu = [row for row in rows if row["operator"] == "relu"]

    def waits(name: str) -> str:
        return least_and_most(dict(waits_of(row))[name] for row in short)

    memory = [(row["dram_read_bytes"] + row["dram_write_bytes"]) / row["time_ns"] / 1e3 for row in relu]
    assert f"at {least_and_most(row['dram_percent_of_peak'] for row in ours)}" in text
    assert f"{memory[0]:.2f} and {memory[1]:.2f} TB/s" in text
    assert f"waits for the memory in {waits('long_scoreboard')} of its cycles" in text
    assert f"at the barrier of its block in {waits('barrier')}, and" in text
    assert f"exponentials in {waits('short_scoreboard')}." in text
    assert f"issue in {least_and_most(row['issuing_percent_of_cycles'] for row in short)} of the cycles" in text
    long = [row for row in ours if row["columns"] == 131072]
    active = least_and_most(100 * row["active_cycles"] / row["cycles"] for row in long)
    assert f"Processors have a block in {active} of the cycles" in text


def test_copies_load_twice_where_they_begin_off_a_sector() -> None:
    """What the page says of the eight kernels with copies, and which of them ask for twice the sectors by samples."""
    ours = [row for row in records.read(COUNTED_ROWS_FILE)["rows"] if row["contender"] == "v6"]
    copying = [
        row for row in ours if (row["operator"], row["element"], row["columns"]) != ("softmax", "float32", 131072)
    ]
    found: dict[float, list[tuple[int, int]]] = {}
    for row in copying:
        weights = row["l2_sectors_of_loads"] * SECTOR_BYTES > 2.5 * row["fewest_bytes"] / 2
        bytes_of, requests = (
            round(row[f"l2_{name}_of_loads"] * size / (row["fewest_bytes"] / 2)) - weights
            for name, size in (("sectors", SECTOR_BYTES), ("requests", REQUEST_BYTES))
        )
        found.setdefault(row["shared_bytes_static"] % 128, []).append((bytes_of, requests))
    assert found == {16.0: [(2, 3)] * 3, 64.0: [(1, 2)] * 3, 0.0: [(1, 1)] * 2}
    sampled = records.read(PAGES / "row_samples.json")["rows"]
    twice = [
        (row["operator"], row["element"], row["columns"], row["contender"])
        for row in sampled
        for one in row["requests"].values()
        if one["sectors"] != one["fewest_sectors"]
    ]
    assert twice == [("softmax", "bfloat16", 131072, "v6"), ("rms_norm", "bfloat16", 131072, "v6")]
    at_barriers = {
        name: [
            row["at_cluster_barriers_percent"] for row in sampled if row["contender"] == name and row["columns"] > 4096
        ]
        for name in ("v6", "quack")
    }
    ours_said, quacks = (least_and_most(shares) for shares in at_barriers.values())
    text = " ".join((PAGES / "README.md").read_text().split())
    assert f"{ours_said} of the samples of our warps are at the barrier of their cluster (QuACK: {quacks})" in text
