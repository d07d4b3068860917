"""Which call made which of the launches that Nsight Compute counted, and the counters of rows."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library.chosen_counters import Planned, assigned, base, tensor_counters, with_all_names
from benchmarks.gpu.library.row_counters import __main__ as row_counters
from benchmarks.gpu.library.row_counters import page
from benchmarks.gpu.library.row_counters.__main__ import GROUPS, OF_ROWS, chosen, count_all
from cuda_ops.library import records


def launches(*names: str) -> list[dict[str, Any]]:
    return [{"Kernel Name": name} for name in names]


def test_a_kernel_is_known_by_its_name_alone() -> None:
    assert base("void matmul_half_pad<av_bf16, 8>(av_bf16 const*, int)") == "matmul_half_pad"
    assert base("nvjet_tst_128x256") == "nvjet_tst_128x256"


def test_torchs_launches_end_where_ours_begin() -> None:
    first, second = Planned({"size": 1}, ("pad", "pad", "product")), Planned({"size": 2}, ("product",))
    peers = Planned({"peer": 1}), Planned({"peer": 2})
    raw = launches("pad", "pad", "void product<1>(int)", "gemm", "softmax", "product<2>", "gemm")
    made = assigned([first, peers[0], second, peers[1]], raw)
    assert [one.named for one, _ in made] == [*[{"size": 1}] * 3, *[{"peer": 1}] * 2, {"size": 2}, {"peer": 2}]
    assert [row for _, row in made] == raw


def test_a_missing_kernel_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no launch among"):
        assigned([Planned({"size": 1}, ("product",)), Planned({"peer": 1})], launches("product"))
    with pytest.raises(RuntimeError, match="no launch among"):
        assigned([Planned({"size": 1}, ("product",))], launches("gemm"))


def test_the_tensor_cores_operations_are_counted_once() -> None:
    row = {
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum": "1,200",
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum": "1,250",
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained": "9,000",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "76.52",
        "gpu__time_duration.sum": "31.2",
    }
    assert tensor_counters(row) == {"tensor_percent_of_peak": 76.52, "tensor_operations": 1250}
    assert tensor_counters({}) == {"tensor_percent_of_peak": 0.0, "tensor_operations": 0}


def test_rows_of_different_cases_make_one_table() -> None:
    rows = with_all_names([{"taps": 3, "time_ns": 1.0}, {"depth": 8, "time_ns": 2.0}])
    assert rows == [{"taps": 3, "time_ns": 1.0, "depth": None}, {"taps": None, "time_ns": 2.0, "depth": 8}]


ROW = {
    "operator": "softmax",
    "element": "bfloat16",
    "rows": 1024,
    "columns": 131072,
    "contender": "quack",
    "fewest_bytes": 536870912,
    "kernel": "kernel_cutlass_kernel_quacksoftmax_object_at",
    "blocks": 4096.0,
    "threads_a_block": 256.0,
    "time_ns": 134400.0,
    "dram_read_bytes": 268500000.0,
    "dram_write_bytes": 241600000.0,
    "dram_percent_of_peak": 79.4,
    "l2_sectors_of_loads": 2.0 * (1 << 23),
    "l2_requests_of_loads": 3.0 * (1 << 21),
    "l2_sectors_read": 8400000.0,
    "l2_sectors_read_hit": 420000.0,
    "sectors_per_load": 16.0,
    "sectors_per_store": None,
    "warps_resident_percent": 48.9,
    "cycles": 250000.0,
    "active_cycles": 240000.0,
    "active_cycles_least": 225000.0,
    "issuing_percent_of_cycles": 21.3,
    "cycles_waited_for": {"long_scoreboard": 12.0, "selected": 1.0, "barrier": 6.0, "wait": 1.0},
}


def test_the_table_of_rows_shows_shares() -> None:
    cells = [cell.strip() for cell in page.table([ROW]).splitlines()[-1].strip("|").split("|")]
    assert dict(zip(page.NAMES, cells, strict=True)) == {
        "operator": "softmax",
        "type": "bfloat16",
        "size": "1024 x 131072",
        "by": "QuACK",
        "kernel": "`kernel_cutlass_kernel_quacksoftm`",
        "blocks": "4096",
        "threads": "256",
        "time, us": "134.4",
        "read, of the fewest bytes": "1.00",
        "written, of the fewest bytes": "0.90",
        "memory, of its peak": "79 %",
        "loads through L2: bytes, requests, of the fewest": "2.00, 3.00",
        "L2 hits of reads": "5 %",
        "sectors of a load, of a store": "16.0, -",
        "warps resident": "49 %",
        "processors active": "96 %",
        "the least active": "90 %",
        "issuing": "21 %",
        "waits, of a warp's cycles": "long_scoreboard 60 %, barrier 30 %, wait 5 %",
    }


def test_rows_are_chosen_by_operator_and_length() -> None:
    found = chosen("softmax,layer_norm", "4096")
    assert {(one.case.ladder.name, one.case.columns) for one in found} == {("softmax", 4096), ("layer_norm", 4096)}
    assert len(found) == 4  # float32 and bfloat16
    every = chosen("", "")
    assert {name for group in GROUPS for name in group} == {one.case.ladder.name for one in every}
    assert all(one.peer() == "" for one in chosen("relu", ""))


def test_an_unknown_counter_costs_no_operator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """ncu counts nothing if it does not know a counter: then fewer are asked for, of later operators too."""
    asked: list[tuple[str, int]] = []

    def launches(_: str, options: list[str], metrics: tuple[str, ...], __: tuple[str, ...]) -> tuple[Any, list[str]]:
        name = options[options.index("--operators") + 1]
        asked.append((name, len(metrics)))
        if set(OF_ROWS.values()) & set(metrics):
            raise SystemExit("ncu counted nothing")
        return [(Planned({"operator": name}), {"Kernel Name": "softmax_ahead<float>(int)"})], []

    monkeypatch.setattr(row_counters, "launches_of", launches)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "NVIDIA H200")
    options = Namespace(columns="", out=tmp_path / "counted.json", raw=tmp_path / "raw.json")
    count_all(chosen("softmax,rms_norm", ""), options, time.perf_counter() + 60.0)
    assert [name for name, _ in asked] == ["softmax", "softmax", "softmax", "rms_norm"]
    counted = records.read(tmp_path / "counted.json")
    assert [row["kernel"] for row in counted["rows"]] == ["softmax_ahead<float>"] * 2
    assert counted.keys() == {"gpu", "torch", "rows"}
    assert len(records.read(tmp_path / "raw.json")["rows"]) == 2
