"""Varies patches of signal heads towards other renderers' looks, so that a classifier does not learn one of them.

First the head itself: size in pixels, housing, visors, core and glow of the lamp, reflections on dark glass. Then the
camera (`perception/detection/photometric_augmentation.py`): exposure, white balance, bloom, tone curve, blur, JPEG.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Image, LightState
from benchmarks.lamps.heads import Patch, shaken
from perception.lights.head_states import Box

Pixels = NDArray[np.float32]

HEAD_PX = (9.0, 48.0)
"""Range of head heights, px, to which larger patches are reduced."""

LAMP_PLACES = {LightState.RED: 0.2, LightState.YELLOW: 0.5, LightState.GREEN: 0.8}
"""Position of each lamp along the head, from its upper end."""

OVEREXPOSED = {
    LightState.RED: ((40, 60, 235), (150, 225, 255)),
    LightState.YELLOW: ((30, 170, 230), (200, 255, 255)),
    LightState.GREEN: ((70, 220, 20), (230, 255, 210)),
}
"""Range of the colours (B, G, R) of a lamp's core: bright ones saturate towards orange, white and pale green."""

GLOW = {LightState.RED: (0.05, 0.1, 1.0), LightState.YELLOW: (0.05, 0.8, 1.0), LightState.GREEN: (0.4, 1.0, 0.1)}
"""Colour (B, G, R) of the light around a lamp."""

HOUSINGS = ((18, 18, 18), (60, 60, 60), (20, 140, 190), (40, 190, 230), (35, 60, 30), (110, 110, 110))
"""Colours (B, G, R) of housings: black, grey, yellow in the shade and in the sun, dark green, light grey."""

CHANCES = {"lamp": 0.5, "housing": 0.35, "visor": 0.3, "sun": 0.2, "glass": 0.25, "loose": 0.4, "camera": 0.75}
"""Probability of each variation."""


def vary(patch: Patch, rng: np.random.Generator) -> tuple[Image, Box]:
    """The patch with a random look, and the box of its head as a detector might give it."""
    patch = _resized(patch, rng)
    bgr = patch.bgr.astype(np.float32)
    u, v = _coordinates(patch)
    lamp = _lamp_mask(bgr, u, v, patch.head.state)
    for name, change in (("housing", _housing), ("glass", _glass), ("visor", _visor), ("sun", _sun), ("lamp", _lamp)):
        if rng.random() < CHANCES[name]:
            bgr = np.clip(change(bgr, u, v, lamp, patch.head.state, rng), 0.0, 255.0)
    shown = bgr.astype(np.uint8)
    if rng.random() < CHANCES["camera"]:
        shown = camera_look(shown, rng)
    box = shaken(patch.box, rng)
    return shown, _loose(box, rng) if rng.random() < CHANCES["loose"] else box


def background(patch: Patch, rng: np.random.Generator) -> Box:
    """A box of the head's proportions beside the head."""
    u0, v0, u1, v1 = patch.box
    wide, high = u1 - u0, v1 - v0
    side = 1.0 if rng.random() < 0.5 else -1.0
    shift_u, shift_v = side * float(rng.uniform(1.1, 1.5)) * wide, float(rng.uniform(-0.3, 0.3)) * high
    return u0 + shift_u, v0 + shift_v, u1 + shift_u, v1 + shift_v


