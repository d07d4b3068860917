"""Procedural surface textures: tileable pictures of asphalt, paint, slabs, stone, grass and cloud, cached on disk.

A texture holds several fields, one per channel, each scaled to its own size on the ground (shaders/ground_frag.glsl).
All fields are centred on 0.5, which leaves the base colour unchanged; mip maps average them, so distant surfaces become
plain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray

from embedded_carla.maps.cache import CODE_DIGEST, MapCache, default_folder
from embedded_carla.render.look import SurfaceLook

F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]
SIZE = 512
SLABS = 6  # paving slabs along one side of the texture


def noise(rng: np.random.Generator, slope: float, low: float = 1.0, high: float = SIZE / 2) -> F64:
    """(SIZE, SIZE) tileable noise of mean 0 and deviation 1 with a power-law spectrum between two frequencies."""
    f, log_f = _frequencies()
    gain = np.where((f >= low) & (f <= high), np.exp(-slope * log_f), 0.0)
    field = scipy.fft.irfft2(scipy.fft.rfft2(rng.standard_normal((SIZE, SIZE))) * gain)
    return np.asarray(field / field.std())


@cache
def _frequencies() -> tuple[F64, F64]:
    """(SIZE, SIZE / 2 + 1) frequencies of `rfft2`'s output in cycles per picture, and their logarithm (0 below 1)."""
    f = np.hypot(np.fft.rfftfreq(SIZE)[None, :], np.fft.fftfreq(SIZE)[:, None]) * SIZE
    return f, np.log(np.maximum(f, 1.0))


def _wander(rng: np.random.Generator, canvas: U8, value: int, thick: int, steps: int, turn: float) -> None:
    """Draw a random-walk line that wraps around the picture's edges."""
    at, heading = rng.uniform(0, SIZE, 2), rng.uniform(0, 2 * np.pi)
    points = [at]
    for _ in range(steps):
        heading += rng.normal(0.0, turn)
        points.append(points[-1] + 6.0 * np.array([np.cos(heading), np.sin(heading)]))
    line = np.round(np.array(points) * 8).astype(np.int32)
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            shifted = line + np.array([dx, dy], dtype=np.int32) * SIZE * 8
            cv2.polylines(canvas, [shifted.reshape(-1, 1, 2)], False, value, thick, cv2.LINE_AA, 3)


def asphalt(rng: np.random.Generator) -> F64:
    """Channels: grain; cracks and sealed seams; patches and stains; hollows where water stands."""
    stones = noise(rng, 0.0, 60.0)
    grain = 0.5 + 0.09 * stones + 0.05 * noise(rng, 0.6, 8.0, 90.0) + 0.16 * (stones > 2.3)
    lines = np.full((SIZE, SIZE), 128, dtype=np.uint8)
    for _ in range(10):
        _wander(rng, lines, 92, 1, int(rng.integers(14, 70)), 0.6)  # cracks
    _wander(rng, lines, 72, 2, 40, 0.3)  # a crack sealed with tar
    for row in rng.integers(0, SIZE, 2).tolist():
        cv2.line(lines, (row, 0), (row, SIZE), 100, 1)  # seam between two days' paving
    patches = np.full((SIZE, SIZE), 0.5)
    for _ in range(4):
        x, y = rng.integers(20, SIZE - 150, 2)
        long, wide = rng.integers(50, 130), rng.integers(28, 60)
        patches[y : y + wide, x : x + long] = 0.5 + rng.choice([-0.10, -0.07, 0.06])
        cv2.rectangle(lines, (int(x), int(y)), (int(x + long), int(y + wide)), 92, 1)
    patches += 0.045 * noise(rng, 1.5, 2.0, 40.0) - 0.05 * np.clip(noise(rng, 1.6, 3.0, 60.0) - 1.2, 0.0, 2.0)
    hollows = 0.5 + 0.14 * noise(rng, 1.15, 5.0, 60.0)
    return np.stack([grain, lines / 255.0, patches, hollows], axis=-1)


def paint(rng: np.random.Generator) -> F64:
    """Channels: roughness; worn-off paint (1 is bare); broad fading; hollows."""
    off = 1.0 / (1.0 + np.exp(-7.0 * (noise(rng, 0.55, 4.0, 160.0) - 1.75)))
    fade = 0.5 + 0.10 * noise(rng, 1.3, 1.0, 24.0)
    return np.stack([0.5 + 0.07 * noise(rng, 0.2, 20.0), off, fade, np.full_like(off, 0.5)], axis=-1)


