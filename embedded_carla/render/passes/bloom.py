"""The glow around bright parts of a picture: threshold at a quarter of its size, blur at an eighth."""

from __future__ import annotations

from typing import Any

from embedded_carla.render.programs import BLOOM_UNIT, PICTURE_UNIT, Programs
from embedded_carla.render.targets import Target

KEPT = 4
OUTPUT = ("OUT_RGB", "LOC_RGB 0")
STEP_PX = 8.0
"""Distance between the samples of the blur, in pixels of the picture; the glow reaches four of them."""


class Bloom:
    """Makes the glow of a target's colour and binds it to `BLOOM_UNIT`."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._layers: dict[tuple[int, int], tuple[Any, Any, Any]] = {}  # bright, blurred across, blurred both ways
        self._arrays: dict[int, Any] = {}

    def draw(self, programs: Programs, target: Target) -> None:
        """Draw the glow of `target.colour`."""
        bright, across, both = self._layers_of(target.size)
        width, height = target.size
        self._pass(programs, ("BRIGHT",), target.colour, bright, (1.0 / width, 1.0 / height))
        self._pass(programs, (), bright.color_attachments[0], across, (STEP_PX / width, 0.0))
        self._pass(programs, (), across.color_attachments[0], both, (0.0, STEP_PX / height))
        both.color_attachments[0].use(BLOOM_UNIT)

    def _pass(
        self, programs: Programs, defines: tuple[str, ...], source: Any, onto: Any, stride: tuple[float, float]
    ) -> None:
        program = programs.get("finish", "bloom", (*OUTPUT, *defines))
        array = self._arrays.get(program.glo)
        if array is None:
            array = self._arrays[program.glo] = self._ctx.vertex_array(program, [])
        program["pixel"], program["stride"] = (1.0 / onto.width, 1.0 / onto.height), stride
        source.use(PICTURE_UNIT)
        onto.use()
        array.render(vertices=3)

    def _layers_of(self, size: tuple[int, int]) -> tuple[Any, Any, Any]:
        layers = self._layers.pop(size, None) or (self._layer(size, 4), self._layer(size, 8), self._layer(size, 8))
        self._layers[size] = layers
        while len(self._layers) > KEPT:
            for layer in self._layers.pop(next(iter(self._layers))):
                layer.color_attachments[0].release()
                layer.release()
        return layers

    def _layer(self, size: tuple[int, int], factor: int) -> Any:
        texture = self._ctx.texture((-(-size[0] // factor), -(-size[1] // factor)), 4)
        texture.repeat_x = texture.repeat_y = False
        return self._ctx.framebuffer([texture])

    def forget_programs(self) -> None:
        """Release the vertex arrays of all programs."""
        for array in self._arrays.values():
            array.release()
        self._arrays.clear()
