"""Labelled batches for fine-tuning: pictures of another renderer and, optionally, own pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from perception.detection.classes import CLASSES, STOP_SIGN, light_state
from perception.detection.mixed_loader import concatenated
from perception.detection.pasted_heads import HeadPaster
from perception.detection.photometric_augmentation import augment_photometric
from perception.detection.resident import may_be_mirrored, move_and_warp

Float = NDArray[np.float64]

SCALES = (0.6, 2.2)
"""Range of factors by which pictures are scaled."""

LIGHT_WEIGHT, LARGE_LIGHT_PX = 3.0, 20.0
"""A foreign picture with a signal head of at least `LARGE_LIGHT_PX` px is drawn `LIGHT_WEIGHT` times as often.

Such pictures are rare."""

VARIED_SHARE = 0.6
"""Fraction of pictures that get photometric changes."""

OWN_SHARE = 0.25
"""Fraction of own pictures in a batch, if there are any."""

LIGHTS = [number for number, name in enumerate(CLASSES) if light_state(name) is not None]

OTHERS = torch.tensor([light_state(name) is None for name in CLASSES])
"""Mask of the classes other than lights."""

SIGNS = torch.tensor([name == STOP_SIGN or name.startswith("speed limit") for name in CLASSES])
"""Mask of the classes of signs, which the foreign labels lack."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Labelled pictures: `rgb` (N, H, W, 3) uint8 on the training device, and for each picture its boxes.

    `boxes` are N arrays (n, 5): class or UNLEARNT, then u0, v0, u1, v1 in px.
    """

    rgb: torch.Tensor
    boxes: list[Float]


class ForeignBatches:
    """Draws training batches of foreign pictures; `paste` adds signal heads to them.

    With `own`, the fraction `OWN_SHARE` of each batch are own pictures. With `lights_only`, only lights are learnt from
    the foreign pictures. A batch has the format of `resident.augment`, with "unlabelled" in the format of
    `ignoring_loss`.
    """

    def __init__(
        self,
        foreign: Pictures,
        paste: HeadPaster | None = None,
        own: Pictures | None = None,
        lights_only: bool = False,
    ) -> None:
        self._foreign, self._paste, self._own = foreign, paste, own
        self._lights_only = lights_only
        weights = np.array([LIGHT_WEIGHT if _has_large_light(boxes) else 1.0 for boxes in foreign.boxes])
        self._weights = weights / weights.sum()

    def __call__(self, count: int, rng: np.random.Generator) -> dict[str, Any]:
        own_count = 0 if self._own is None else round(OWN_SHARE * count)
        numbers = rng.choice(len(self._weights), count - own_count, p=self._weights)
        batch = self._varied(self._foreign, numbers, np.full(len(numbers), True), rng)
        lacks = SIGNS
        if self._lights_only:
            batch, lacks = only_lights(batch), OTHERS
        if self._own is None:
            return {**batch, "unlabelled": lacks.to(batch["img"].device)}
        numbers = rng.choice(len(self._own.boxes), own_count)
        may_flip = may_be_mirrored([self._own.boxes[i] for i in numbers])
        return concatenated(self._varied(self._own, numbers, may_flip, rng), batch, lacks)

    def _varied(
        self, pictures: Pictures, numbers: NDArray[np.intp], may_flip: NDArray[np.bool_], rng: np.random.Generator
    ) -> dict[str, Any]:
        rgb = pictures.rgb[torch.from_numpy(numbers).to(pictures.rgb.device)].permute(0, 3, 1, 2)
        boxes = [pictures.boxes[i] for i in numbers]
        if self._paste is not None:
            rgb, boxes = self._paste(rgb, boxes, rng)
        moved, batch = move_and_warp(rgb, boxes, rng, SCALES, may_flip)
        return {**batch, "img": augment_photometric(moved, rng, VARIED_SHARE).clamp_(0.0, 255.0)}


def only_lights(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch with the labels of lights only; the loss must leave out the other classes."""
    is_light = torch.isin(batch["cls"][:, 0], torch.tensor(LIGHTS, device=batch["cls"].device))
    return {**batch, **{name: batch[name][is_light] for name in ("batch_idx", "cls", "bboxes")}}


def _has_large_light(boxes: Float) -> bool:
    lights = np.isin(boxes[:, 0], LIGHTS)
    return bool((lights & (boxes[:, 4] - boxes[:, 2] >= LARGE_LIGHT_PX)).any())
