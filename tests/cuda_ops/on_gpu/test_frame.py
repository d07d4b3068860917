"""A whole frame as one graph: the same results as calls one by one; on the CPU where there is no GPU."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.canny.op import canny  # noqa: E402
from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.frame import Branch, FrameGraph, uncollected  # noqa: E402
from cuda_ops.hough.op import hough_lines  # noqa: E402
from cuda_ops.lanes.op import colour_mask  # noqa: E402
from cuda_ops.preprocess.op import preprocess  # noqa: E402
from cuda_ops.runtime.gpu import why_no_gpu  # noqa: E402


def program(image: Any) -> tuple[Any, ...]:
    mask = colour_mask(image)
    edges = canny(mask, 1, 2)
    return preprocess([image], 96, 160), mask, hough_lines(edges, 40).lines


def frame(seed: int) -> np.ndarray:
    image = np.random.default_rng(seed).integers(90, 110, (180, 320, 4)).astype(np.uint8)
    image[:, 100 + seed : 120 + seed] = 240
    return image


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_a_frame_is_its_operators_one_after_the_other(device: str) -> None:
    graph = FrameGraph(program, [frame(0)], device)
    for seed in (1, 2, 1):
        graph.inputs[0][:] = frame(seed)
        found = [array.copy() for array in graph.run()]
        expected = program(torch.from_numpy(frame(seed)))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-6)
        for first, second in zip(found, graph.run(), strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_a_branch_runs_beside_and_changes_nothing(device: str) -> None:
    branch, idle = Branch(), Branch()

    def side_by_side(image: Any) -> tuple[Any, ...]:
        with branch.beside():
            mask = colour_mask(image)
            lines = hough_lines(canny(mask, 1, 2), 40).lines
        picture = preprocess([image], 96, 160)
        branch.join()
        idle.join()  # took no part
        return picture, mask, lines

    apart, graph = FrameGraph(side_by_side, [frame(0)], device), FrameGraph(program, [frame(0)], device)
    for seed in range(5):
        apart.inputs[0][:] = graph.inputs[0][:] = frame(seed)
        for ours, theirs in zip(apart.run(), graph.run(), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_arrays_of_any_size_and_lie_come_and_go(device: str) -> None:
    sizes = (1, 3, 0, 16, 4095, 20_000, 9, 8, 77, 5)

    def sums(*parts: Any) -> tuple[Any, ...]:
        return *(part + 1 for part in parts), parts[5][1:4097], parts[4].reshape(65, 63).T, parts[0] > 0

    def given(seed: int) -> list[np.ndarray]:
        generator = np.random.default_rng(seed)
        return [generator.integers(-9, 9, size).astype(np.int32) for size in sizes]

    graph = FrameGraph(sums, given(0), device)
    for seed in (1, 2, 3):
        parts = given(seed)
        for place, part in zip(graph.inputs, parts, strict=True):
            place[:] = part
        expected = (*(part + 1 for part in parts), parts[5][1:4097], parts[4].reshape(65, 63).T, parts[0] > 0)
        for ours, theirs in zip(graph.run(), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_pictures_may_be_handed_from_wherever_they_lie(device: str) -> None:
    graph = FrameGraph(program, [frame(0)], device, handed=1)
    assert graph.inputs == []
    for seed in (1, 2, 1):
        wide = np.concatenate([frame(seed), frame(seed + 5)], axis=1)
        for given in (frame(seed), wide[:, :320]):
            found = graph.run(given)
            given[:] = 0
            for ours, theirs in zip(found, program(torch.from_numpy(frame(seed))), strict=True):
                np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-6)
    for wrong in (frame(0)[1:], frame(0).astype(np.float32)):
        with pytest.raises(CudaOpsError, match=r"captured for \(\(180, 320, 4\), dtype\('uint8'\)\)"):
            graph.run(wrong)


def test_a_device_that_is_not_there_is_said() -> None:
    with pytest.raises(CudaOpsError, match="allowed are 'auto', 'cuda', 'cpu'"):
        FrameGraph(program, [frame(0)], "tpu")
    if why_no_gpu() is not None:
        with pytest.raises(CudaOpsError, match="no GPU"):
            FrameGraph(program, [frame(0)], "cuda")


def test_nothing_is_freed_by_the_collector_during_a_capture() -> None:
    """Frames are part of cycles: the collector frees them, whenever it likes, and a capture does not survive that."""
    freed: list[str] = []

    class Earlier:
        def __init__(self, name: str) -> None:
            self.name, self.itself = name, self

        def __del__(self) -> None:
            freed.append(self.name)

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        Earlier("before")
        with uncollected():
            assert freed == ["before"]
            Earlier("meanwhile")
            kept: list[list[int]] = [[] for _ in range(1000)]
            assert len(kept) == 1000
            assert freed == ["before"]
        assert gc.isenabled()
        kept = [[] for _ in range(1000)]
        assert freed == ["before", "meanwhile"]
    finally:
        gc.set_threshold(*threshold)
