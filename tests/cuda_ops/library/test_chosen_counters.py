"""Which call made which of the launches that Nsight Compute counted."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library.chosen_counters import Planned, assigned, base, tensor_counters, with_all_names


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
