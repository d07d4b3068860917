"""Augments training pictures more strongly than `resident.augment`, so that a detector depends less on the renderer.

Our renderer's surfaces are plain, and its vehicles are rarely as near as in other pictures. So pictures are enlarged
further, random textures cover parts of them, and most get the image formation of another camera
(`photometric_augmentation`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from perception.detection.photometric_augmentation import augment_photometric
from perception.detection.resident import may_be_mirrored, move_and_warp, recolour

Float = NDArray[np.float64]

SCALES = (0.55, 2.4)
"""Range of the scale factor; at the upper end the picture's border cuts most near vehicles."""

OTHER_CAMERA_SHARE = 0.6
"""Fraction of pictures with another camera's image formation; the others only change in exposure and colour."""

TEXTURED_SHARE = 0.4
"""Fraction of pictures that are partly covered by textures."""

GRAINS_PX = (1, 2, 4, 8, 16, 32)
"""Sizes of a texture's grains, px; each texture is a random mixture of them."""

PATCH_PX = 64
"""Size of the patches to which a texture is confined, px."""

CONTRAST_MAX = 0.25
"""Largest standard deviation of a texture's logarithmic brightness."""


def augment_varied(pictures: torch.Tensor, boxes: list[Float], rng: np.random.Generator) -> dict[str, Any]:
    """Augment pictures (N, 3, H, W) uint8 and their boxes; the result has the format of `resident.augment`."""
    moved, batch = move_and_warp(pictures, boxes, rng, SCALES, may_be_mirrored(boxes))
    out = torch.where(_drawn(len(boxes), TEXTURED_SHARE, rng, moved.device), textured(moved, rng), moved)
    chosen = rng.uniform(size=len(boxes)) < OTHER_CAMERA_SHARE
    for vary, which in ((augment_as_other_camera, chosen), (recolour, ~chosen)):
        if which.any():
            numbers = torch.from_numpy(np.flatnonzero(which)).to(moved.device)
            out[numbers] = vary(out[numbers], rng)
    return {"img": out.clamp_(0.0, 255.0).to(torch.uint8), **batch}


def augment_as_other_camera(pictures: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Give every picture the image formation of another camera."""
    return augment_photometric(pictures, rng, share=1.0)


def textured(pictures: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Multiply parts of pictures (N, 3, H, W) by random grey textures, which do not change hues of lamps."""
    count, _, height, width = pictures.shape
    device = pictures.device
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))

    def noise(grain_px: int) -> torch.Tensor:
        shape = (count, 1, -(-height // grain_px) + 1, -(-width // grain_px) + 1)
        rough = torch.randn(shape, device=device, generator=generator)
        if grain_px == 1:
            return rough[:, :, :height, :width]
        return torch.nn.functional.interpolate(rough, size=(height, width), mode="bilinear", align_corners=False)

    weights = rng.dirichlet(np.full(len(GRAINS_PX), 0.5), count) ** 0.5
    texture = torch.zeros((count, 1, height, width), device=device)
    for grain_px, weight in zip(GRAINS_PX, weights.T, strict=True):
        texture += _column(weight, device) * noise(grain_px)
    threshold = _column(rng.uniform(-1.0, 1.0, count), device)
    contrast = _column(rng.uniform(0.0, CONTRAST_MAX, count), device)
    return pictures * torch.exp(contrast * texture * (noise(PATCH_PX) > threshold))


def _drawn(count: int, share: float, rng: np.random.Generator, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(rng.uniform(size=(count, 1, 1, 1)) < share).to(device)


def _column(values: Float, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(values).to(device, torch.float32)[:, None, None, None]
