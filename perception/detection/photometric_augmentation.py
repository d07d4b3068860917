"""Augments training pictures with the image formation of other cameras: exposure, bloom, tone curve, sharpness, JPEG.

A network that is trained on one renderer adapts to its tone curve, its clean edges and its lamps without glow. So each
picture gets random changes in the order of a camera's pipeline: light (exposure, white balance, bloom, vignette), then
tone curve, saturation and sharpness, then JPEG compression.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

Float = NDArray[np.float64]

AUGMENTED_SHARE = 0.7
"""Fraction of pictures that are changed."""

LINEAR_GAMMA = 2.2
"""Exponent from display values to linear light."""

BLOOM_SIGMAS_PX = (1.5, 4.0, 12.0)
"""Standard deviations of the glow around pixels that are brighter than white, px."""

JPEG_BLOCK = 8
JPEG_LUMA = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
"""Luma quantization table at quality 50 (ITU-T T.81, table K.1)."""

YCC = ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))
"""RGB to YCbCr: luma and two colour differences (JFIF 1.02)."""


def augment_photometric(
    pictures: torch.Tensor, rng: np.random.Generator, share: float = AUGMENTED_SHARE
) -> torch.Tensor:
    """Change the fraction `share` of pictures (N, 3, H, W) RGB, 0 to 255, with parameters drawn from `rng` for each.

    Returns float32, 0 to 255.
    """
    random = _RandomParameters(pictures, rng)
    plain = pictures.float()
    light = (plain.clamp(0.0, 255.0) / 255.0) ** LINEAR_GAMMA
    light = light * torch.exp2(random.normal(0.45)) * torch.exp(random.normal(0.06, channels=3))
    light = _vignette(_bloom(light, random), random)
    shown = _tone(light, random)
    grey = shown.mean(dim=1, keepdim=True)
    shown = grey + (shown - grey) * random.uniform(0.5, 1.3)
    shown = _sharpness(shown.clamp(0.0, 1.0), random)
    out = _jpeg(255.0 * shown.clamp(0.0, 1.0), random)
    return torch.where(random.chance(share), out, plain)


class _RandomParameters:
    """Random numbers (N, channels, 1, 1) float32, one set per picture, on the pictures' device."""

    def __init__(self, pictures: torch.Tensor, rng: np.random.Generator) -> None:
        self._count, self._device, self._rng = len(pictures), pictures.device, rng

    def _tensor(self, values: Float) -> torch.Tensor:
        return torch.from_numpy(values).to(self._device, torch.float32)

    def uniform(self, low: float, high: float, channels: int = 1) -> torch.Tensor:
        return self._tensor(self._rng.uniform(low, high, (self._count, channels, 1, 1)))

    def normal(self, sigma: float, channels: int = 1) -> torch.Tensor:
        values = self._rng.normal(0.0, sigma, (self._count, channels, 1, 1))
        return self._tensor(np.clip(values, -2.5 * sigma, 2.5 * sigma))

    def chance(self, share: float) -> torch.Tensor:
        return self.uniform(0.0, 1.0) < share


def _bloom(light: torch.Tensor, random: _RandomParameters) -> torch.Tensor:
    """Add glow around nearly saturated pixels; small coloured spots (lamps) also become paler."""
    spread = light.amax(dim=1, keepdim=True) - light.amin(dim=1, keepdim=True)
    source = light * (light.amax(dim=1, keepdim=True) > 0.75)
    lamps = source * spread
    lamps = (lamps - 2.0 * _blur(lamps, BLOOM_SIGMAS_PX[-1])).clamp(min=0.0) * random.uniform(0.0, 6.0)
    glow = torch.zeros_like(light)
    for sigma in BLOOM_SIGMAS_PX:
        glow = glow + _blur(0.1 * source + lamps, sigma) * random.uniform(0.0, 1.0)
    white = lamps.amax(dim=1, keepdim=True) * random.uniform(0.0, 0.4)
    return torch.where(random.chance(0.6), light + glow + lamps + white, light)


def _vignette(light: torch.Tensor, random: _RandomParameters) -> torch.Tensor:
    height, width = light.shape[2:]
    y = torch.linspace(-1.0, 1.0, height, device=light.device)[:, None]
    x = torch.linspace(-1.0, 1.0, width, device=light.device)[None, :]
    return light * (1.0 - random.uniform(0.0, 0.25) * (x**2 + y**2) / 2.0)


