"""Fits the softmax regression of `perception/lights/lamp_states.py` for lamps whose head is not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from av_core.types import Image
from benchmarks.lamps.heads import Patch, size_group
from benchmarks.lamps.looks import LAMP_PLACES, camera_look
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import Box, softmax
from perception.lights.lamp_states import features
from perception.lights.lamps import Lamp, brightness, find_lamps
from perception.lights.matching import HEAD_SIZE_M

Float = NDArray[np.float64]

PLACE_SLACK = 0.19
"""Largest distance of a spot from the labelled lamp's place, as a fraction of the head's height; others are no lamp."""

LOOKS = 4
"""Looks of each patch; the first is the patch as it is."""

RIDGE = 1e-4


def fit_lamps(patches: Sequence[Patch], rng: np.random.Generator) -> Float:
    """Coefficients (4, features) of the regression, with equal prior probabilities; those of OFF, unused, are zero."""
    x, y, groups = [], [], []
    for patch in patches:
        state = patch.head.state
        if state not in LAMP_PLACES:
            continue
        for bgr in [patch.bgr, *(camera_look(patch.bgr, rng) for _ in range(LOOKS - 1))]:
            for lamp in _lamps(bgr, patch):
                x.append(features(lamp.appearance))
                y.append(LIGHT_STATES.index(state))
                groups.append(f"{patch.head.source} {size_group(patch.head)} {state.value}")
    count = Counter(groups)
    weight = np.array([count[group] ** -0.5 for group in groups])  # rare groups weigh more, but do not dominate
    return _regression(np.stack(x), np.array(y), weight)


def lamp_confusion(patches: Sequence[Patch]) -> dict[str, dict[str, int]]:
    """How often the shipped regression told each state from a head's lit lamp, by "source, true state"."""
    table: dict[str, Counter[str]] = {}
    for patch in patches:
        if patch.head.state in LAMP_PLACES:
            row = table.setdefault(f"{patch.head.source}, {patch.head.state.value}", Counter())
            row.update(lamp.state.value for lamp in _lamps(patch.bgr, patch))
    return {name: dict(sorted(table[name].items())) for name in sorted(table)}


def _lamps(bgr: Image, patch: Patch) -> tuple[Lamp, ...]:
    """The spots where the head's lit lamp is."""
    u0, v0, u1, v1 = patch.box
    lamp_v = v0 + LAMP_PLACES[patch.head.state] * (v1 - v0)
    slack = PLACE_SLACK * (v1 - v0)
    region: Box = (u0, lamp_v - slack, u1, lamp_v + slack)
    return find_lamps(bgr, region, max(u1 - u0, v1 - v0) / HEAD_SIZE_M, patch.mean_ratio * brightness(bgr))


def _regression(x: Float, y: NDArray[np.int64], weight: Float) -> Float:
    lit = len(LAMP_PLACES)
    weight = weight / np.bincount(y, weights=weight, minlength=lit)[y]
    weight /= weight.sum()
    truth = np.eye(lit)[y]

    def loss(flat: Float) -> tuple[float, Float]:
        w = flat.reshape(lit, -1)
        share = softmax(x @ w.T)
        value = -float(weight @ np.log((share * truth).sum(axis=1) + 1e-12)) + RIDGE * float((w[:, 1:] ** 2).sum())
        slope = (weight[:, None] * (share - truth)).T @ x
        slope[:, 1:] += 2.0 * RIDGE * w[:, 1:]
        return value, slope.ravel()

    best = minimize(loss, np.zeros(lit * x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.vstack([best.x.reshape(lit, -1), np.zeros((len(LIGHT_STATES) - lit, x.shape[1]))])
