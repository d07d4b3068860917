"""Where warps wait, by the samples of each instruction that Nsight Compute took."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import pytest

from benchmarks.gpu.library import all_goals
from benchmarks.gpu.library.pages import COUNTED_BEFORE_FILE, COUNTED_ROWS_FILE, H200, PAGES
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


def readme() -> str:
    return " ".join((PAGES / "README.md").read_text().split())


def case_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["operator"], row["element"], row["columns"], row["contender"]


def test_what_is_said_of_the_counters_of_rows() -> None:
    """docs/operators/README.md explains version 6's misses by them."""
    rows, text = records.read(COUNTED_ROWS_FILE)["rows"], readme()
    ours = [row for row in rows if row["contender"] == "v6"]
    short = [row for row in ours if row["columns"] == 4096]
    relu = [row for row in rows if row["operator"] == "relu"]

    def waits(name: str) -> str:
        return least_and_most(dict(waits_of(row))[name] for row in short)

    def active(some: Iterable[dict[str, Any]]) -> str:
        return least_and_most(100 * row["active_cycles"] / row["cycles"] for row in some)

    memory = [(row["dram_read_bytes"] + row["dram_write_bytes"]) / row["time_ns"] / 1e3 for row in relu]
    assert f"at {least_and_most(row['dram_percent_of_peak'] for row in ours)}" in text
    assert f"{memory[0]:.2f} and {memory[1]:.2f} TB/s" in text
    at_end = least_and_most(100 - 200 * row["dram_write_bytes"] / row["fewest_bytes"] for row in [*ours, *relu])
    assert f"since {at_end} of the result are still in the L2 cache" in text
    relus = {row["element"]: row["time_ns"] for row in relu}
    more = least_and_most(100 * row["time_ns"] / relus[row["element"]] - 100 for row in short)
    assert f"{more} more time than ReLU" in text
    assert f"waits for the memory in {waits('long_scoreboard')} of its cycles" in text
    assert f"at the barrier of its block in {waits('barrier')}, and" in text
    assert f"exponentials in {waits('short_scoreboard')}." in text
    assert f"issue in {least_and_most(row['issuing_percent_of_cycles'] for row in short)} of the cycles" in text
    assert f"Processors have a block in {active(short)} of the cycles (ReLU" in text
    long = [row for row in ours if row["columns"] == 131072]
    assert f"Processors have a block in {active(long)} of the cycles" in text
    for some, name in ((short, "rows of 4k"), (long, "Rows of 128k")):
        busy = least_and_most(row["dram_percent_of_peak"] for row in some)
        assert busy in all_goals.CAUSES[4.1].partition(name)[0 if name == "rows of 4k" else 2]


def test_the_memory_is_as_busy_as_in_the_benchmark() -> None:
    run = records.read(H200 / "forward.json")
    timed: dict[tuple[Any, ...], list[float]] = {}
    for row in (*run["rows"], *run["compiled"]):
        timed.setdefault(case_of(row), []).append(row["tb_per_s"])
    off = [
        [abs((row["dram_read_bytes"] + row["dram_write_bytes"]) / row["time_ns"] / 1e3 / rate - 1) for rate in rates]
        for row in records.read(COUNTED_ROWS_FILE)["rows"]
        if row["contender"] == "v6"
        for rates in [timed[case_of(row)]]
    ]
    first, nearer = max(one[0] for one in off), max(map(min, off))
    said = (
        f"is within {first:.1%} of the benchmark's rate at each of these sizes, and within {nearer:.1%} of the nearer"
    )
    assert said.replace("%", " %") in readme()


def loads_of(row: dict[str, Any]) -> tuple[float, float]:
    """What loads ask the L2 cache for, in bytes and in requests, as multiples of the fewest for the input."""
    sectors, requests = row["l2_sectors_of_loads"] * SECTOR_BYTES, row["l2_requests_of_loads"] * REQUEST_BYTES
    return sectors / (row["fewest_bytes"] / 2), requests / (row["fewest_bytes"] / 2)


