"""A sheet with a picture of each type of scenario at its decisive moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from av_core.types import Image

PER_ROW = 6
TITLE_PX = 22


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a drive and what stands above it."""

    title: str
    bgr: Image


def read_picture(title: str, run: Path) -> Picture:
    """The thumbnail of a drive's folder. Raises OSError where there is none."""
    bgr = cv2.imread(str(run / "thumbnail.jpg"))
    if bgr is None:
        raise OSError(f"{run}: no thumbnail.jpg; av-stack report {run} makes it")
    return Picture(title, np.asarray(bgr, dtype=np.uint8))


def sheet(pictures: Sequence[Picture]) -> Image:
    """All pictures in rows of `PER_ROW`, each below its title."""
    height, width = pictures[0].bgr.shape[:2]
    rows = -(-len(pictures) // PER_ROW)
    canvas = np.full((rows * (height + TITLE_PX), PER_ROW * (width + 4), 3), 255, dtype=np.uint8)
    for index, picture in enumerate(pictures):
        top, left = index // PER_ROW * (height + TITLE_PX), index % PER_ROW * (width + 4)
        canvas[top + TITLE_PX : top + TITLE_PX + height, left : left + width] = picture.bgr
        cv2.putText(
            canvas, picture.title, (left + 2, top + 16), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (30, 30, 30), 1, cv2.LINE_AA
        )
    return canvas
