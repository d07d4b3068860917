"""Pastes signal heads cut from labelled pictures into training pictures, in other sizes and places.

Few pictures of a foreign renderer show heads, and most of these heads are small or look alike. Pieces without a head
are pasted in the same way, so that the network cannot learn to find a head by the seam of the paste.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from perception.detection.classes import CLASSES, light_state
from perception.detection.resident import UNLEARNT

Float = NDArray[np.float64]

HEIGHT_MIN_PX = 16.0
"""Minimum height of a head that is cut out, px; smaller heads have too little detail to be enlarged."""

MARGIN = 0.18
"""Width of the margin cut out around a head, as a fraction of its height; it fades into the picture."""

HEIGHTS_PX = (9.0, 170.0)
"""Range of heights of pasted heads, px."""

ENLARGED_MAX = 2.5
"""Largest factor by which a head is enlarged."""

PASTED_MAX = 3
"""Largest number of pieces pasted into one picture."""

WITHOUT_HEAD_SHARE = 0.35
"""Fraction of the pieces that have no head."""

PLACES = 6
"""Attempts to find a place without a labelled object."""

LOWEST = 0.75
"""Lowest position of a piece, as a fraction of the picture's height from the top."""

GAINS = (0.65, 1.35)
"""Range of the factor that changes a piece's brightness."""

LIGHTS = [number for number, name in enumerate(CLASSES) if light_state(name) is not None]


@dataclass(frozen=True, slots=True)
class Piece:
    """A cut-out piece: pixels (3, h, w) float, and the class and box (u0, v0, u1, v1) of its head.

    `kind` is UNLEARNT for a piece without a head.
    """

    rgb: torch.Tensor
    kind: float
    box_px: tuple[float, float, float, float]


class HeadPaster:
    """Pastes heads that are cut from `pictures` (N, H, W, 3); `boxes` (n, 5) are those of `resident.read_labelled`.

    Raises ValueError if the pictures show no head that is large enough.
    """

    def __init__(self, pictures: torch.Tensor, boxes: Sequence[Float]) -> None:
        self._pictures, self._boxes = pictures, list(boxes)
        self._pieces = [piece for rgb, some in zip(pictures, boxes, strict=True) for piece in heads_of(rgb, some)]
        if not self._pieces:
            raise ValueError(f"no labelled signal head is {HEIGHT_MIN_PX:g} px high or more")
        kinds = np.array([piece.kind for piece in self._pieces])
        self._weights = np.array([1.0 / np.sqrt((kinds == kind).sum()) for kind in kinds])
        self._weights /= self._weights.sum()

    def __call__(
        self, pictures: torch.Tensor, boxes: Sequence[Float], rng: np.random.Generator
    ) -> tuple[torch.Tensor, list[Float]]:
        """Copies of `pictures` (N, 3, H, W) with up to `PASTED_MAX` pieces in each, and the boxes of each copy."""
        out, labels = pictures.clone(), []
        for rgb, some in zip(out, boxes, strict=True):
            for _ in range(int(rng.integers(PASTED_MAX + 1))):
                some = self._paste(rgb, some, rng)
            labels.append(some)
        return out, labels

    def _paste(self, rgb: torch.Tensor, boxes: Float, rng: np.random.Generator) -> Float:
        """Paste one piece into `rgb` (3, H, W) in place; returns the boxes, with that of the pasted head if any."""
        piece = self._pieces[rng.choice(len(self._pieces), p=self._weights)]
        high = piece.box_px[3] - piece.box_px[1]
        scale = np.exp(rng.uniform(*np.log(HEIGHTS_PX))) / high
        scale = min(scale, ENLARGED_MAX)
        if rng.uniform() < WITHOUT_HEAD_SHARE:
            piece = self._without_head(piece, rng)
        size = tuple(max(round(scale * side), 2) for side in piece.rgb.shape[1:])
        place = free_place(size, rgb.shape[1:], boxes, rng)
        if place is None:
            return boxes
        small = torch.nn.functional.interpolate(piece.rgb[None], size, mode="bilinear", antialias=True)[0]
        top, left = place
        under = rgb[:, top : top + size[0], left : left + size[1]].float()
        mask = faded(size, max(scale * MARGIN * high, 1.0), rgb.device)
        mixed = under + mask * (small * rng.uniform(*GAINS) - under)
        rgb[:, top : top + size[0], left : left + size[1]] = mixed.clamp(0.0, 255.0).to(rgb.dtype)
        if piece.kind == UNLEARNT:
            return boxes
        shift = np.array([left, top, left, top], np.float64)
        factor = np.array([size[1] / piece.rgb.shape[2], size[0] / piece.rgb.shape[1]] * 2)
        return np.vstack([boxes, [piece.kind, *(factor * piece.box_px + shift)]])

    def _without_head(self, like: Piece, rng: np.random.Generator) -> Piece:
        """A piece of the size of `like` without labelled objects, from a random picture; grey if none is found."""
        number = int(rng.integers(len(self._boxes)))
        picture, size = self._pictures[number], like.rgb.shape[1:]
        place = free_place((size[0], size[1]), picture.shape[:2], self._boxes[number], rng)
        if place is None:
            return Piece(torch.full_like(like.rgb, float(rng.uniform(40.0, 200.0))), UNLEARNT, like.box_px)
        top, left = place
        cut = picture[top : top + size[0], left : left + size[1]].permute(2, 0, 1).float()
        return Piece(cut, UNLEARNT, like.box_px)


