"""Framebuffers that a pass draws into, and their read-back to numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.programs import Outputs

KEPT = 12


class Targets:
    """Framebuffers by size, outputs and turn; the least recently used beyond `KEPT` are released."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._kept: dict[tuple[int, int, Outputs, int], Target] = {}

    def get(self, width_px: int, height_px: int, outputs: Outputs, turn: int) -> Target:
        """A framebuffer. Different values of `turn` give different ones, to draw several before one is read back."""
        key = (width_px, height_px, outputs, turn)
        target = self._kept.pop(key, None) or Target(self._ctx, width_px, height_px, outputs)
        self._kept[key] = target
        while len(self._kept) > KEPT:
            self._kept.pop(next(iter(self._kept))).release()
        return target

    def release(self) -> None:
        for target in self._kept.values():
            target.release()
        self._kept.clear()


class Target:
    """One framebuffer: the requested ones of colour RGBA8, depth in metres R32F and labels RG16UI, and a depth buffer.

    `rgb_only` draws into the colour only; `smoothed` receives the edge-smoothed colour.
    """

    def __init__(self, ctx: Any, width_px: int, height_px: int, outputs: Outputs) -> None:
        size = (width_px, height_px)
        self.size = size
        self.outputs = outputs
        self._depth_buffer = ctx.depth_renderbuffer(size)
        wanted = [("rgb", outputs.rgb, 4, "f1"), ("depth", outputs.depth, 1, "f4"), ("labels", outputs.labels, 2, "u2")]
        self._textures = [(name, ctx.texture(size, n, dtype=kind)) for name, on, n, kind in wanted if on]
        self.all = ctx.framebuffer([t for _, t in self._textures], self._depth_buffer)
        self.rgb_only: Any = None
        self.smoothed: Any = None
        if outputs.rgb:
            self.colour = self._textures[0][1]
            self.colour.repeat_x = self.colour.repeat_y = False
            self.rgb_only = ctx.framebuffer([self.colour], self._depth_buffer)
            self.rgb_only.depth_mask = False
            self.smoothed = ctx.framebuffer([ctx.renderbuffer(size, 4)])

    def read(self, name: str, components: int, kind: type[np.generic]) -> NDArray[Any]:
        """(H, W, components) of output `name`, rows top-down; colour is read from `smoothed`."""
        source = self.smoothed if name == "rgb" else self.all
        attachment = 0 if name == "rgb" else [n for n, _ in self._textures].index(name)
        width, height = self.size
        out = np.empty((height, width, components), dtype=kind)
        code = {"uint8": "f1", "float32": "f4", "uint16": "u2"}[out.dtype.name]
        source.read_into(out, components=components, attachment=attachment, alignment=1, dtype=code)
        return out

    def release(self) -> None:
        self.all.release()
        if self.rgb_only is not None:
            self.rgb_only.release()
            self.smoothed.color_attachments[0].release()
            self.smoothed.release()
        for _, texture in self._textures:
            texture.release()
        self._depth_buffer.release()
