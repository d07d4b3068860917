"""Traffic lights and signs in labelled pictures: which actors are labelled, and their sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float
from perception.detection.classes import STOP_SIGN, speed_limit_class

SIGN_COLUMN_M = (0.6, 0.6, 2.0)
"""Half the sizes of the box around a sign (x, y, z)."""

SIGN_FOOT_M = 1.2
"""Height of the foot of that box above the sign's actor."""

# side of the square with the area of a stop sign's or speed limit's face, seen slightly from the side
SIGN_FACE_M = 0.6
TAG_LIGHT, TAG_SIGN = 7, 8
"""Semantic tags of CARLA."""

FACING_COS_MIN = 0.35
"""Lamps and sign faces are visible from within 70 degrees of the direction they face."""


def is_labelled(type_id: str) -> bool:
    """Whether an actor of this type, other than a road user, is labelled in pictures."""
    return type_id == "traffic.traffic_light" or sign_class(type_id) is not None


def sign_class(type_id: str) -> str | None:
    """The detector's class of a sign, by its actor's type; None for other actors and signs."""
    if type_id == "traffic.stop":
        return STOP_SIGN
    kind, _, value = type_id.rpartition(".")
    return speed_limit_class(float(value)) if kind == "traffic.speed_limit" else None


def looks_at(at: NDArray[np.float64], face: Float, eye: NDArray[np.float64]) -> bool:
    """Whether a face at `at` that faces in the direction `face` is visible from `eye`; all (2,), m."""
    to_eye = eye - at
    distance = float(np.hypot(*to_eye))
    return distance > 0.0 and float(face @ to_eye) >= FACING_COS_MIN * distance * float(np.hypot(*face))
