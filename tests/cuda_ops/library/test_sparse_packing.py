"""2:4 sparse matrices: packing, the layout of the pattern as the tensor cores read it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.library.ladder import BFLOAT16, Problem  # noqa: E402
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE, TALL, WIDE, Tile, line_length  # noqa: E402
from cuda_ops.library.matmul_sparse.op import matmul_sparse  # noqa: E402
from cuda_ops.library.matmul_sparse.packing import pack, two_of_four, unpack  # noqa: E402
from cuda_ops.library.recorder import record  # noqa: E402

SHARED_MAX = 227 << 10
"""Dynamic shared memory that a block of an H100 can have."""
PATTERNS = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]
"""The six ways to keep two of four, as the instruction takes them: the first place in the lower bits."""


def random_sparse(rows: int, depth: int, seed: int, kept: float = 1.0) -> Any:
    """A sparse matrix of integers, of whose values a part of `kept` is not zero."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(1, 100, (rows, depth), generator=generator) * torch.sign(
        torch.randn((rows, depth), generator=generator)
    )
    is_kept = torch.rand((rows, depth), generator=generator) < kept
    return two_of_four((x * is_kept).bfloat16())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 70),
    st.integers(1, 140),
    st.integers(0, 1 << 30),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([torch.bfloat16, torch.float16]),
)
def test_a_packed_matrix_unpacks_to_itself(rows: int, depth: int, seed: int, kept: float, dtype: Any) -> None:
    a = random_sparse(rows, depth, seed, kept).to(dtype)
    packed = pack(a)
    dense, is_kept = unpack(packed.values, packed.pattern, depth)
    assert packed.shape == (rows, depth)
    assert torch.equal(dense, a)
    assert torch.equal(packed.dense(), a)
    assert packed.values.shape == (rows, line_length(depth))
    assert not bool(a[~is_kept].any())
    whole = depth // 4 * 4
    assert bool((is_kept[:, :whole].reshape(rows, -1, 4).sum(-1) == 2).all())


