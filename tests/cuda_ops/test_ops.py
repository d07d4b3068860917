"""The operators on torch tensors with no GPU: the CPU path, what they refuse and how, `torch.compile`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.canny.op import canny  # noqa: E402
from cuda_ops.depth.op import depth_in_boxes  # noqa: E402
from cuda_ops.detect.op import detect_dense, detect_end_to_end  # noqa: E402
from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.hough.op import hough_lines  # noqa: E402
from cuda_ops.lanes.op import colour_mask  # noqa: E402
from cuda_ops.preprocess.op import preprocess  # noqa: E402
from cuda_ops.runtime import gpu  # noqa: E402

BYTES = torch.zeros((8, 8), dtype=torch.uint8)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: canny(BYTES.float(), 1, 2), "image is float32, expected uint8"),
        (lambda: canny(BYTES[None], 1, 2), r"image has shape \(1, 8, 8\), expected \(H, W\)"),
        (lambda: canny(BYTES[:0], 1, 2), "no size 0"),
        (lambda: canny(np.zeros((3, 3), np.uint8), 1, 2), "image is a ndarray"),  # type: ignore[arg-type]  # on purpose
        (lambda: canny(BYTES.to("meta"), 1, 2), "image is on meta"),
        (lambda: canny(BYTES, float("nan"), 2), "low is nan"),
        (lambda: preprocess([], 8, 8), "pictures is empty"),
        (lambda: preprocess([BYTES], 8, 8), r"pictures\[0\] has shape \(8, 8\), expected \(H, W, 4\)"),
        (lambda: preprocess([BYTES], 8, 8, "nv12"), "NV12 has an even height and width"),
        (lambda: preprocess([BYTES], 8, 8, dtype=torch.int32), "allowed are float16 or float32"),
        (lambda: preprocess([torch.zeros((8, 8, 4), dtype=torch.uint8)], 0, 8), "height is 0"),
        (lambda: preprocess([torch.zeros((8, 8, 4), dtype=torch.uint8)], 4, 8, corner=(5, 8)), "corner is 5"),
        (
            lambda: preprocess([torch.zeros((8, 8, 4), dtype=torch.uint8)], 4, 8, "bgr"),
            r"pictures\[0\] has shape \(8, 8, 4\), expected \(H, W, 3\)",
        ),
        (lambda: detect_dense(torch.zeros((1, 4, 9))), "classes"),
        (lambda: detect_dense(torch.zeros((1, 9, 9)), iou_max=1.5), "iou_max is 1.5"),
        (lambda: detect_dense(torch.zeros((1, 9, 9)), depth=torch.zeros((2, 4, 4))), r"expected \(1, H, W\)"),
        (lambda: detect_end_to_end(torch.zeros((1, 600, 6))), "rows"),
        (lambda: hough_lines(BYTES, 10, theta_step_rad=0.0), "theta_step_rad is 0.0"),
        (lambda: colour_mask(BYTES[..., None]), "3 or 4"),
        (lambda: depth_in_boxes(torch.zeros((4, 4)), torch.zeros((2, 5))), "boxes has shape"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(CudaOpsError, match=complaint):
        call()


def test_strided_tensors_give_what_their_copies_give() -> None:
    wide = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (40, 90)).astype(np.uint8))
    view = wide[::2, 3:70]
    assert torch.equal(canny(view, 50, 100), canny(view.contiguous(), 50, 100))


def test_hough_lines_are_the_same_without_their_segments() -> None:
    edges = torch.from_numpy((np.random.default_rng(0).integers(0, 30, (60, 80)) == 0).astype(np.uint8))
    both, alone = hough_lines(edges, 5, limit=20), hough_lines(edges, 5, limit=20, has_segments=False)
    assert int(both.count[0]) > 0
    assert torch.equal(alone.lines, both.lines)
    assert torch.equal(alone.count, both.count)
    assert len(alone.segments) == 0


def test_keep_set_is_torchvisions() -> None:
    ops = pytest.importorskip("torchvision", reason="torchvision is not installed").ops
    from cuda_ops.detect import reference

    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        heads = torch.rand((1, 9, 600), generator=generator)
        heads[:, :2] = heads[:, :2] * 200 + 100
        heads[:, 2:4] *= 80
        boxes, scores, labels = reference.candidates(heads[0].numpy(), 0.8)
        parts = (torch.from_numpy(boxes), torch.from_numpy(scores), torch.from_numpy(labels).long())
        kept = ops.batched_nms(*parts, 0.45)[:300]
        found = detect_dense(heads, 0.8, 0.45, 300)
        assert int(found.counts[0, 0]) == len(kept) > 50
        assert torch.equal(found.boxes[0, : len(kept)], parts[0][kept])


def test_torch_compile_knows_the_shapes() -> None:
    compiled = torch.compile(lambda x: canny(x, 50.0, 100.0) // 255, backend="eager", fullgraph=True)
    picture = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (40, 90)).astype(np.uint8))
    assert torch.equal(compiled(picture), canny(picture, 50.0, 100.0) // 255)


def test_no_gpu_is_said_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    gpu.why_no_gpu.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert gpu.why_no_gpu() == gpu.why_no_gpu() == "torch sees no GPU"
    gpu.why_no_gpu.cache_clear()
    assert len(caplog.records) == 1


def test_a_missing_compiler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda_ops.errors import CompilerMissingError

    def missing() -> str:
        raise CompilerMissingError("NVRTC is not found (libnvrtc.so.13); pip install ...")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(gpu, "toolkit_version", missing)
    reason = gpu._reason()
    assert reason is not None
    assert "NVRTC is not found" in reason
    assert "\n" not in reason
