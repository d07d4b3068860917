"""Decides whether a detection may start a track: the detector's score minus the evidence against a road user.

The evidence is a penalty on the log odds of the score. So a detection with a high score starts a track in spite of a
small contradiction, and one with a low score does not. Only the start is checked: any detection that fits an existing
track extends it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from av_core.types import CameraModel, Float, Image, ObjectKind, RangedObject
from perception.depth.ranging import FLAT, OPAQUE
from perception.depth.view import Box, View
from perception.plausibility.standing import SLOPE_SIGMA, Ground, is_foot_covered, standing_error
from perception.plausibility.surface import (
    PICTURE_CONTRAST_MIN,
    cut_patches,
    one_tone_share,
    picture_contrast,
    side_contrast,
)

STANDING_FREE, STANDING_MAX = 0.5, 4.0
"""Standing errors up to `STANDING_FREE` standard deviations cost nothing; from `STANDING_MAX` on they cost no more,
since a road may rise more steeply than any assumption."""

STANDING_WEIGHT, PERSON_WEIGHT = 1.0, 1.5
"""Penalty per standard deviation, for vehicles and for people, whose heights differ less. Tuned with the thresholds
below on CARLA's pictures without Town02 and on own pictures: at most 1 % of the labelled vehicles may be lost."""

PLAIN_MIN, PLAIN_WEIGHT = 0.55, 20.0
"""Share of one tone (`one_tone_share`) above which a box may be empty road, and the penalty per unit above it.

None of CARLA's 347 vehicles of 40 px and more has more than 0.49, and of the own ones only one that is mostly hidden;
of 641 boxes placed on empty road 96 % have more than 0.55.
"""

BLEND_MAX, BLEND_WEIGHT = 0.4, 5.0
"""Colour contrast with the sides (`side_contrast`) below which a box may be part of a wall, a fence or a hedge, and the
penalty per unit below it."""

SURFACE_HEIGHT_MIN_PX, PLAIN_HEIGHT_MIN_PX = 10.0, 40.0
"""Minimum height of a box whose pixels are compared with those around it, and with the road."""

PITCH_SIGMA_MAX_RAD = np.radians(3.0)
"""Standard deviation of the camera's pitch from which the pose is not known well enough to compare sizes."""

COVER_SCORE = 0.5
"""Minimum score of a detection that counts as hiding others."""

SCORE_MAX = 1.0 - 1e-6


class Doubt(Enum):
    """The strongest evidence against a detection."""

    FLOATS = "it floats above the road at every distance that fits its size"
    SINKS = "it stands below the road at every distance that fits its size"
    PLAIN = "it is a plain surface that goes on beside it, like the road"
    BLENDS = "its colours go on beside it"


@dataclass(frozen=True, slots=True)
class Plausibility:
    """`probability` that a road user is there, at most the detector's score; `doubt` is None if nothing lowered it."""

    probability: float
    doubt: Doubt | None = None


@dataclass(slots=True)
class StartCheck:
    """Checks detections in one picture (H, W, 3) uint8 BGR; `ground` is None where the camera's pose is not known.

    `opaque` (N, 4) are the boxes of vehicles that may hide the foot of others.
    """

    bgr: Image
    ground: Ground | None
    opaque: Float = field(default_factory=lambda: np.zeros((0, 4)))
    _contrast: float | None = None

    def __call__(self, kind: ObjectKind, box: Box, score: float) -> Plausibility:
        """The plausibility of a road user of `kind` in `box`, which the detector gave `score`."""
        costs = {**self._standing(kind, box), **self._surface(kind, box)}
        doubt = max(costs, key=lambda one: costs[one], default=None)
        if doubt is None or costs[doubt] <= 0.0:
            return Plausibility(score)
        kept = min(score, SCORE_MAX)
        share = math.exp(-sum(costs.values()))
        return Plausibility(kept * share / (kept * share + 1.0 - kept), doubt)

    def probability(self, kind: ObjectKind, box: Box, score: float) -> float:
        """The probability alone, as the tracker needs it."""
        return self(kind, box, score).probability

    def _standing(self, kind: ObjectKind, box: Box) -> dict[Doubt, float]:
        if self.ground is None or self.ground.pitch_sigma_rad > PITCH_SIGMA_MAX_RAD:
            return {}
        if is_foot_covered(box, self.opaque):
            return {}
        error = standing_error(box, kind, self.ground)
        if error is None:
            return {}
        weight = PERSON_WEIGHT if kind is ObjectKind.PEDESTRIAN else STANDING_WEIGHT
        excess = max(min(abs(error), STANDING_MAX) - STANDING_FREE, 0.0)
        return {Doubt.FLOATS if error > 0.0 else Doubt.SINKS: weight * excess}

    def _surface(self, kind: ObjectKind, box: Box) -> dict[Doubt, float]:
        """The penalties by the pixels of the box; none for cycles and people.

        Cycles and people do not fill their boxes, so the surroundings are visible inside, and a comparison is useless.
        """
        high = box[3] - box[1]
        if kind not in OPAQUE or high < SURFACE_HEIGHT_MIN_PX or not self._has_contrast():
            return {}
        patches = cut_patches(self.bgr, box)
        if patches is None:
            return {}
        costs = {Doubt.BLENDS: BLEND_WEIGHT * max(BLEND_MAX - side_contrast(patches), 0.0)}
        if high >= PLAIN_HEIGHT_MIN_PX:
            costs[Doubt.PLAIN] = PLAIN_WEIGHT * max(one_tone_share(patches) - PLAIN_MIN, 0.0)
        return costs

    def _has_contrast(self) -> bool:
        if self._contrast is None:
            self._contrast = picture_contrast(self.bgr)
        return self._contrast >= PICTURE_CONTRAST_MIN


def start_check(
    bgr: Image,
    camera: CameraModel,
    pitch_sigma_rad: float,
    seen: Sequence[RangedObject],
    rises_m: Float = FLAT,
    slope_sigma: float = SLOPE_SIGMA,
) -> StartCheck:
    """The check of one picture for the tracker; arguments as for `range_objects`, `seen` are its results."""
    hiding = [thing.box_px for thing in seen if thing.kind in OPAQUE and thing.confidence >= COVER_SCORE]
    ground = Ground(View.of(camera), pitch_sigma_rad, rises_m, slope_sigma)
    return StartCheck(bgr, ground, np.array(hiding, dtype=np.float64).reshape(-1, 4))
