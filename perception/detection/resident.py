"""Loader that keeps the decoded training pictures on the training device and augments them there.

A fast GPU would wait for loader processes that decode and augment. 30,000 pictures of 640x360 take 21 GB, which fits
into its memory. Training may begin while `av-stack dataset` still renders: new episodes are added at the next epoch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from perception.detection.classes import CLASSES, STOP_SIGN

LEARNT_HEIGHT_PX, LEARNT_VISIBLE = 6.0, 0.25
"""Minimum box height, px, and visible fraction of an object that is learnt.

Both are a little below the limits for objects that count (`classes`), so that an object near these limits is not
learnt as background. Smaller and more occluded objects are ignored (`ignoring_loss`)."""

UNLEARNT = -1.0
"""Marks a box to ignore, in place of its class."""

UNCHANGED_SHARE = 0.5
"""Fraction of pictures that are only shifted by whole pixels: resampling blurs small objects and numbers on signs."""

FREQUENCY_MIN = 0.1
"""Fraction of pictures below which a class counts as rare; pictures that show a rare class are repeated."""

GREY = 114.0
STRIDE_PX = 32
"""The network's stride: the sides of its input are multiples of it."""

DECODERS = 8
"""Number of threads that decode pictures."""

_READABLE = np.array([name == STOP_SIGN or name.startswith("speed limit") for name in CLASSES])
"""Classes whose pictures must not be mirrored, because they carry text."""

Float = NDArray[np.float64]
Augmentation = Callable[[torch.Tensor, list[Float], np.random.Generator], dict[str, Any]]


