"""Which call made which of the launches that Nsight Compute counted."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library.chosen_counters import Planned, assigned, base, tensor_counters


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


def test_counters_of_tensor_cores_that_counted_nothing_are_left_out() -> None:
    row = {"sm__ops_path_tensor_a.sum": "12", "sm__ops_path_tensor_b.sum": "0", "breakdown:tensor": "3", "time": "1"}
    assert tensor_counters(row) == {"tensor": {"sm__ops_path_tensor_a.sum": "12"}}
