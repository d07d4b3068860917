"""The products that stand for convolutions in the measurement of sparse layers."""

from __future__ import annotations

import pytest
import torch

from benchmarks.gpu.sparse import input_rows, row_of, weight_rows
from cuda_ops.library import records
from perception.networks.sparsity import two_of_four


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (3, 2), (1, 2)])
def test_the_product_of_rows_is_the_convolution(size: int, stride: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand((2, 8, 7, 10), generator=generator)
    weight = torch.rand((5, 8, size, size), generator=generator) - 0.5
    wanted = torch.nn.functional.conv2d(x, weight, None, stride, size // 2)
    found = input_rows(x, size, stride) @ weight_rows(weight).T
    torch.testing.assert_close(found, wanted.permute(0, 2, 3, 1).flatten(0, 2))


def test_the_pattern_runs_along_the_rows_of_the_weight() -> None:
    weight = torch.rand((6, 8, 3, 3), generator=torch.Generator().manual_seed(1)) + 0.1
    rows = weight_rows(weight * two_of_four(weight))
    assert ((rows.reshape(6, -1, 4) != 0).sum(dim=2) == 2).all()


def test_a_row_says_why_a_library_has_no_time() -> None:
    sizes = {"pixels": 64, "out": 32, "depth": 128, "dense_us": 4.0}
    taken = sizes | {"CUTLASS": {"not_taken": "not this GPU"}, "cuSPARSELt": {"sparse_us": 2.0, "speed_up": 2.0}}
    row = row_of(taken, "detector", 16, "model.1", 3)
    assert (row["cuSPARSELt us"], row["cuSPARSELt times as fast"], row["cuSPARSELt note"]) == (2.0, 2.0, "")
    assert (row["CUTLASS us"], row["CUTLASS note"]) == (None, "not this GPU")
    assert records.opened(records.text({"rows": [row, row_of(taken)]}))["rows"] == [row, row_of(taken)]