def _tone(light: torch.Tensor, random: _RandomParameters) -> torch.Tensor:
    """Linear light to display values: a power law, or a film-like curve with highlight roll-off (Narkowicz, 2015)."""
    power = light.clamp(0.0, 1.0) ** (1.0 / (LINEAR_GAMMA * torch.exp(random.normal(0.12))))
    bent = (light * (2.51 * light + 0.03)) / (light * (2.43 * light + 0.59) + 0.14)
    film = bent.clamp(0.0, 1.0) ** (1.0 / LINEAR_GAMMA)
    lift = random.uniform(-0.03, 0.06)
    return torch.where(random.chance(0.5), power, film) * (1.0 - lift) + lift


def _sharpness(shown: torch.Tensor, random: _RandomParameters) -> torch.Tensor:
    """Blur one third of the pictures and sharpen another third."""
    blurred = torch.where(random.chance(0.5), _blur(shown, 0.6), _blur(shown, 1.0))
    amount = torch.where(random.chance(0.5), -random.uniform(0.3, 1.0), random.uniform(0.0, 1.0))
    return torch.where(random.chance(0.67), shown + (shown - blurred) * amount, shown)


def _blur(pictures: torch.Tensor, sigma: float) -> torch.Tensor:
    """Gaussian blur; a wide blur is computed on a downscaled copy."""
    factor = max(int(sigma / 2.0), 1)
    small = torch.nn.functional.avg_pool2d(pictures, factor, ceil_mode=True) if factor > 1 else pictures
    reach = int(np.ceil(3.0 * sigma / factor))
    steps = torch.arange(-reach, reach + 1, device=pictures.device, dtype=torch.float32)
    kernel = torch.exp(-0.5 * (steps * factor / sigma) ** 2)
    kernel = (kernel / kernel.sum()).repeat(3, 1)
    for shape, pad in (((3, 1, 1, -1), (reach, reach, 0, 0)), ((3, 1, -1, 1), (0, 0, reach, reach))):
        padded = torch.nn.functional.pad(small, pad, mode="replicate")
        small = torch.nn.functional.conv2d(padded, kernel.reshape(shape), groups=3)
    if factor == 1:
        return small
    wide = torch.nn.functional.interpolate(small, scale_factor=factor, mode="bilinear", align_corners=False)
    return wide[:, :, : pictures.shape[2], : pictures.shape[3]]


def _jpeg(pictures: torch.Tensor, random: _RandomParameters) -> torch.Tensor:
    """Simulate JPEG compression at a quality of 40 to 95: 2 x 2 chroma subsampling and quantized 8 x 8 blocks."""
    quality = random.uniform(40.0, 95.0)
    scale = torch.where(quality < 50.0, 50.0 / quality, 2.0 - quality / 50.0)
    height, width = pictures.shape[2:]
    block = 2 * JPEG_BLOCK
    padded = torch.nn.functional.pad(pictures, (0, -width % block, 0, -height % block), mode="replicate")
    to_ycc = torch.tensor(YCC, device=pictures.device)
    ycc = torch.einsum("ij,njhw->nihw", to_ycc, padded)
    luma = _quantize(ycc[:, :1] - 128.0, scale) + 128.0
    colour = _quantize(torch.nn.functional.avg_pool2d(ycc[:, 1:], 2), 1.7 * scale)
    colour = torch.nn.functional.interpolate(colour, scale_factor=2.0, mode="bilinear", align_corners=False)
    back = torch.einsum("ij,njhw->nihw", torch.linalg.inv(to_ycc), torch.cat([luma, colour], dim=1))
    return torch.where(random.chance(0.6), back[:, :, :height, :width], pictures)


def _quantize(planes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Planes (N, C, H, W) whose 8 x 8 DCT coefficients are rounded to multiples of JPEG's table times `scale`."""
    n = JPEG_BLOCK
    k = torch.arange(n, device=planes.device, dtype=torch.float32)
    dct = torch.cos((2.0 * k[None, :] + 1.0) * k[:, None] * torch.pi / (2.0 * n)) * (2.0 / n) ** 0.5
    dct[0] /= 2.0**0.5
    count, channels, height, width = planes.shape
    blocks = planes.reshape(count, channels, height // n, n, width // n, n)
    spectrum = torch.einsum("ab,ncibjd,ed->nciaje", dct, blocks, dct)
    step = torch.tensor(JPEG_LUMA, device=planes.device, dtype=torch.float32)[:, None, :] * scale[..., None, None]
    step = step.clamp(min=1.0)
    rounded = torch.round(spectrum / step) * step
    return torch.einsum("ab,nciaje,ed->ncibjd", dct, rounded, dct).reshape(planes.shape)