def _resized(patch: Patch, rng: np.random.Generator) -> Patch:
    high = patch.box[3] - patch.box[1]
    upper = min(high, HEAD_PX[1])
    wanted = float(np.exp(rng.uniform(np.log(min(HEAD_PX[0], upper)), np.log(upper))))
    wanted = upper if rng.random() < 0.4 else wanted
    height, width = patch.bgr.shape[:2]
    size = (max(round(width * wanted / high), 8), max(round(height * wanted / high), 8))
    bgr = np.asarray(cv2.resize(patch.bgr, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    by = np.array([size[0] / width, size[1] / height] * 2)
    u0, v0, u1, v1 = (np.array(patch.box) * by).tolist()
    return replace(patch, bgr=bgr, box=(u0, v0, u1, v1))


def _coordinates(patch: Patch) -> tuple[Pixels, Pixels]:
    """Each pixel's position across and along the head, [0, 1] inside its box."""
    rows, columns = np.mgrid[: patch.bgr.shape[0], : patch.bgr.shape[1]].astype(np.float32)
    u0, v0, u1, v1 = patch.box
    return (columns + 0.5 - u0) / (u1 - u0), (rows + 0.5 - v0) / (v1 - v0)


def _lamp_mask(bgr: Pixels, u: Pixels, v: Pixels, state: LightState) -> Pixels:
    """Share in [0, 1] of each pixel that is the lit lamp; zeros where none is lit."""
    if state not in LAMP_PLACES:
        return np.zeros(u.shape, np.float32)
    near = (np.abs(v - LAMP_PLACES[state]) < 0.19) & (u > 0.0) & (u < 1.0)
    chroma = (bgr.max(axis=2) - bgr.min(axis=2)) * near
    strongest = float(chroma.max())
    share = np.clip(2.0 * chroma / max(strongest, 1.0) - 0.8, 0.0, 1.0)
    return np.asarray(share if strongest > 40.0 else 0.0 * share, dtype=np.float32)


def _housing(bgr: Pixels, u: Pixels, v: Pixels, lamp: Pixels, state: LightState, rng: np.random.Generator) -> Pixels:
    """Another colour of the housing, darker inside the three visors."""
    inside = ((u > 0.0) & (u < 1.0) & (v > 0.0) & (v < 1.0)).astype(np.float32) * (1.0 - lamp)
    colour = np.array(HOUSINGS[int(rng.integers(len(HOUSINGS)))], np.float32) * float(rng.uniform(0.4, 1.2))
    hole = np.zeros_like(u)
    for place in LAMP_PLACES.values():
        hole = np.maximum(hole, ((u - 0.5) ** 2 / 0.12 + (v - place) ** 2 / 0.02 < 1.0).astype(np.float32))
    kept = inside * (1.0 - hole) * float(rng.uniform(0.6, 1.0))
    return np.asarray(bgr + kept[:, :, None] * (colour - 0.7 * bgr), dtype=np.float32)


def _glass(bgr: Pixels, u: Pixels, v: Pixels, lamp: Pixels, state: LightState, rng: np.random.Generator) -> Pixels:
    """Light reflected by the dark glasses, each in its colour."""
    out = bgr
    for other, place in LAMP_PLACES.items():
        if other is state:
            continue
        disc = np.exp(-((((u - 0.5) / 0.3) ** 2 + ((v - place) / 0.12) ** 2) ** 2)) * (1.0 - lamp)
        out = out + (disc * float(rng.uniform(0.0, 70.0)))[:, :, None] * np.array(GLOW[other], np.float32)
    return np.asarray(out, dtype=np.float32)


def _visor(bgr: Pixels, u: Pixels, v: Pixels, lamp: Pixels, state: LightState, rng: np.random.Generator) -> Pixels:
    """Visors that hide the upper part, or from the side one half, of every lamp."""
    depth = float(rng.uniform(0.2, 0.55))
    hidden = (3.0 * v) % 1.0 < depth if rng.random() < 0.5 else (u < depth if rng.random() < 0.5 else u > 1.0 - depth)
    inside = (u > 0.0) & (u < 1.0) & (v > 0.0) & (v < 1.0) & hidden
    return np.asarray(bgr * (1.0 - float(rng.uniform(0.5, 0.95)) * inside)[:, :, None], dtype=np.float32)


def _sun(bgr: Pixels, u: Pixels, v: Pixels, lamp: Pixels, state: LightState, rng: np.random.Generator) -> Pixels:
    """Warm light on a part of the head."""
    edge, width = float(rng.uniform(-0.2, 1.2)), float(rng.uniform(0.1, 0.6))
    along = v if rng.random() < 0.6 else u
    share = np.clip(1.0 - np.abs(along - edge) / width, 0.0, 1.0) * float(rng.uniform(0.1, 0.5))
    warm = np.array([255.0 * rng.uniform(0.5, 1.0), 255.0 * rng.uniform(0.75, 1.0), 255.0], np.float32)
    return np.asarray(bgr + share[:, :, None] * (warm - bgr), dtype=np.float32)


def _lamp(bgr: Pixels, u: Pixels, v: Pixels, lamp: Pixels, state: LightState, rng: np.random.Generator) -> Pixels:
    """An overexposed core, and a glow in the lamp's own colour around it."""
    if state not in LAMP_PLACES or not lamp.any():
        return bgr
    low, high = (np.array(colour, np.float32) for colour in OVEREXPOSED[state])
    colour = low + rng.random(3).astype(np.float32) * (high - low)
    share = lamp * float(rng.uniform(0.3, 1.0))
    bgr = bgr + share[:, :, None] * (colour - bgr)
    scale = 1.0 / max(float(np.gradient(v, axis=0).mean()), 1e-3)
    glow = cv2.GaussianBlur(lamp, (0, 0), max(float(rng.uniform(0.04, 0.2)) * scale, 0.3))
    strength = float(rng.uniform(0.0, 320.0))
    return np.asarray(bgr + strength * glow[:, :, None] * np.array(GLOW[state], np.float32), dtype=np.float32)


def camera_look(bgr: Image, rng: np.random.Generator) -> Image:
    """The picture with the image formation of another camera."""
    import torch

    from perception.detection.photometric_augmentation import augment_photometric

    rgb = torch.from_numpy(np.ascontiguousarray(bgr[:, :, ::-1])).permute(2, 0, 1)[None]
    with torch.inference_mode():
        changed = augment_photometric(rgb, rng, share=1.0).clamp(0.0, 255.0)[0]
    return np.ascontiguousarray(changed.to(torch.uint8).permute(1, 2, 0).numpy()[:, :, ::-1])


def _loose(box: Box, rng: np.random.Generator) -> Box:
    """A box that includes the mount: up to a fifth of the height above and below, half of the width at the sides."""
    u0, v0, u1, v1 = box
    wide, high = u1 - u0, v1 - v0
    more = rng.random(4) * rng.random(4) * np.array([0.6, 0.25, 0.6, 0.15])
    return u0 - more[0] * wide, v0 - more[1] * high, u1 + more[2] * wide, v1 + more[3] * high
