"""Shader programs, built from shaders/*.glsl on first use, one per set of outputs and features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SHADERS = Path(__file__).parent / "shaders"
KEPT = 192
"""Largest number of programs kept between pictures.

Mesa uses some 2 MB for each. All outputs in all weathers need more than 500 programs; all outputs in one weather need
at most 124.
"""

FRAME_BINDING = 0
LOOK_BINDING = 1
SHADOW_UNIT = 0
FACES_UNIT = 1
PICTURE_UNIT = 2
SURFACE_UNIT = 3
HOLLOWS_UNIT = 4
MIRROR_UNIT = 5
MOVING_UNIT = 6
BLOOM_UNIT = 7
SHADOW_SLOTS = 8  # squares side by side in the shadow map (passes/shadow.py); shading.glsl needs a power of two
_UNITS = {
    "shadow_still": SHADOW_UNIT, "shadow_moving": MOVING_UNIT, "faces": FACES_UNIT, "picture": PICTURE_UNIT,
    "surface": SURFACE_UNIT, "hollows": HOLLOWS_UNIT, "mirror_picture": MIRROR_UNIT,
    "bloom": BLOOM_UNIT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs that one pass writes."""

    rgb: bool
    depth: bool
    labels: bool

    @cache  # noqa: B019 - only seven distinct values exist
    def defines(self) -> tuple[str, ...]:
        """OUT_* and LOC_* defines of the enabled outputs; colour attachments are numbered in this order."""
        wanted = [name for name, on in (("RGB", self.rgb), ("DEPTH", self.depth), ("LABELS", self.labels)) if on]
        return tuple(f"OUT_{n}" for n in wanted) + tuple(f"LOC_{n} {i}" for i, n in enumerate(wanted))


class Programs:
    """A cache of shader programs by vertex file, fragment file and defines.

    With `looks`, all programs are those for a look other than the default (the define LOOK).
    """

    def __init__(self, ctx: Any, *, looks: bool = False) -> None:
        self._ctx = ctx
        self._looks = looks
        self._built: dict[tuple[str, str, tuple[str, ...]], Any] = {}

    def get(self, vertex: str, fragment: str, defines: tuple[str, ...]) -> Any:
        """The program of `vertex`_vert.glsl and `fragment`_frag.glsl."""
        key = (vertex, fragment, defines)
        if key not in self._built:
            self._built[key] = self._build(vertex, fragment, defines)
        return self._built[key]

    @property
    def is_over_full(self) -> bool:
        """Whether the caller should `release` all programs, so that only those still in use are rebuilt."""
        return len(self._built) > KEPT

    def _build(self, vertex: str, fragment: str, defines: tuple[str, ...]) -> Any:
        head = f"#version 330 core\n#define SHADOW_SLOTS {SHADOW_SLOTS}\n" + "".join(f"#define {d}\n" for d in defines)
        frame, shading = _read("frame"), _read("shading")
        if self._looks:
            frame = "#define LOOK\n" + frame + _read("look")
        program = self._ctx.program(
            vertex_shader=head + frame + _read(f"{vertex}_vert"),
            fragment_shader=head + frame + shading + _read(f"{fragment}_frag"),
        )
        for name, unit in _UNITS.items():
            if name in program:
                program[name].value = unit
        for block, binding in (("Frame", FRAME_BINDING), ("Look", LOOK_BINDING)):
            if block in program:
                program[block].binding = binding
        return program

    def release(self) -> None:
        for program in self._built.values():
            program.release()
        self._built.clear()


def _read(name: str) -> str:
    return (SHADERS / f"{name}.glsl").read_text(encoding="utf-8")
