"""Surface normals for the normals camera: the scene is drawn once more with its own fragment shader."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.programs import Programs

KEPT = 4
NO_SURFACE = (0.5, 0.5, 0.5, 1.0)  # encodes the zero vector: sky


class NormalPrograms(Programs):
    """The scene's vertex shaders combined with normal_frag.glsl instead of their own fragment shaders."""

    def get(self, vertex: str, fragment: str, defines: tuple[str, ...]) -> Any:
        return super().get(vertex, "normal", defines)


class NormalsTarget:
    """Framebuffers by size; the least recently used beyond `KEPT` are released."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._kept: dict[tuple[int, int], Any] = {}

    def begin(self, width_px: int, height_px: int) -> Any:
        """The framebuffer of this size, cleared and bound."""
        size = (width_px, height_px)
        frame = self._kept.pop(size, None)
        if frame is None:
            frame = self._ctx.framebuffer([self._ctx.renderbuffer(size, 4)], self._ctx.depth_renderbuffer(size))
        self._kept[size] = frame
        while len(self._kept) > KEPT:
            self._give_back(self._kept.pop(next(iter(self._kept))))
        frame.use()
        frame.clear(*NO_SURFACE, depth=1.0)
        return frame

    @staticmethod
    def _give_back(frame: Any) -> None:
        attachments = (*frame.color_attachments, frame.depth_attachment)
        frame.release()
        for attachment in attachments:
            attachment.release()


def read_normals(frame: Any) -> NDArray[np.uint8]:
    """Read the normals, (H, W, 4) uint8 BGRA, rows top-down."""
    width, height = frame.size
    out = np.empty((height, width, 4), dtype=np.uint8)
    frame.read_into(out, components=4, alignment=1, dtype="f1")
    return out
