"""Products of 2:4 sparse matrices on a GPU: layouts of `b`, all tiles, and the places of all values.

Skipped without a GPU; `make test-gpu` runs it on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.gpu.library.shapes import SPARSE_TILES  # noqa: E402
from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.library.ladder import BFLOAT16, Element, Problem, Version  # noqa: E402
from cuda_ops.library.matmul_half.tiles import HALF  # noqa: E402
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE, Tile, tall  # noqa: E402
from cuda_ops.library.matmul_sparse.op import matmul_sparse  # noqa: E402
from cuda_ops.library.matmul_sparse.packing import pack, two_of_four  # noqa: E402
from cuda_ops.library.run import architecture  # noqa: E402
from cuda_ops.runtime.gpu import launcher, why_no_gpu  # noqa: E402
from tests.cuda_ops.library import ladder_cases as cases  # noqa: E402

pytestmark = pytest.mark.skipif(why_no_gpu() is not None, reason=f"no CUDA kernels here: {why_no_gpu()}")
SIZES = ((8, 8, 8), (64, 64, 64), (128, 256, 128), (135, 264, 72), (520, 1032, 328), (2303, 4360, 520))
"""Rows, columns and depth; columns and depth are multiples of 8."""


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """`torch.empty` is filled with NaN, so that a value no kernel wrote shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


def skip_unless_it_runs(version: Version) -> None:
    if architecture(0) < version.architecture_min or (architecture(0) != 90 and not version.has_cpu_form):
        pytest.skip(f"not on sm_{architecture(0)}")


@pytest.mark.parametrize("version", MATMUL_SPARSE.versions, ids=lambda version: version.name)
def test_times_the_identity_it_is_the_matrix(version: Version) -> None:
    """Each value comes out in its place; six patterns, values that differ, rows and depths that are no whole tiles."""
    skip_unless_it_runs(version)
    for rows, depth in ((64, 128), (200, 392), (7, 8)):
        places = torch.arange(depth, device="cuda")
        a = two_of_four((torch.randn((rows, depth), device="cuda") * 8).round().add(places % 5 - 2.0).bfloat16())
        found = matmul_sparse(pack(a), torch.eye(depth, device="cuda", dtype=torch.bfloat16), version=version.number)
        assert torch.equal(found, a)


@pytest.mark.parametrize("is_transposed", [False, True], ids=["wide", "deep"])
@pytest.mark.parametrize("element", HALF, ids=lambda element: element.name)
@pytest.mark.parametrize("version", MATMUL_SPARSE.versions, ids=lambda version: version.name)
def test_b_is_read_as_it_lies(version: Version, element: Element, is_transposed: bool) -> None:
    skip_unless_it_runs(version)
    for rows, columns, depth in SIZES:
        a, b = cases.inputs_of(MATMUL_SPARSE, element, rows, columns, "cuda", depth)
        bias = cases.draw(3, element, columns, device="cuda")
        b = b.T.contiguous().T if is_transposed else b
        packed = pack(a)
        found = matmul_sparse(packed, b, bias, version.number)
        cases.check(found, MATMUL_SPARSE, version, [a, b, bias])
        assert torch.equal(found, matmul_sparse(packed, b, bias, version.number))


@pytest.mark.parametrize("tile", SPARSE_TILES, ids=str)
def test_all_tiles_give_the_exact_result_rounded(tile: Tile) -> None:
    version = MATMUL_SPARSE.versions[3]
    skip_unless_it_runs(version)
    kernels = launcher(MATMUL_SPARSE.source(version), 0, version.fused_multiply_add)
    for rows, columns, depth in ((135, 264, 72), (2303, 4360, 520)):
        a, b = cases.inputs_of(MATMUL_SPARSE, BFLOAT16, rows, columns, "cuda", depth)
        packed, out = pack(a), torch.empty((rows, columns), device="cuda", dtype=torch.bfloat16)
        problem = Problem(BFLOAT16, rows, columns, 8, architecture(0), depth=depth)
        tall(lambda problem: tile)(kernels, problem, [packed.values, packed.pattern, b, None, out])
        cases.check(out, MATMUL_SPARSE, version, [a, b])


def test_packing_on_the_gpu_is_packing_on_the_cpu() -> None:
    a = two_of_four(cases.draw(4, BFLOAT16, 130, 300))
    ours, theirs = pack(a.cuda()), pack(a)
    assert torch.equal(ours.values.cpu(), theirs.values)
    assert torch.equal(ours.pattern.cpu(), theirs.pattern)
    with pytest.raises(CudaOpsError, match="is not 2:4 sparse"):
        pack(torch.ones((3, 8), device="cuda", dtype=torch.float16))


def test_a_graph_takes_a_packed_matrix_and_other_numbers() -> None:
    a, b = cases.inputs_of(MATMUL_SPARSE, BFLOAT16, 512, 256, "cuda", 384)
    packed = pack(a)
    matmul_sparse(packed, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found: Any = matmul_sparse(packed, b)
    b.copy_(torch.flip(b, (0,)))
    graph.replay()
    assert torch.equal(found, matmul_sparse(packed, b))
