"""Lights and signs that pictures label: which actors, and how large."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from av_stack.types import Float
from perception.detection.classes import STOP_SIGN, speed_limit_class

SIGN_COLUMN_M = (0.6, 0.6, 2.0)
SIGN_FOOT_M = 1.2
SIGN_FACE_M = 0.6  # side of the square that holds as much as a stop sign's or speed limit's face seen a little askew
TAG_LIGHT, TAG_SIGN = 7, 8
FACING_COS_MIN = 0.35
"""Lamps and faces of signs are seen from within 70 degrees of where they look."""


def is_labelled(type_id: str) -> bool:
    """Whether pictures label an actor of this type that is no road user."""
    return type_id == "traffic.traffic_light" or sign_class(type_id) is not None


def sign_class(type_id: str) -> str | None:
    """The detector's class of a sign by its actor's type; None for what is none of its signs."""
    if type_id == "traffic.stop":
        return STOP_SIGN
    kind, _, value = type_id.rpartition(".")
    return speed_limit_class(float(value)) if kind == "traffic.speed_limit" else None


def looks_at(at: NDArray[np.float64], face: Float, eye: NDArray[np.float64]) -> bool:
    """Whether a face at `at` that looks along `face` is seen from `eye`; all (2,), m."""
    to_eye = eye - at
    distance = float(np.hypot(*to_eye))
    return distance > 0.0 and float(face @ to_eye) >= FACING_COS_MIN * distance * float(np.hypot(*face))
