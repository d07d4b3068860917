"""Fits the network of `perception/lights/head_states.py` and the temperature that calibrates it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from av_core.types import LightState
from benchmarks.lamps.heads import Patch, size_group, town
from benchmarks.lamps.looks import background, vary
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import HeadModel, features, head_raster, softmax

Float = NDArray[np.float64]

HIDDEN = 24
"""Units of the hidden layer."""

RIDGE = 3e-4
"""Weight of the squared coefficients in the loss."""

ITERATIONS = 400

VARIANTS = {"own": 10, "carla_unreal": 10}
"""Looks of each patch, by source; the first is the patch as it is."""

BACKGROUND_SHARE = 0.15
"""Probability that a patch adds a box without a head, which counts as off."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Features (N, F), indices of the true states (N,), weights (N,), and towns (N,) of heads."""

    x: Float
    y: NDArray[np.int64]
    weight: Float
    town: NDArray[np.str_]

    def select(self, rows: NDArray[np.bool_]) -> Samples:
        return Samples(self.x[rows], self.y[rows], self.weight[rows], self.town[rows])


def samples(patches: Sequence[Patch], rng: np.random.Generator) -> Samples:
    """Varied looks of the patches. Rare groups of source, size and state weigh more, but do not dominate."""
    x, y, groups, towns = [], [], [], []
    for patch in patches:
        looks = [(patch.bgr, patch.box)] + [vary(patch, rng) for _ in range(VARIANTS[patch.head.source] - 1)]
        told = [(bgr, box, patch.head.state) for bgr, box in looks]
        if rng.random() < BACKGROUND_SHARE:
            told.append((patch.bgr, background(patch, rng), LightState.OFF))
        for bgr, box, state in told:
            raster = head_raster(bgr, box)
            if raster is None:
                continue
            x.append(features(raster))
            y.append(LIGHT_STATES.index(state))
            groups.append(f"{patch.head.source} {size_group(patch.head)} {state.value}")
            towns.append(f"{patch.head.source} {town(patch.head)}")
    count = Counter(groups)
    weight = np.array([count[group] ** -0.5 for group in groups])
    return Samples(np.stack(x), np.array(y), weight, np.array(towns))


def fit(rows: Samples, rng: np.random.Generator) -> HeadModel:
    """Network with the least weighted cross entropy plus ridge penalty; its temperature is one."""
    scale = np.stack([rows.x.mean(axis=0), rows.x.std(axis=0) + 0.02])
    x = (rows.x - scale[0]) / scale[1]
    truth = np.eye(len(LIGHT_STATES))[rows.y]
    weight = rows.weight / rows.weight.sum()
    shapes = ((HIDDEN, x.shape[1] + 1), (len(LIGHT_STATES), HIDDEN + 1))
    cut = shapes[0][0] * shapes[0][1]

    def parts(flat: Float) -> tuple[Float, Float]:
        return flat[:cut].reshape(shapes[0]), flat[cut:].reshape(shapes[1])

    def loss(flat: Float) -> tuple[float, Float]:
        hidden, out = parts(flat)
        first = np.maximum(x @ hidden[:, :-1].T + hidden[:, -1], 0.0)
        share = softmax(first @ out[:, :-1].T + out[:, -1])
        value = -float(weight @ np.log((share * truth).sum(axis=1) + 1e-12))
        value += RIDGE * float((hidden[:, :-1] ** 2).sum() + (out[:, :-1] ** 2).sum())
        back = weight[:, None] * (share - truth)
        slope_out = np.column_stack([back.T @ first, back.sum(axis=0)])
        back_first = (back @ out[:, :-1]) * (first > 0.0)
        slope_hidden = np.column_stack([back_first.T @ x, back_first.sum(axis=0)])
        slope_hidden[:, :-1] += 2.0 * RIDGE * hidden[:, :-1]
        slope_out[:, :-1] += 2.0 * RIDGE * out[:, :-1]
        return value, np.concatenate([slope_hidden.ravel(), slope_out.ravel()])

    start = np.concatenate([rng.normal(0.0, (2.0 / shape[1]) ** 0.5, shape).ravel() for shape in shapes])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    hidden, out = parts(best.x)
    return HeadModel(scale, hidden, out)


def temperature(scores: Float, y: NDArray[np.int64]) -> float:
    """The temperature that makes the true states (N,) likeliest under scores (N, 4) of heads that no fit saw."""

    def loss(log_temperature: float) -> float:
        share = softmax(scores / np.exp(log_temperature))
        return -float(np.log(share[np.arange(len(y)), y] + 1e-12).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))


def calibrated(rows: Samples, rng: np.random.Generator) -> HeadModel:
    """A network fitted on all rows, with the temperature of networks that left out one town at a time."""
    scores, y = [], []
    for name in sorted(set(rows.town.tolist())):
        left_out = rows.town == name
        if left_out.all():
            continue
        scores.append(fit(rows.select(~left_out), rng).scores(rows.x[left_out]))
        y.append(rows.y[left_out])
    model = fit(rows, rng)
    return replace(model, temperature=temperature(np.concatenate(scores), np.concatenate(y))) if scores else model