def test_copies_loaded_twice_where_they_began_off_a_sector() -> None:
    """What the page says of the eight kernels with copies, and which of them asked for twice the sectors by samples."""
    ours = [row for row in records.read(COUNTED_BEFORE_FILE)["rows"] if row["contender"] == "v6"]
    found: dict[float, list[tuple[int, int]]] = {}
    for row in ours:
        if case_of(row) != ("softmax", "float32", 131072, "v6"):  # no copies
            bytes_of, requests = loads_of(row)
            weights = bytes_of > 2.5
            found.setdefault(row["shared_bytes_static"] % 128, []).append(
                (round(bytes_of) - weights, round(requests) - weights)
            )
    assert found == {16.0: [(2, 3)] * 3, 64.0: [(1, 2)] * 3, 0.0: [(1, 1)] * 2}
    sampled = records.read(PAGES / "row_samples.json")["rows"]
    twice = [
        case_of(row) for row in sampled for one in row["requests"].values() if one["sectors"] != one["fewest_sectors"]
    ]
    assert twice == [("softmax", "bfloat16", 131072, "v6"), ("rms_norm", "bfloat16", 131072, "v6")]
    at_barriers = {
        name: [
            row["at_cluster_barriers_percent"] for row in sampled if row["contender"] == name and row["columns"] > 4096
        ]
        for name in ("v6", "quack")
    }
    ours_said, quacks = (least_and_most(shares) for shares in at_barriers.values())
    text = readme()
    assert f"{ours_said} of the samples of our warps are at the barrier of their cluster (QuACK: {quacks})" in text


def test_copies_load_once_since_they_begin_at_a_line() -> None:
    before, after = (
        {case_of(row): row for row in records.read(file)["rows"]} for file in (COUNTED_BEFORE_FILE, COUNTED_ROWS_FILE)
    )
    ours = {case: row for case, row in after.items() if case[3] == "v6"}
    assert {row["shared_bytes_static"] % 128 for row in ours.values()} == {0.0}
    softmax = [loads_of(row) for case, row in ours.items() if case[0] == "softmax"]
    assert softmax == [pytest.approx((1.0, 1.0), abs=0.005)] * 6
    for case, row in ours.items():  # the norms' weights come besides, by as few requests
        bytes_of, requests = loads_of(row)
        assert 1.0 <= bytes_of < 2.0, case
        assert requests == pytest.approx(bytes_of, rel=0.03), case
    gains: dict[str, list[float]] = {"bytes": [], "requests": []}
    for case in ours.keys() & before.keys():
        (bytes_before, requests_before), (bytes_after, requests_after) = loads_of(before[case]), loads_of(ours[case])
        if requests_before > 1.5 * requests_after:
            gain = ours[case]["dram_percent_of_peak"] - before[case]["dram_percent_of_peak"]
            gains["bytes" if bytes_before > 1.5 * bytes_after else "requests"].append(gain)
    text, (first, second, third) = readme(), sorted(gains["bytes"])
    assert f"by {first:.1f}, {second:.1f} and {third:.1f} points" in text
    assert f"stay within {max(map(abs, gains['requests'])):.1f} points" in text
    assert len(gains["requests"]) == 3
    weights = [loads_of(after["rms_norm", "bfloat16", 131072, name])[0] - 1 for name in ("v6", "quack")]
    assert f"{weights[0]:.2f} times the input at 128k (QuACK: {weights[1]:.2f})" in text


def test_what_aligned_copies_brought() -> None:
    """docs/operators/README.md and the report say it of the sizes whose copies had begun off a sector."""
    ratios: dict[str, list[float]] = {"off": [], "other": []}
    for row in records.read(PAGES / "rows_aligned.json")["rows"]:
        for when in ("before", "after"):
            assert row[f"{when}_us"] == median(row[f"{when}_{number}_us"] for number in (1, 2, 3))
        is_off = bool(row["copied"]) and row["began_before_bytes"] % SECTOR_BYTES > 0
        ratios["off" if is_off else "other"].append(row["after_us"] / row["before_us"])
    off, other = ratios["off"], ratios["other"]
    text = readme()
    assert (len(off), len(other)) == (13, 23)
    assert f"{min(off):.2f} to {max(off):.2f} of the time" in text
    assert f"{100 - 100 * geometric_mean(off):.1f} % less in the geometric mean" in text
    assert f"take {min(other):.2f} to {max(other):.2f} of the time" in text
    assert f"{100 - 100 * geometric_mean(other):.1f} % less in the mean" in text
    assert f"the 13 sizes with such copies take {min(off):.2f} to {max(off):.2f}" in all_goals.CAUSES[4.1]
