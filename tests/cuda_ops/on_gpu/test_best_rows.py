"""`best_rows` as an operator: ultralytics' own steps on the same levels; what does not fit is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.best_rows.op import best_rows
from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.gpu import why_no_gpu

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(why_no_gpu() is not None, reason="no GPU here"))]
SIZES, STRIDES = [(24, 40), (12, 20), (6, 10)], [8.0, 16.0, 32.0]
Levels = list[torch.Tensor]


def drawn(seed: int, classes: int, images: int = 1) -> tuple[Levels, Levels]:
    generator = torch.Generator().manual_seed(seed)
    boxes = [torch.rand((images, 4, *size), generator=generator).half() * 4 for size in SIZES]
    scores = [torch.randn((images, classes, *size), generator=generator).half() * 3 - 4 for size in SIZES]
    return boxes, scores


def plainly(boxes: Levels, scores: Levels, limit: int) -> torch.Tensor:
    """The best `limit` pairs of place and class of the first image, one after the other as a network would do it."""
    rows = []
    for box, score, stride in zip(boxes, scores, STRIDES, strict=True):
        classes, height, width = score.shape[1:]
        y, x = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
        left, top, right, bottom = box[0].float()
        corners = torch.stack([x - left, y - top, x + right, y + bottom]) * stride
        for number in range(classes):
            label = torch.full((1, height, width), float(number))
            rows.append(torch.cat([corners, score[0, number][None].float().sigmoid(), label]).flatten(1).T)
    table = torch.cat(rows)
    return table[table[:, 4].argsort(descending=True, stable=True)[:limit]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("classes", "limit"), [(1, 300), (20, 300), (80, 300), (20, 1000), (80, 7)])
def test_is_what_the_network_would_choose(device: str, classes: int, limit: int) -> None:
    boxes, scores = drawn(classes, classes)
    last = [part.to(device).to(memory_format=torch.channels_last) for part in scores]
    found = best_rows([part.to(device) for part in boxes], last, STRIDES, limit=limit)[0].cpu()
    expected = plainly(boxes, scores, limit)
    torch.testing.assert_close(found[:, 4], expected[:, 4], rtol=1e-6, atol=1e-7)
    kinds = [
        {tuple(row) for row in rows[rows[:, 4] > expected[-1, 4]][:, [0, 1, 2, 3, 5]].tolist()}
        for rows in (found, expected)
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("device", DEVICES)
def test_least_score_several_images_and_repeats(device: str) -> None:
    boxes, scores = ([part.to(device) for part in parts] for parts in drawn(3, 20, images=3))
    every, some = best_rows(boxes, scores, STRIDES), best_rows(boxes, scores, STRIDES, 0.97)
    count = (every[..., 4] > 0.97).sum(dim=1)
    assert int(count.min()) > 0
    assert int(count.max()) < 300
    for image in range(3):
        assert torch.equal(some[image, : count[image]], every[image, : count[image]])
        assert not some[image, count[image] :].any()
        alone = best_rows(
            [one[image : image + 1] for one in boxes], [one[image : image + 1] for one in scores], STRIDES
        )
        assert torch.equal(alone[0], every[image])
    assert torch.equal(best_rows(boxes, scores, STRIDES), every)
    assert not best_rows(boxes, scores, STRIDES, 1.0).any()


def test_what_does_not_fit_is_named() -> None:
    boxes, scores = drawn(0, 5)
    with pytest.raises(CudaOpsError, match="3 boxes, 2 scores, 3 strides"):
        best_rows(boxes, scores[:2], STRIDES)
    with pytest.raises(CudaOpsError, match=r"boxes of level 1 are torch\.float32"):
        best_rows([boxes[0], boxes[1].float(), boxes[2]], scores, STRIDES)
    with pytest.raises(CudaOpsError, match=r"scores of level 2 are torch\.float16 \(1, 4, 6, 10\)"):
        best_rows(boxes, [*scores[:2], scores[2][:, :4]], STRIDES)
    with pytest.raises(CudaOpsError, match="limit is 2000"):
        best_rows(boxes, scores, STRIDES, limit=2000)
