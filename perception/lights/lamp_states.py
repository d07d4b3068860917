"""Classifies a traffic light's state from its lit lamp: softmax regression on colour, glow, size and position.

One colour threshold does not fit two renderers. A near red lamp of CARLA's is an orange disc in a red glow, with a
green/red ratio of 0.8; a yellow lamp of the embedded server has 0.55 by night. So the model also uses the colour of the
glow around the lamp, its brightness relative to the picture, and its position in the head. The coefficients are fitted
by `python -m benchmarks.lamps` on pictures of both renderers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
"""Grey levels added to a channel before ratios are computed, so that dark spots give ratios near one."""

RATIO_MAX = 2.0
"""Maximum magnitude of a log ratio."""

LAMP_EDGES, EDGE_WIDTH = (0.36, 0.63), 0.07
"""Boundaries along a head between red and yellow, and yellow and green lamps, and the width of the soft transition.

The transition is soft because boxes of the embedded server's heads are tight, while CARLA's include the mount above."""


@dataclass(frozen=True, slots=True)
class LampAppearance:
    """Measured appearance of a bright spot, the input of the state classifier.

    `core` and `glow` (3,) are the light of the spot and of the ring around it, in grey levels above the surroundings
    (B, G, R). `level` in [0, 1] is the spot's brightest channel, `over_mean` that level relative to the picture's mean
    brightness. `purity` is the coloured share of the light, `size` the spot's diameter relative to a lamp's, `strength`
    its coloured light relative to the strongest spot nearby. `darkness` in [0, 1] is the picture's: by night lamps
    saturate. `place` is the lamp's position along the head in [0, 1] from its red end, None where no head is known.
    """

    core: Float
    glow: Float
    level: float
    over_mean: float
    purity: float
    size: float
    strength: float = 1.0
    darkness: float = 0.0
    place: float | None = None


def state_probabilities(appearance: LampAppearance) -> Float:
    """Probabilities (4,) of `LIGHT_STATES`. OFF means no lit lamp; it is excluded where no head is known."""
    model = _models()["post" if appearance.place is None else "head"]
    score = model @ features(appearance)
    if appearance.place is None:
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
    if appearance.place is not None:
        past_red, past_yellow = (np.tanh((appearance.place - edge) / EDGE_WIDTH) for edge in LAMP_EDGES)
        lit = float(np.clip(np.log(max(appearance.over_mean, 0.1)), -2.0, 2.0))
        size = float(np.clip(np.log(max(appearance.size, 0.05)), -2.0, 2.0))
        out += [float(past_red), float(past_yellow), lit, appearance.purity, size, size**2, appearance.strength]
    return np.array(out)


def _log_ratio(one: float, other: float) -> float:
    return float(np.clip(np.log(one / other), -RATIO_MAX, RATIO_MAX))


@lru_cache(maxsize=1)
def _models() -> Mapping[str, Float]:
    """Coefficients (4, features) for lamps in a detected head ("head") and for lamps over a post ("post")."""
    table = json.loads(COEFFICIENTS.read_text())
    return {name: np.array(table[name], dtype=np.float64) for name in ("head", "post")}