def product_of_instruction(values: Any, registers: list[int], selector: int) -> Any:
    """What a sparse product of a warpgroup (m64nNk32) takes `a` for, by the PTX ISA's description of its operands.

    `values` (64, 16) are two of each four elements of `a`, `registers` those of 128 threads. Each of four warps has 16
    rows. In each group of four threads two have the pattern of two rows, eight apart: threads 0 and 1 for selector 0,
    threads 2 and 3 for selector 1. The first of the two has the columns 0 to 15, the second one 16 to 31; bits 0 to 15
    are the upper row's, bits 16 to 31 the lower one's; and of each four bits, those of one group, two are the place of
    the first value and two that of the second one.
    """
    a = torch.zeros((64, 32), dtype=values.dtype)
    for thread, register in enumerate(registers):
        warp, lane = divmod(thread, 32)
        row_of_eight, of_four = divmod(lane, 4)
        if of_four // 2 != selector:
            continue
        for nibble in range(8):
            row = warp * 16 + row_of_eight + 8 * (nibble // 4)
            group = of_four % 2 * 4 + nibble % 4
            bits = register >> 4 * nibble & 15
            assert bits in PATTERNS  # others are undefined
            for i, place in enumerate((bits & 3, bits >> 2)):
                a[row, 4 * group + place] = values[row, 2 * group + i]
    return a


@pytest.mark.parametrize(("rows", "depth"), [(64, 128), (130, 300), (5, 20)])
def test_the_pattern_lies_as_the_instruction_takes_it(rows: int, depth: int) -> None:
    """As the kernels read it: a block's registers of 64 of the depth serve two instructions, selectors 0 and 1."""
    a = random_sparse(rows, depth, 3, 0.9).float()
    packed = pack(a.bfloat16())
    steps, blocks = packed.pattern.shape[:2]
    values = torch.zeros((blocks * 64, steps * 64))
    values[:rows, : packed.values.shape[1]] = packed.values.float()
    found = torch.zeros((blocks * 64, steps * 128))
    for step in range(steps):
        for block in range(blocks):
            for product in range(4):
                registers = [int(word) & 0xFFFFFFFF for word in packed.pattern[step, block, :, product // 2]]
                lines = values[64 * block : 64 * block + 64, 64 * step + 16 * product :][:, :16]
                made = product_of_instruction(lines, registers, product % 2)
                from_ = 128 * step + 32 * product
                found[64 * block : 64 * block + 64, from_ : from_ + 32] = made
    assert torch.equal(found[:rows, :depth], a)
    assert not bool(found[rows:].any())
    assert not bool(found[:, depth:].any())


def test_the_larger_two_of_four_are_kept() -> None:
    a = torch.tensor([[1.0, -4.0, 2.0, 3.0, 0.0, 5.0, 0.0, 0.0, 7.0, -8.0, 9.0]]).half()
    kept = [[0.0, -4.0, 0.0, 3.0, 0.0, 5.0, 0.0, 0.0, 0.0, -8.0, 9.0]]
    assert torch.equal(two_of_four(a), torch.tensor(kept).half())


X = random_sparse(7, 33, 1)
Y = torch.randn((33, 5), generator=torch.Generator().manual_seed(2)).bfloat16()


def test_the_cpu_gives_the_rounded_product() -> None:
    wanted = (X.double() @ Y.double() + Y[0].double()).bfloat16()
    packed = pack(X)
    assert torch.equal(matmul_sparse(X, Y, Y[0]), wanted)
    assert torch.equal(matmul_sparse(packed, Y, Y[0]), wanted)
    compiled = torch.compile(lambda b: matmul_sparse(packed, b, Y[0]), backend="eager", fullgraph=True)
    assert torch.equal(compiled(Y), wanted)
    assert matmul_sparse(X[:, :0], Y[:0], Y[0]).equal(Y[:1].expand(7, 5))
    assert matmul_sparse(X[:0], Y).shape == (0, 5)


def test_what_is_not_finite_meets_kept_values_alone() -> None:
    a = torch.tensor([[0.0, 2.0, 0.0, 3.0], [1.0, 0.0, 4.0, 0.0]]).bfloat16()
    b = torch.tensor([[float("inf")], [1.0], [float("nan")], [1.0]]).bfloat16()
    found = matmul_sparse(a, b)
    assert float(found[0]) == 5.0
    assert bool(found[1].isnan())


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: pack(torch.ones((3, 9)).half()), r"4 of the elements 0 to 3 of row 0 are not zero, at most 2"),
        (lambda: pack(torch.tensor([[0.0] * 8, [0, 0, 0, 0, 1, 1, 1, 0]]).half()), "3 of the elements 4 to 7 of row 1"),
        (lambda: pack(torch.tensor([[0.0, 0, 0, 0, 1, 1, 1]]).half()), "3 of the elements 4 to 6 of row 0"),
        (lambda: pack(X.float()), r"a is torch.float32 \(7, 33\), expected a matrix of bfloat16 or float16"),
        (lambda: matmul_sparse(X.float(), Y.float()), "a is float32, allowed are bfloat16 and float16"),
        (lambda: matmul_sparse(X, Y.half()), r"b is torch.float16 \(33, 5\) on cpu, expected torch.bfloat16"),
        (lambda: matmul_sparse(pack(X), Y[:32]), r"b is torch.bfloat16 \(32, 5\) on cpu, expected .*\(33, 5\)"),
        (lambda: matmul_sparse(pack(X), Y[0]), r"b has shape \(5,\), expected two dimensions"),
        (lambda: matmul_sparse(pack(X), Y, Y[:, 0]), r"bias is torch.bfloat16 \(33,\)"),
        (lambda: matmul_sparse(replace(pack(X), pattern=pack(X).pattern[:, :, :64]), Y), r"a's pattern is torch.int32"),
        (
            lambda: matmul_sparse(replace(pack(X), values=X), Y),
            "a has 33 values in a row, expected 24 for a depth of 33",
        ),
        (lambda: matmul_sparse(pack(X), Y.clone().requires_grad_()), "it has no derivative"),
        (lambda: matmul_sparse(X.clone().requires_grad_(), Y), "it has no derivative"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(CudaOpsError, match=complaint):
        call()


def test_gradients_are_no_matter_where_none_is_wanted() -> None:
    with torch.no_grad():
        assert matmul_sparse(pack(X), Y.clone().requires_grad_()).shape == (7, 5)


def test_the_default_version_goes_by_the_lines_of_b() -> None:
    def chosen(rows: int, columns: int, depth: int, lanes: int = 8, architecture: int = 90) -> str:
        return MATMUL_SPARSE.choose(Problem(BFLOAT16, rows, columns, lanes, architecture, depth=depth)).name

    assert chosen(4096, 4096, 4096) == "tall"
    assert chosen(33, 31, 77, 1) == "mma"
    assert [chosen(4096, 4096, 4096, 8, architecture) for architecture in (75, 80, 100)] == ["naive", "mma", "mma"]


@pytest.mark.parametrize("tile", [WIDE, TALL], ids=["wide", "tall"])
def test_a_tile_fits_into_shared_memory(tile: Tile) -> None:
    assert tile.shared_bytes <= SHARED_MAX


def test_no_more_clusters_start_than_there_are_tiles() -> None:
    def blocks(rows: int, columns: int) -> int:
        problem = Problem(BFLOAT16, rows, columns, 8, 90, depth=64)
        (launch,) = record(MATMUL_SPARSE, MATMUL_SPARSE.versions[3], problem, resident=lambda *asked: 133)
        return launch.grid[0]

    assert [blocks(8, 8), blocks(513, 129), blocks(8192, 8192)] == [2, 8, 132]
