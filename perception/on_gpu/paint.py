"""Lane paint segmentation and Canny edges on torch tensors, bit-equal to `perception.lanes.segmentation` on the CPU."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from av_core.types import CameraModel
from cuda_ops.canny.op import canny
from perception.lanes.lines import CANNY_HIGH, CANNY_LOW
from perception.lanes.road_view import RoadView
from perception.lanes.segmentation import (
    DAYLIGHT,
    DIM_MIN,
    NOISE_CONTRAST_MAX,
    NOISE_FACTOR,
    SPECK_PX,
    WHITE_CONTRAST_MIN,
    YELLOW_CONTRAST_MIN,
    YELLOW_SHADE,
    columns_of,
)

Tensors = tuple[torch.Tensor, ...]


class PaintSteps:
    """Computes the lane paint of a picture (H, W, 3 or 4) uint8 BGR(A), for a `PaintMask`.

    Returns white and yellow paint (rows, width) bool, contrast uint8, Lab (rows, width, 3) uint8, the lane's lightness
    (rows,) float64, and the Canny edges of the contrast, uint8, from which line segments are found.

    Lab is read from a table of OpenCV's results for each of the 2^24 colours (64 MB on the device), so that it equals
    OpenCV's Lab exactly.
    """

    def __init__(self, camera: CameraModel, view: RoadView, device: str) -> None:
        self._view, self._halved = view, camera.width_px != view.camera.width_px
        columns = columns_of(view)
        sides = (columns.left, columns.right, columns.near_left, columns.near_right, columns.lane)
        self._left, self._right, self._near_left, self._near_right, self._lane = (
            torch.from_numpy(side).to(device) for side in sides
        )
        self._lab = torch.from_numpy(_lab_of_every_colour()).to(device)
        # A tensor: torch divides by a Python number by multiplying with its reciprocal, which can change the last bit.
        self._divisors = torch.tensor([DAYLIGHT, 2.0**0.5, 2.0**0.5], dtype=torch.float64, device=device)

    def __call__(self, picture: torch.Tensor) -> Tensors:
        lab = self._to_lab(picture)
        light, yellowness = lab[..., 0].int(), lab[..., 2].int()
        light_left, light_right = light.take(self._left), light.take(self._right)
        near = torch.maximum(light.take(self._near_left), light.take(self._near_right))
        white = light - torch.minimum(torch.maximum(light_left, light_right), near)
        yellow_right = yellowness.take(self._right)
        yellow = yellowness - torch.maximum(yellowness.take(self._left), yellow_right)
        white, yellow = white.clamp_min(0), yellow.clamp_min(0)
        white_min, yellow_min = self._thresholds(light, light_right, yellowness, yellow_right)
        is_yellow = (yellow >= yellow_min) & (torch.minimum(light_left, light_right) - light < YELLOW_SHADE)
        is_white = (white >= white_min) & ~is_yellow
        paint = _without_specks(is_white | is_yellow)
        contrast = (torch.maximum(white, yellow) * paint).to(torch.uint8)
        lane_light = light.take(self._lane).sort(dim=1).values[:, self._lane.shape[1] // 2].double()
        return is_white & paint, is_yellow & paint, contrast, lab, lane_light, canny(contrast, CANNY_LOW, CANNY_HIGH)

    def _thresholds(
        self, light: torch.Tensor, light_right: torch.Tensor, yellowness: torch.Tensor, yellow_right: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Minimum contrast of white and of yellow paint, float64, lower in dim light: `segmentation._threshold`."""
        parts = (light, (light - light_right).abs(), (yellowness - yellow_right).abs())
        middle = _median(torch.stack([part[::4, ::4].flatten() for part in parts]))
        dim = (middle[0] / self._divisors[0]).clamp(DIM_MIN, 1.0)
        noise = (NOISE_FACTOR * (1.4826 * middle[1:] / self._divisors[1:])).clamp_max(NOISE_CONTRAST_MAX)
        return torch.maximum(noise[0], WHITE_CONTRAST_MIN * dim), torch.maximum(noise[1], YELLOW_CONTRAST_MIN * dim)

    def _to_lab(self, picture: torch.Tensor) -> torch.Tensor:
        view = self._view
        if self._halved:
            height, width = view.camera.height_px, view.camera.width_px
            quarters = picture[..., :3].int().view(height, 2, width, 2, 3)
            picture = (quarters.sum(dim=(1, 3)) + 2) >> 2
        road = picture[view.top_px : view.bottom_px, :, :3].long()
        colour = road[..., 0] << 16 | road[..., 1] << 8 | road[..., 2]
        packed = self._lab.take(colour)
        return packed.view(torch.uint8).view(*packed.shape, 4)[..., :3].contiguous()


def fits(camera: CameraModel, view: RoadView) -> bool:
    """Whether the working picture has the size of the camera's picture or half of it; OpenCV handles other sizes."""
    sizes = {(view.camera.width_px * k, view.camera.height_px * k) for k in (1, 2)}
    return (camera.width_px, camera.height_px) in sizes


def _median(values: torch.Tensor) -> torch.Tensor:
    """Median of each row, (n, m) -> (n,) float64; if m is even, the mean of the two middle values."""
    ordered, count = values.sort(dim=1).values, values.shape[1]
    return (ordered[:, (count - 1) // 2] + ordered[:, count // 2]).double() / 2.0


def _without_specks(paint: torch.Tensor) -> torch.Tensor:
    share = torch.nn.functional.avg_pool2d(paint[None, None].float(), 3, 1, 1)[0, 0]
    return paint & (share * 9.0 > SPECK_PX - 0.5)


@cache
def _lab_of_every_colour() -> NDArray[np.int32]:
    """Lab of every colour: table (2^24,) int32 with L, a, b in the low three bytes, indexed by b << 16 | g << 8 | r."""
    out = np.zeros((256, 256, 256, 4), np.uint8)
    plane = np.zeros((256, 256, 3), np.uint8)
    plane[..., 1], plane[..., 2] = np.arange(256)[:, None], np.arange(256)[None, :]
    for blue in range(256):
        plane[..., 0] = blue
        out[blue, ..., :3] = cv2.cvtColor(plane, cv2.COLOR_BGR2LAB)
    return out.view("<i4").reshape(-1)