def slabs(rng: np.random.Generator) -> F64:
    """Channels: slabs with joints and individual tones; unused; stains; hollows."""
    cell = SIZE / SLABS
    row, column = np.mgrid[0:SIZE, 0:SIZE]
    shift = (row // cell).astype(int) % 2 * (cell / 2)
    i, j = (row // cell).astype(int), ((column + shift) % SIZE // cell).astype(int)
    inside = np.minimum(row % cell, (column + shift) % cell)
    edge = np.minimum(inside, cell - np.maximum(row % cell, (column + shift) % cell))
    tone = rng.normal(0.0, 0.035, (SLABS, SLABS))[i % SLABS, j % SLABS]
    joint = np.clip(1.0 - edge / 1.6, 0.0, 1.0)
    detail = 0.52 + tone + 0.03 * noise(rng, 0.3, 10.0) - 0.22 * joint
    stains = 0.5 + 0.05 * noise(rng, 1.4, 2.0, 60.0) - 0.06 * np.clip(noise(rng, 1.2, 4.0, 80.0) - 1.4, 0.0, 2.0)
    return np.stack([detail, np.full_like(detail, 0.5), stains, 0.5 + 0.14 * noise(rng, 1.7, 2.0, 40.0)], axis=-1)


def stone(rng: np.random.Generator) -> F64:
    """Channels: concrete and kerb stones with a joint every quarter of the texture; unused; weathering; hollows."""
    column = np.arange(SIZE)[None, :] % (SIZE // 4)
    joint = np.clip(1.0 - np.minimum(column, SIZE // 4 - column) / 2.0, 0.0, 1.0)
    tone = np.repeat(rng.normal(0.0, 0.03, 4), SIZE // 4)[None, :]
    detail = 0.52 + tone + 0.05 * noise(rng, 0.4, 8.0) - 0.20 * joint
    weather = 0.5 + 0.06 * noise(rng, 1.4, 2.0, 80.0)
    return np.stack([detail, np.full_like(detail, 0.5), weather, np.full_like(detail, 0.5)], axis=-1)


def grass(rng: np.random.Generator) -> F64:
    """Channels: blades; clumps; dryness; bare soil."""
    blades = 0.5 + 0.13 * noise(rng, 0.35, 10.0) + 0.06 * noise(rng, 1.0, 4.0, 40.0)
    clumps = 0.5 + 0.15 * noise(rng, 1.1, 3.0, 120.0)
    dry = 0.5 + 0.20 * noise(rng, 1.6, 1.0, 60.0)
    soil = 1.0 / (1.0 + np.exp(-5.0 * (noise(rng, 1.2, 2.0, 90.0) - 1.5)))
    return np.stack([blades, clumps, dry, soil], axis=-1)


def cloud(rng: np.random.Generator) -> F64:
    """Channels: cumulus; wisps; streaks; drops on the lens."""
    heaps = 0.5 + 0.17 * noise(rng, 1.75, 2.0, 200.0)
    wisps = 0.5 + 0.17 * noise(rng, 1.2, 8.0, 250.0)
    streaks = np.asarray(cv2.blur(np.tile(noise(rng, 1.2, 4.0, 200.0), (1, 3)), (61, 1))[:, SIZE : 2 * SIZE])
    return np.stack([heaps, wisps, 0.5 + 0.2 * streaks / streaks.std(), drops(rng)], axis=-1)


def drops(rng: np.random.Generator) -> F64:
    """Thickness of water on the lens; 0.5 means none."""
    out = np.full((SIZE, SIZE), 0.5)
    row, column = np.ogrid[0:SIZE, 0:SIZE]
    for _ in range(26):
        x, y, radius = *rng.uniform(0, SIZE, 2), rng.choice([3.0, 5.0, 7.0, 11.0], p=[0.4, 0.3, 0.2, 0.1])
        dx, dy = (np.abs(d) for d in (column - x, row - y))
        dx, dy = np.minimum(dx, SIZE - dx), np.minimum(dy, SIZE - dy) * rng.uniform(0.7, 1.0)
        out = np.maximum(out, 0.5 + 0.4 * np.sqrt(np.clip(1.0 - (dx**2 + dy**2) / radius**2, 0.0, 1.0)))
    return out


SURFACES: dict[str, Callable[[np.random.Generator], F64]] = {
    "ASPHALT": asphalt, "MARKING": paint, "PAVING": slabs, "STONE": stone, "GRASS": grass, "CLOUD": cloud,
}  # fmt: skip


@cache
def texels(name: str) -> bytes:
    """The texture of surface `name` as SIZE * SIZE RGBA bytes; deterministic."""
    field = SURFACES[name](np.random.default_rng([41, list(SURFACES).index(name)]))
    return np.clip(np.rint(field * 255.0), 0, 255).astype(np.uint8).tobytes()


def kept_texels(cache: MapCache) -> Mapping[str, bytes]:
    """The texels of all surfaces, from `cache` if present; computing them takes half a second."""
    key = f"{CODE_DIGEST} surface textures"
    found = cache.load(key)
    if isinstance(found, dict) and found.keys() == SURFACES.keys():
        return found
    made = {name: texels(name) for name in SURFACES}
    cache.store(key, made)
    return made


def texels_of(name: str, kept: bytes, look: SurfaceLook) -> bytes:
    """The texels of surface `name` in a look: other contrast about the middle, another place, other wear of paint.

    The channel with puddles' hollows or lens drops (the last) keeps its values.
    """
    if look == SurfaceLook():
        return kept
    field = np.frombuffer(kept, dtype=np.uint8).reshape(SIZE, SIZE, 4).astype(np.float32)
    contrast = np.array([look.texture_contrast, look.texture_contrast, look.texture_contrast, 1.0], dtype=np.float32)
    middle = np.array([128.0, 128.0, 128.0, 0.0], dtype=np.float32)
    if name == "MARKING":
        contrast[1], middle[1] = look.wear, 0.0
    if name == "CLOUD":
        contrast[:] = 1.0
    rows, columns = (round(share * SIZE) for share in look.shift)
    varied = np.roll((field - middle) * contrast + middle, (rows, columns), axis=(0, 1))
    return np.clip(np.rint(varied), 0, 255).astype(np.uint8).tobytes()


class SurfaceTextures:
    """The textures on the GPU, by surface name."""

    def __init__(self, ctx: Any, look: SurfaceLook) -> None:
        self._textures: dict[str, Any] = {}
        for name, kept in kept_texels(MapCache(default_folder())).items():
            texture = ctx.texture((SIZE, SIZE), 4, texels_of(name, kept, look))
            texture.build_mipmaps()
            texture.filter = (ctx.LINEAR_MIPMAP_LINEAR, ctx.LINEAR)
            self._textures[name] = texture

    def use(self, name: str, unit: int) -> None:
        """Bind the texture of surface `name` to a texture unit."""
        self._textures[name].use(unit)