def heads_of(rgb: torch.Tensor, boxes: Float) -> list[Piece]:
    """The heads of one picture (H, W, 3) that are large enough and lie wholly in it, each with its margin."""
    height, width = rgb.shape[:2]
    out = []
    for kind, u0, v0, u1, v1 in boxes.tolist():
        margin = MARGIN * (v1 - v0)
        is_whole = u0 > 1.0 and v0 > 1.0 and u1 < width - 1.0 and v1 < height - 1.0
        if kind not in LIGHTS or v1 - v0 < HEIGHT_MIN_PX or not is_whole:
            continue
        left, top = max(int(u0 - margin), 0), max(int(v0 - margin), 0)
        right, low = min(int(u1 + margin) + 1, width), min(int(v1 + margin) + 1, height)
        cut = rgb[top:low, left:right].permute(2, 0, 1).float()
        out.append(Piece(cut, kind, (u0 - left, v0 - top, u1 - left, v1 - top)))
    return out


def free_place(
    size: tuple[int, ...], of: Sequence[int], boxes: Float, rng: np.random.Generator
) -> tuple[int, int] | None:
    """Row and column of a random rectangle of `size` (rows, columns) that touches none of `boxes`; None if not found.

    `of` is the size (rows, columns) of the picture.
    """
    lowest = min(int(LOWEST * of[0]), of[0] - size[0])
    if lowest < 0 or size[1] > of[1]:
        return None
    for _ in range(PLACES):
        top, left = int(rng.integers(lowest + 1)), int(rng.integers(of[1] - size[1] + 1))
        is_beside = (boxes[:, 1] >= left + size[1]) | (boxes[:, 3] <= left)
        if (is_beside | (boxes[:, 2] >= top + size[0]) | (boxes[:, 4] <= top)).all():
            return top, left
    return None


def faded(size: tuple[int, ...], margin_px: float, device: torch.device) -> torch.Tensor:
    """Mask (rows, columns) that is 1 inside and falls to 0 over `margin_px` at the edges."""
    ramps = []
    for side in size:
        at = torch.arange(side, device=device, dtype=torch.float32) + 0.5
        ramps.append((torch.minimum(at, side - at) / margin_px).clamp(0.0, 1.0))
    return ramps[0][:, None] * ramps[1][None, :]
