"""Simulates a detector's boxes to measure ranging and tracking: true boxes with noise, misses and false boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from av_core.types import CameraModel, Detection, Float
from perception.detection.labels import Label

WHITE_PX, SIDE_SHARE = 0.5, 0.015
"""Standard deviation of a box's edge: a constant part, px, and a part relative to the box's side."""

MEMORY_S = 0.4
"""Time constant of the slowly changing part of that error, s."""

MISSED, MISSED_LOW, LOW_PX = 0.03, 0.15, 16.0
"""Probability that a box is missing, and that of a box lower than `LOW_PX` px."""

MISSED_AGAIN = 0.5
"""Probability that a missing box is missing in the next picture too."""

MISNAMED, FALSE_BOXES = 0.01, 0.02
"""Probabilities of a wrong class, and of a false box in a picture."""

SIZE_MIN_PX = 1.5
"""Minimum width and height of a box, px."""

OTHER_NAME = {"car": "truck", "truck": "bus", "bus": "truck"}
"""Class that a misnamed box gets."""

NOBODY = -1
"""Actor id of a false box."""

BOX_NOISE = (
    f"the truth's boxes with seeded noise, no detector's: each edge off by {WHITE_PX} px + {100 * SIDE_SHARE:g} % of "
    f"the side (0.7 of it white, 0.7 of it with {MEMORY_S} s of memory; none at the picture's border), "
    f"{100 * MISSED:g} % missed ({100 * MISSED_LOW:g} % lower than {LOW_PX:g} px), in bursts of two, "
    f"{100 * MISNAMED:g} % of cars, trucks and buses misnamed, a false box in {100 * FALSE_BOXES:g} % of the pictures"
)
Box = tuple[float, float, float, float]


def box_px(label: Label) -> Box:
    """The true box (u0, v0, u1, v1) in px of the image frame, in which the centre of pixel i is at i."""
    u0, v0, u1, v1 = label.box_px
    return u0 - 0.5, v0 - 0.5, u1 - 0.5, v1 - 0.5


class NoisyBoxes:
    """Generates boxes with the errors that `BOX_NOISE` describes. Call `look` with the labels of each picture in order.

    The same `rng` gives the same boxes.
    """

    def __init__(self, rng: np.random.Generator, camera: CameraModel, step_s: float) -> None:
        self._rng, self._memory = rng, math.exp(-step_s / MEMORY_S)
        self._width, self._height = camera.width_px, camera.height_px
        self._drift: dict[int, Float] = {}
        self._missed: dict[int, bool] = {}

    def look(self, labels: Sequence[tuple[int, Label]]) -> list[tuple[int, Detection]]:
        """(actor id, detection) for each road user that counts and is found, and for each false box (`NOBODY`)."""
        found = [(actor, self._noisy_box(actor, label)) for actor, label in labels if label.counts]
        out = [(actor, detection) for actor, detection in found if detection is not None]
        if self._rng.random() < FALSE_BOXES:
            middle = self._height / 2
            u, v = self._rng.uniform(0.0, self._width - 40.0), self._rng.uniform(middle - 30.0, middle + 70.0)
            side = self._rng.uniform(10.0, 40.0)
            right = min(u + 1.3 * side, self._width - 1.0)
            out.append((NOBODY, Detection("car", (u, v, right, v + side), 0.3)))
        return out

    def _noisy_box(self, actor: int, label: Label) -> Detection | None:
        rng, true = self._rng, np.array(box_px(label))
        width, height = true[2] - true[0], true[3] - true[1]
        is_low = height < LOW_PX
        sigma = WHITE_PX + SIDE_SHARE * np.array([width, height, width, height])
        drift = self._drift.get(actor, rng.normal(size=4))
        fresh = math.sqrt(1.0 - self._memory**2) * rng.normal(size=4)
        drift = self._drift[actor] = self._memory * drift + fresh
        likely = MISSED_AGAIN if self._missed.get(actor, False) else 0.5 * (MISSED_LOW if is_low else MISSED)
        missed = self._missed[actor] = bool(rng.random() < likely)
        off = sigma * 0.7 * (rng.normal(size=4) + drift)
        right, low = self._width - 0.5, self._height - 0.5
        at_border = [true[0] <= 0.5, true[1] <= 0.5, true[2] >= right - 1.0, true[3] >= low - 1.0]
        box = np.clip(np.where(at_border, true, true + off), -0.5, [right, low, right, low])
        if missed or min(box[2] - box[0], box[3] - box[1]) < SIZE_MIN_PX:
            return None
        confidence = float(np.clip(rng.normal(0.8, 0.12) - (0.25 if is_low else 0.0), 0.16, 0.98))
        name = OTHER_NAME.get(label.name, label.name) if rng.random() < MISNAMED else label.name
        left, top, right, low = (float(edge) for edge in box)
        return Detection(name, (left, top, right, low), confidence)
