"""Changes the numbers on a map's speed limit signs, so that a detector learns to read them instead of their places."""

from __future__ import annotations

import re

import numpy as np

from perception.detection.classes import SPEED_LIMITS_KMH

_ELEMENT = re.compile(r"<(?:signal|object)\b[^>]*>")
_NAME = re.compile(r'(\bname="speed_)(\d+)"', re.IGNORECASE)
_NUMBERS = re.compile(r'(\b(?:value|subtype|text)=")([\d.]+(?:e[+-]?\d+)?)"')


def redraw_speed_limits(xodr: str, rng: np.random.Generator) -> str:
    """The OpenDRIVE text with a random number on every sign, from those that the detector knows.

    Signs are signals of type 274, and objects named Speed_30 as in CARLA's towns. The limits of roads and lanes stay.
    """

    def redrawn(element: re.Match[str]) -> str:
        text = element[0]
        sign = 'type="274"' in text
        if not sign and _NAME.search(text) is None:
            return text
        limit = int(rng.choice(SPEED_LIMITS_KMH))
        text = _NAME.sub(rf'\g<1>{limit}"', text)
        return _NUMBERS.sub(rf'\g<1>{limit}"', text) if sign else text

    return _ELEMENT.sub(redrawn, xodr)
