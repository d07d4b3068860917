"""Classifies a traffic light's state from a lit lamp without a detected head: softmax regression on colour and glow.

One colour threshold does not fit two renderers. In CARLA a near red lamp is an orange disc in a red glow, with a
green/red ratio of 0.8; a yellow lamp of the embedded server has 0.55 by night. So the model also uses the colour of the
glow around the lamp and the picture's darkness. Red and yellow remain hard to distinguish; if a head is detected,
`head_states.py` uses the lamp's position in it. The coefficients are fitted by `python -m benchmarks.lamps` on pictures
of both renderers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from av_core.types import LightState
from perception.detection.classes import LIGHT_STATES

Float = NDArray[np.float64]

COEFFICIENTS = Path(__file__).parents[1] / "weights" / "lamp_states.json"
COLOUR_NOISE = 8.0
"""Grey levels that are added to a channel before ratios are computed, so that dark spots have ratios near one."""

RATIO_MAX = 2.0
"""Maximum magnitude of a log ratio."""


@dataclass(frozen=True, slots=True)
class LampAppearance:
    """Measured appearance of a bright spot, the input of the state classifier.

    * `core`, `glow` (3,): light of the spot and of the ring around it, B, G, R, in grey levels above the surroundings.
    * `level`: the spot's brightest channel, 0 to 1.
    * `darkness`: that of the picture, 0 to 1; in dark pictures lamps saturate.
    """

    core: Float
    glow: Float
    level: float
    darkness: float = 0.0


def state_probabilities(appearance: LampAppearance) -> Float:
    """Probabilities (4,) of `LIGHT_STATES`; that of OFF is zero, because the lamp is lit."""
    score = _model() @ features(appearance)
    score[LIGHT_STATES.index(LightState.OFF)] = -np.inf
    share = np.exp(score - score.max())
    return np.asarray(share / share.sum(), dtype=np.float64)


def features(appearance: LampAppearance) -> Float:
    """Feature vector of the regression, each feature of magnitude about 1. Log ratios do not depend on exposure."""
    blue, green, red = np.maximum(appearance.core, 0.0) + COLOUR_NOISE
    _, glow_green, glow_red = np.maximum(appearance.glow, 0.0) + COLOUR_NOISE
    hue = _log_ratio(green, red)
    glow_hue = _log_ratio(glow_green, glow_red)
    white = _log_ratio(blue, max(green, red))
    has_glow = float(np.clip(max(appearance.glow[1], appearance.glow[2]) / 40.0, 0.0, 1.0))
    out = [1.0, hue, hue**2, has_glow, has_glow * glow_hue, has_glow * glow_hue**2, has_glow * hue]
    out += [white, appearance.level, appearance.level * hue]
    out += [appearance.darkness, appearance.darkness * hue, appearance.darkness * has_glow * glow_hue]
    return np.array(out)


def _log_ratio(one: float, other: float) -> float:
    return float(np.clip(np.log(one / other), -RATIO_MAX, RATIO_MAX))


@lru_cache(maxsize=1)
def _model() -> Float:
    """Coefficients (4, features)."""
    return np.array(json.loads(COEFFICIENTS.read_text())["post"], dtype=np.float64)
