"""Labelled signal heads of both renderers, the patches of picture around them, and the towns that they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from av_core.types import Image
from av_stack.evaluation.lights import LabelledHead
from perception.detection.classes import light_state
from perception.lights.head_states import Box, is_cut, whole_box
from perception.lights.lamps import brightness

HELD_BACK = "Town02"
"""The town of both renderers that no fit sees."""

HEIGHT_MIN_PX = 9.0

SIZES_PX = (9.0, 16.0, 32.0, 64.0, 1e9)
"""Edges of the ranges of head height in the tables."""

BOX_ERROR = 0.06
"""Standard deviation of a detected box's edges, as a fraction of its height."""

AROUND = 0.75
"""Width of a patch's margin around the head, as a fraction of the box's larger side."""


@dataclass(frozen=True, slots=True)
class Patch:
    """The part of a picture around a head; `box` is the head's in the patch.

    `mean_ratio` is the brightness of the whole picture divided by the patch's.
    """

    bgr: Image
    box: Box
    head: LabelledHead
    mean_ratio: float


def own_heads(folder: Path) -> Iterator[LabelledHead]:
    """Signal heads of both splits of an `av-stack dataset`, if they count for the detector and are large enough."""
    for path in sorted(folder.glob("objects/*/*.jsonl")):
        picture = folder / "images" / path.parent.name / f"{path.stem}.jpg"
        for line in path.read_text().splitlines():
            row = json.loads(line)
            state = light_state(row["class"])
            if state is not None and row["counts"]:
                u0, v0, u1, v1 = row["box_px"]
                if v1 - v0 >= HEIGHT_MIN_PX:
                    yield LabelledHead(picture, (u0, v0, u1, v1), state, "own")


def town(head: LabelledHead) -> str:
    """The town that the picture's name begins with."""
    return head.picture.stem.rsplit("_", 2 if head.source == "own" else 1)[0]


def size_group(head: LabelledHead) -> str:
    """The head's range of height."""
    row = max(int(np.searchsorted(SIZES_PX, height_px(head), side="right")) - 1, 0)
    upper = f"{SIZES_PX[row + 1]:.0f}" if SIZES_PX[row + 1] < 1e9 else ""
    return f"{SIZES_PX[row]:.0f}-{upper} px"


def height_px(head: LabelledHead) -> float:
    return head.box_px[3] - head.box_px[1]


def read_picture(path: Path) -> Image:
    """The picture as BGR; raises OSError where the file is none."""
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise OSError(f"{path} is not a picture")
    return np.asarray(bgr, dtype=np.uint8)


def patches(heads: Sequence[LabelledHead]) -> list[Patch]:
    """A patch for each head; what lies outside the picture repeats its edge. Heads that the edge cuts are left out."""
    out: list[Patch] = []
    pictures: dict[Path, Image] = {}
    for head in heads:
        if is_cut(head.box_px):
            continue
        if head.picture not in pictures:
            pictures = {head.picture: read_picture(head.picture)}
        bgr = pictures[head.picture]
        u0, v0, u1, v1 = whole_box(head.box_px)
        margin = int(AROUND * max(u1 - u0, v1 - v0)) + 4
        left, top = int(u0) - margin, int(v0) - margin
        right, bottom = int(u1) + margin, int(v1) + margin
        height, width = bgr.shape[:2]
        part = bgr[max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)]
        edges = (max(-top, 0), max(bottom - height, 0), max(-left, 0), max(right - width, 0))
        padded = np.asarray(cv2.copyMakeBorder(part, *edges, borderType=cv2.BORDER_REPLICATE), dtype=np.uint8)
        ratio = brightness(bgr) / max(brightness(padded), 1.0)
        out.append(Patch(padded, (u0 - left, v0 - top, u1 - left, v1 - top), head, ratio))
    return out


def shaken(box: Box, rng: np.random.Generator) -> Box:
    """The box with the random error of a detected one."""
    high = max(box[3] - box[1], box[2] - box[0])
    u0, v0, u1, v1 = np.array(box) + rng.normal(0.0, BOX_ERROR, 4) * high * np.array([0.6, 1.0, 0.6, 1.0])
    return float(u0), float(v0), float(u1), float(v1)
