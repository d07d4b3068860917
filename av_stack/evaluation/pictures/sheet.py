"""Draws a sheet of the pictures with most mistakes: missed labels red, found labels green, false detections orange."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from av_core.types import Image
from av_stack.evaluation.pictures.scores import Mistakes, ScoredPicture, mistakes

COLUMNS, ROWS = 3, 4
"""Pictures across and down a sheet."""

TILE_WIDTH_PX = 640
CAPTION_PX = 22
FOUND, MISSED, FALSE = (80, 200, 80), (60, 60, 255), (0, 165, 255)
"""Colours (BGR) of the boxes."""

JPEG_QUALITY = 85


def write_sheet(pictures: Sequence[ScoredPicture], path: Path) -> int:
    """Write the worst pictures as one JPEG at `path`; returns their number. Without mistakes no file is written."""
    rated = [(picture, mistakes(picture)) for picture in pictures]
    wrong = [(picture, made) for picture, made in rated if made.missed or made.false]
    worst = sorted(wrong, key=lambda item: -len(item[1].missed) - len(item[1].false))[: COLUMNS * ROWS]
    if not worst:
        path.unlink(missing_ok=True)
        return 0
    tiles = [_tile(picture, made) for picture, made in worst]
    height = max(tile.shape[0] for tile in tiles)
    tiles = [np.pad(tile, ((0, height - tile.shape[0]), (0, 0), (0, 0))) for tile in tiles]
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % COLUMNS)
    sheet = np.vstack([np.hstack(tiles[i : i + COLUMNS]) for i in range(0, len(tiles), COLUMNS)])
    cv2.imwrite(str(path), sheet, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return len(worst)


def _tile(picture: ScoredPicture, made: Mistakes) -> Image:
    bgr = cv2.imread(str(picture.picture.path))
    assert bgr is not None, picture.picture.path  # it was read when it was scored
    scale = TILE_WIDTH_PX / bgr.shape[1]
    size = TILE_WIDTH_PX, max(round(scale * bgr.shape[0]), 1)
    tile = np.asarray(cv2.resize(bgr, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    for label in picture.grouped.labels:
        if label.counts:
            _draw(tile, label.box_px, scale, MISSED if label.box_px in made.missed else FOUND, "")
    for detection in made.false:
        _draw(tile, detection.box_px, scale, FALSE, f"{detection.name} {detection.confidence:.2f}")
    caption = np.zeros((CAPTION_PX, TILE_WIDTH_PX, 3), dtype=np.uint8)
    said = f"{picture.picture.path.name}: {len(made.missed)} missed, {len(made.false)} false"
    cv2.putText(caption, said, (4, 16), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (255, 255, 255), 1, cv2.LINE_AA)
    return np.vstack([caption, tile])


def _draw(
    tile: Image, box: tuple[float, float, float, float], scale: float, colour: tuple[int, int, int], said: str
) -> None:
    left, top, right, low = (round(scale * edge) for edge in box)
    cv2.rectangle(tile, (left, top), (right, low), colour, 1)
    if said:
        cv2.putText(tile, said, (left, max(top - 3, 10)), cv2.FONT_HERSHEY_SIMPLEX, 0.4, colour, 1, cv2.LINE_AA)