class ResidentLoader:
    """Batches for ultralytics' trainer: uint8 pictures on `device`, boxes in its format.

    * `root`: folder of the data set; `split`: the part of it, "train" or "val".
    * `epoch_pictures`: pictures in an epoch; None means the number of pictures at the start.
    * `vary`: function that augments a batch; None means `augment`.

    Raises FileNotFoundError if no episode is finished yet.
    """

    drop_last = True
    num_workers = 0

    def __init__(
        self,
        root: Path,
        split: str,
        batch_size: int,
        device: Any,
        epoch_pictures: int | None,
        seed: int = 0,
        vary: Augmentation | None = None,
    ) -> None:
        self._root, self._split, self.batch_size, self._device = root, split, batch_size, device
        self._vary = vary or augment
        self._rng = np.random.default_rng(seed)
        self._seen: set[str] = set()
        self._pictures: list[torch.Tensor] = []
        self._boxes: list[Float] = []  # (n, 5): class or UNLEARNT, u0, v0, u1, v1 px, edges at whole numbers
        self._queue: list[int] = []
        self._take_in()
        if not self._pictures:
            raise FileNotFoundError(f"{root} holds no finished episode of {split}")
        self._length = max((epoch_pictures or len(self._pictures)) // batch_size, 1)
        self.labels = [{"cls": boxes[boxes[:, 0] != UNLEARNT, :1]} for boxes in self._boxes]
        self.dataset = self.sampler = _Sized(self._length * batch_size, self.labels)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._take_in()
        with ThreadPoolExecutor(1) as pool:  # prepares the next batch while the network trains on the present one
            coming = [pool.submit(self.batch)]
            for _ in range(self._length - 1):
                coming.append(pool.submit(self.batch))
                yield coming.pop(0).result()
            yield coming.pop(0).result()

    def reset(self) -> None:
        """Does nothing, since there are no worker processes; ultralytics' trainer calls it to restart them."""

    def _take_in(self) -> None:
        """Decode every finished episode that is not in memory yet."""
        finished = sorted(path.stem for path in (self._root / "episodes" / self._split).glob("*.json"))
        new = [name for name in finished if name not in self._seen]
        with ThreadPoolExecutor(DECODERS) as pool:
            for episode in new:
                paths = sorted((self._root / "images" / self._split).glob(f"{episode}_?????.jpg"))
                for picture, boxes in pool.map(read_labelled, paths):
                    self._pictures.append(torch.from_numpy(picture).to(self._device))
                    self._boxes.append(boxes)
                self._seen.add(episode)

    def batch(self) -> dict[str, Any]:
        """The next batch: pictures in random order, with pictures of rare classes more often (`repeats`)."""
        while len(self._queue) < self.batch_size:
            times = repeats(self._boxes)
            whole = np.floor(times + self._rng.uniform(size=len(times))).astype(int)
            self._queue += self._rng.permutation(np.repeat(np.arange(len(times)), whole)).tolist()
        chosen, self._queue = self._queue[: self.batch_size], self._queue[self.batch_size :]
        pictures = torch.stack([self._pictures[i] for i in chosen]).permute(0, 3, 1, 2)
        return self._vary(pictures, [self._boxes[i] for i in chosen], self._rng)


class _Sized:
    def __init__(self, length: int, labels: list[dict[str, Any]]) -> None:
        self._length, self.labels = length, labels

    def __len__(self) -> int:
        return self._length

    def set_epoch(self, epoch: int) -> None:
        """Does nothing: every epoch draws its pictures independently."""


def read_labelled(path: Path) -> tuple[NDArray[np.uint8], Float]:
    """A picture (height, width, 3) RGB of a data set, and its boxes (n, 5): class or UNLEARNT, and edges, px."""
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise OSError(f"{path} is not a picture")
    objects = path.parents[2] / "objects" / path.parent.name / f"{path.stem}.jsonl"
    rows = [json.loads(line) for line in objects.read_text().splitlines()]
    boxes = [[CLASSES.index(row["class"]) if _is_learnt(row) else UNLEARNT, *row["box_px"]] for row in rows]
    return np.ascontiguousarray(bgr[:, :, ::-1]), np.array(boxes, np.float64).reshape(-1, 5)


def _is_learnt(row: dict[str, Any]) -> bool:
    _, v0, _, v1 = row["box_px"]
    return bool(v1 - v0 >= LEARNT_HEIGHT_PX and row["visible"] >= LEARNT_VISIBLE)


def repeats(boxes: list[Float]) -> Float:
    """Number of times that each picture is drawn in a round, at least 1 (repeat factor sampling; Gupta et al., 2019).

    The factor of a class is sqrt(`FREQUENCY_MIN` / its frequency). The factor of a picture is the largest factor of its
    classes.
    """
    holds = np.zeros((len(boxes), len(CLASSES)), dtype=bool)
    for row, found in zip(holds, boxes, strict=True):
        row[found[found[:, 0] != UNLEARNT, 0].astype(int)] = True
    wanted = np.sqrt(FREQUENCY_MIN / np.maximum(holds.mean(axis=0), 1e-9))
    return np.asarray(np.maximum(np.where(holds, wanted, 1.0).max(axis=1), 1.0))


def augment(pictures: torch.Tensor, boxes: list[Float], rng: np.random.Generator) -> dict[str, Any]:
    """Augment pictures (N, 3, H, W) uint8 and their boxes: random shift, scale, mirror and colour.

    Returns a batch for ultralytics; the sides of its pictures are multiples of 32. "ignored" (M, 5), picture and box,
    lists the boxes that are marked UNLEARNT, too small, or too far outside the picture to be learnt.
    """
    moved, batch = move_and_warp(pictures, boxes, rng, (0.65, 1.6), may_be_mirrored(boxes))
    return {"img": recolour(moved, rng).clamp_(0.0, 255.0).to(torch.uint8), **batch}


def may_be_mirrored(boxes: list[Float]) -> NDArray[np.bool_]:
    """Whether each picture shows no object with text, (N,) bool; `boxes` are those of N pictures."""
    number = np.repeat(np.arange(len(boxes)), [len(b) for b in boxes])
    every = np.concatenate(boxes)
    readable = _READABLE[every[:, 0].astype(int)] & (every[:, 0] != UNLEARNT)
    return np.asarray(np.bincount(number, weights=readable, minlength=len(boxes)) == 0)


def move_and_warp(
    pictures: torch.Tensor,
    boxes: list[Float],
    rng: np.random.Generator,
    scales: tuple[float, float],
    may_flip: NDArray[np.bool_],
) -> tuple[torch.Tensor, dict[str, Any]]:
    """The geometric part of `augment`: returns pictures (N, 3, H, W) float, and the rest of the batch.

    `scales` is the range of the scale factor; `may_flip` (N,) marks the pictures that may be mirrored.
    """
    count, _, height, width = pictures.shape
    size = (-(-height // STRIDE_PX) * STRIDE_PX, -(-width // STRIDE_PX) * STRIDE_PX)
    scale = np.exp(rng.uniform(np.log(scales[0]), np.log(scales[1]), count))
    same = rng.uniform(size=count) < UNCHANGED_SHARE
    scale[same] = 1.0
    room = np.stack([size[1] - scale * width, size[0] - scale * height], axis=1)
    shift = rng.uniform(np.minimum(room, 0.0), np.maximum(room, 0.0))
    shift[same] = np.round(shift[same])
    number = np.repeat(np.arange(count), [len(b) for b in boxes])
    every = np.concatenate(boxes)
    mirrored = may_flip & (rng.uniform(size=count) < 0.5)
    moved = _warp(pictures, size, scale, shift, mirrored)
    rows = _move_boxes(every, number, width, size, scale, shift, mirrored)
    every_row = torch.from_numpy(rows).to(pictures.device, torch.float32)
    table, ignored = every_row[rows[:, 1] != UNLEARNT], every_row[rows[:, 1] == UNLEARNT]
    return moved, {
        "batch_idx": table[:, 0],
        "cls": table[:, 1:2],
        "bboxes": table[:, 2:],
        "ignored": ignored[:, [0, 2, 3, 4, 5]],
        "im_file": ("",) * count,
    }


def _warp(pictures: torch.Tensor, size: tuple[int, int], scale: Float, shift: Float, mirrored: Any) -> torch.Tensor:
    """Scale each picture about its top left corner, then shift it; the area outside is grey."""
    source = np.array([pictures.shape[3], pictures.shape[2]])
    target = np.array([size[1], size[0]])
    theta = np.zeros((len(scale), 2, 3))
    gain = target / (source * scale[:, None])
    offset = (target - 2.0 * shift) / (source * scale[:, None]) - 1.0
    for axis in (0, 1):
        theta[:, axis, axis], theta[:, axis, 2] = gain[:, axis], offset[:, axis]
    theta[mirrored, 0] *= -1.0
    device = pictures.device
    grid = torch.nn.functional.affine_grid(
        torch.from_numpy(theta).to(device, torch.float32), [len(scale), 3, *size], align_corners=False
    )
    return torch.nn.functional.grid_sample(pictures.float() - GREY, grid, align_corners=False) + GREY


def _move_boxes(
    boxes: Float,
    number: NDArray[np.intp],
    width: int,
    size: tuple[int, int],
    scale: Float,
    shift: Float,
    mirrored: NDArray[np.bool_],
) -> Float:
    """Apply the same augmentation to the boxes, clip them, and drop those outside the picture.

    `boxes` (m, 5) are those of all pictures; `number` (m,) is the picture of each. Returns (n, 6): picture, class or
    UNLEARNT, and centre, width and height as fractions of `size`.
    """
    left, right = np.where(mirrored[number], width - boxes[:, [3, 1]].T, boxes[:, [1, 3]].T)
    corners = np.stack([left, boxes[:, 2], right, boxes[:, 4]])
    whole = scale[number] * corners + shift[number][:, [0, 1, 0, 1]].T
    cut = np.clip(whole, 0.0, np.array([size[1], size[0]] * 2)[:, None])
    extent = cut[2:] - cut[:2]
    share = extent.prod(axis=0) / np.maximum((whole[2:] - whole[:2]).prod(axis=0), 1e-9)
    learnt = (extent[1] >= LEARNT_HEIGHT_PX) & (share >= LEARNT_VISIBLE)
    kinds = np.where(learnt, boxes[:, 0], UNLEARNT)
    middle = 0.5 * (cut[:2] + cut[2:])
    scaled = np.concatenate([middle, extent]) / np.array([size[1], size[0]] * 2)[:, None]
    return np.asarray(np.column_stack([number, kinds, scaled.T])[(extent > 0.0).all(axis=0)])


def recolour(pictures: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Random exposure, contrast, saturation, white balance and noise."""
    count, device = len(pictures), pictures.device

    def draw(low: float, high: float, channels: int = 1) -> torch.Tensor:
        values = rng.uniform(low, high, (count, channels, 1, 1))
        return torch.from_numpy(values).to(device, torch.float32)

    grey = pictures.mean(dim=1, keepdim=True)
    coloured = grey + (pictures - grey) * draw(0.4, 1.4)
    mean = coloured.mean(dim=(1, 2, 3), keepdim=True)
    lit = (mean + (coloured - mean) * draw(0.7, 1.3)) * draw(0.7, 1.3) * draw(0.93, 1.07, 3)
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
    noise = torch.randn(pictures.shape[:1] + pictures.shape[2:], device=device, generator=generator)
    return lit + noise[:, None] * draw(0.0, 5.0)
