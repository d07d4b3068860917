"""Faces of traffic signs, drawn once with OpenCV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

SIZE_PX = 128
RED = (178, 10, 18)
WHITE = (232, 232, 232)
BLACK = (15, 15, 15)


def face(prototype: str, text: str) -> NDArray[np.uint8]:
    """(128, 128, 3) sRGB picture of a sign's front, first row at the top."""
    image = np.full((SIZE_PX, SIZE_PX, 3), WHITE, dtype=np.uint8)
    middle = SIZE_PX // 2
    if prototype == "sign_stop":
        turn = np.pi / 8 + np.arange(8) * np.pi / 4
        inner = middle + 58.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        cv2.fillPoly(image, [inner.astype(np.int32)], RED, cv2.LINE_AA)
        _write(image, text or "STOP", WHITE, (96, 46), 8)
    elif prototype == "sign_yield":
        # The sign points down; these are the corners of the triangle inscribed in the face's circle.
        image[:] = RED
        turn = np.pi / 2 + np.arange(3) * 2 * np.pi / 3
        inner = middle + 0.60 * middle * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        cv2.fillConvexPoly(image, inner.astype(np.int32), WHITE, cv2.LINE_AA)
    elif prototype == "sign_limit":
        cv2.rectangle(image, (5, 4), (SIZE_PX - 6, SIZE_PX - 5), BLACK, 3, cv2.LINE_AA)
        _write(image, "SPEED", BLACK, (86, 18), 3, 24)
        _write(image, "LIMIT", BLACK, (78, 18), 3, 48)
        _write(image, text, BLACK, (84, 46), 9, 92)
    else:
        cv2.circle(image, (middle, middle), 55, RED, 15, cv2.LINE_AA)
        _write(image, text, BLACK, (78, 56), 9)
    return image


def _write(
    image: NDArray[np.uint8],
    text: str,
    colour: tuple[int, int, int],
    box_px: tuple[int, int],
    thickness: int,
    row: int = SIZE_PX // 2,
) -> None:
    """Write text centred on `row`, as large as fits the box (width, height)."""
    font = cv2.FONT_HERSHEY_SIMPLEX
    (w, h), _ = cv2.getTextSize(text, font, 1.0, thickness)
    if w == 0:
        return
    scale = min(box_px[0] / w, box_px[1] / h)
    (w, h), _ = cv2.getTextSize(text, font, scale, thickness)
    cv2.putText(image, text, ((SIZE_PX - w) // 2, row + h // 2), font, scale, colour, thickness, cv2.LINE_AA)


class SignFaces:
    """A texture array with one layer for each distinct face."""

    def __init__(self, ctx: Any, wanted: Sequence[tuple[str, str]]) -> None:
        self._layers = {key: i for i, key in enumerate(sorted(set(wanted)))}
        pictures = [face(*key) for key in self._layers] or [np.zeros((SIZE_PX, SIZE_PX, 3), dtype=np.uint8)]
        linear = np.round(255.0 * (np.stack(pictures) / 255.0) ** 2.2).astype(np.uint8)
        self.texture = ctx.texture_array((SIZE_PX, SIZE_PX, len(linear)), 3, linear.tobytes(), alignment=1)
        self.texture.build_mipmaps()

    def layer(self, prototype: str, text: str) -> int:
        return self._layers[(prototype, text)]

    def release(self) -> None:
        self.texture.release()
