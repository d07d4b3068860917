"""Printed faces of traffic signs, made once with OpenCV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

SIZE_PX = 128
RED = (190, 12, 20)
WHITE = (235, 235, 235)
BLACK = (15, 15, 15)


def face(prototype: str, text: str) -> NDArray[np.uint8]:
    """(128, 128, 3) sRGB picture of a sign's front, first row on top."""
    image = np.full((SIZE_PX, SIZE_PX, 3), WHITE, dtype=np.uint8)
    middle = SIZE_PX // 2
    if prototype == "sign_stop":
        image[:] = RED
        cv2.circle(image, (middle, middle), 61, WHITE, 3, cv2.LINE_AA)
        _write(image, text or "STOP", WHITE, 92, 7)
    elif prototype == "sign_yield":
        # The sign stands on its tip: corners of the triangle inscribed in the face's circle.
        image[:] = RED
        turn = np.pi / 2 + np.arange(3) * 2 * np.pi / 3
        inner = middle + 0.60 * middle * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        cv2.fillConvexPoly(image, inner.astype(np.int32), WHITE, cv2.LINE_AA)
    else:
        cv2.circle(image, (middle, middle), 55, RED, 15, cv2.LINE_AA)
        _write(image, text, BLACK, 74, 9)
    return image


def _write(image: NDArray[np.uint8], text: str, colour: tuple[int, int, int], width_px: int, thickness: int) -> None:
    font = cv2.FONT_HERSHEY_SIMPLEX
    (w, h), _ = cv2.getTextSize(text, font, 1.0, thickness)
    if w == 0:
        return
    scale = min(width_px / w, 54.0 / h)
    (w, h), _ = cv2.getTextSize(text, font, scale, thickness)
    cv2.putText(image, text, ((SIZE_PX - w) // 2, (SIZE_PX + h) // 2), font, scale, colour, thickness, cv2.LINE_AA)


class SignFaces:
    """A texture array with one layer per different face."""

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
