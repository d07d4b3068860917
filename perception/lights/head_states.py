"""Classifies the state of a traffic light from the picture in its signal head's box.

The head is resampled, upright, to a small raster, and the raster is divided into bins along the head. In each bin the
light above the level of the head's dark parts is measured by hue. So the features say where along the head something is
lit and in which colour. A network with one hidden layer turns them into probabilities. Its coefficients are fitted by
`python -m benchmarks.lamps` on pictures of two renderers, and its temperature calibrates the probabilities (Guo et al.,
"On Calibration of Modern Neural Networks", 2017).

Position matters more than colour: in CARLA a near red lamp is an orange disc in a red glow.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Image, LightState
from perception.detection.classes import LIGHT_STATES

Float = NDArray[np.float64]
Box = tuple[float, float, float, float]

COEFFICIENTS = Path(__file__).parents[1] / "weights" / "head_states.json"

MARGIN = 0.125
"""Margin of the raster around the box, as a fraction of the box's height and width."""

BINS, BIN_ROWS, COLUMNS = 10, 4, 12
"""Bins along the head, margins included; rows of a bin; columns of the raster."""

BRIGHTEST = 12
"""The value of a bin for a hue is the mean of its brightest pixels: this many of 48."""

DARK_PERCENTILE = 20
"""Percentile of the raster's pixels, per channel, that is the level of the head's dark parts and of the haze."""

NOISE = 8.0
"""Grey levels added before values are divided by the strongest one, so that noise is not amplified."""

COLOUR_FEATURE = 4 * BINS
"""Index of the feature that holds the strongest colour."""

LEVEL = 64.0
"""Scale of the features of absolute brightness, grey levels."""

COLOUR_MIN = 4.0
"""Minimum coloured light in a head, grey levels; a head with less, as in dense fog, is not read."""

SIDE_WEIGHT = 0.5
"""Weight of the raster's outermost columns, which partly show the background; middle columns have weight 1."""

SIDE_MIN_PX = 1.0
"""Minimum width and height of a box that can be read."""

BOX_MAX_PX = 1e5
"""Maximum magnitude of a box's edges; boxes beyond it, or with NaN, are not read."""

HEAD_ASPECT = 2.2
"""Height of a head divided by its width; completes a head that the upper edge of the picture cuts."""

OFF = LIGHT_STATES.index(LightState.OFF)


@dataclass(frozen=True, slots=True)
class HeadModel:
    """A network with one hidden layer of rectified linear units.

    * `scale` (2, F): mean and standard deviation of the features.
    * `hidden` (H, F + 1), `out` (4, H + 1): weights of the two layers, each row with its bias last.
    * `temperature`: divides the scores.
    """

    scale: Float
    hidden: Float
    out: Float
    temperature: float = 1.0

    def scores(self, x: Float) -> Float:
        """Scores (N, 4) of features (N, F), before the temperature."""
        first = ((x - self.scale[0]) / self.scale[1]) @ self.hidden[:, :-1].T + self.hidden[:, -1]
        return np.asarray(np.maximum(first, 0.0) @ self.out[:, :-1].T + self.out[:, -1], dtype=np.float64)

    def probabilities(self, x: Float) -> Float:
        """Probabilities (N, 4) of `LIGHT_STATES` from features (N, F)."""
        return softmax(self.scores(x) / self.temperature)


def softmax(scores: Float) -> Float:
    """Probabilities (N, K) from scores (N, K)."""
    share = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True), dtype=np.float64)


def head_probabilities(bgr: Image, box_px: Box, model: HeadModel | None = None) -> Float | None:
    """Probabilities (4,) of `LIGHT_STATES` for the head in `box_px` (u0, v0, u1, v1; px).

    A box that is wider than high is a horizontal head with red at its left end. None if the box is too small, outside
    the picture, or has less coloured light than `COLOUR_MIN`. `model` replaces the shipped coefficients.
    """
    raster = head_raster(bgr, whole_box(box_px))
    if raster is None:
        return None
    x = features(raster)
    if LEVEL * np.exp(x[COLOUR_FEATURE]) - NOISE < COLOUR_MIN:
        return None
    return np.asarray((model or shipped_model()).probabilities(x[None])[0], dtype=np.float64)


def whole_box(box_px: Box) -> Box:
    """The box of the whole head: a box that is cut by the upper edge of the picture is extended upwards."""
    u0, v0, u1, v1 = box_px
    return (u0, min(v0, v1 - HEAD_ASPECT * (u1 - u0)), u1, v1) if is_cut(box_px) else box_px


def is_cut(box_px: Box) -> bool:
    """Whether the head is cut by the upper edge of the picture; its red lamp may be outside then."""
    u0, v0, u1, v1 = box_px
    return v0 <= 1.0 and v1 - v0 < HEAD_ASPECT * (u1 - u0)


def head_raster(bgr: Image, box_px: Box) -> NDArray[np.float32] | None:
    """The head resampled to a raster (BINS * BIN_ROWS, COLUMNS, 3) float32, red end first; None if it has no pixels.

    Outside the picture the pixels of its edge are repeated.
    """
    if not bgr.size or not all(abs(edge) < BOX_MAX_PX for edge in box_px):
        return None
    u0, v0, u1, v1 = box_px
    wide, high = u1 - u0, v1 - v0
    height, width = bgr.shape[:2]
    if min(wide, high) < SIDE_MIN_PX or u0 >= width or v0 >= height or u1 <= 0.0 or v1 <= 0.0:
        return None
    is_upright = high >= wide
    rows, columns = (BINS * BIN_ROWS, COLUMNS) if is_upright else (COLUMNS, BINS * BIN_ROWS)
    left, top = u0 - MARGIN * wide, v0 - MARGIN * high
    step_u, step_v = (1.0 + 2.0 * MARGIN) * wide / columns, (1.0 + 2.0 * MARGIN) * high / rows
    # Large heads are first downscaled by whole factors, because bilinear sampling would skip pixels.
    by_u, by_v = max(int(step_u), 1), max(int(step_v), 1)
    if by_u > 1 or by_v > 1:
        first_u, first_v = max(int(left) - by_u, 0), max(int(top) - by_v, 0)
        part = bgr[first_v : int(v1 + MARGIN * high) + 2 * by_v, first_u : int(u1 + MARGIN * wide) + 2 * by_u]
        size = (max(part.shape[1] // by_u, 1), max(part.shape[0] // by_v, 1))
        bgr = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        shrink_u, shrink_v = part.shape[1] / size[0], part.shape[0] / size[1]
        left, top = (left - first_u) / shrink_u, (top - first_v) / shrink_v
        step_u, step_v = step_u / shrink_u, step_v / shrink_v
    to_picture = np.array([[step_u, 0.0, left + 0.5 * step_u - 0.5], [0.0, step_v, top + 0.5 * step_v - 0.5]])
    raster = cv2.warpAffine(
        bgr, to_picture, (columns, rows), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE
    )
    upright = raster if is_upright else raster.transpose(1, 0, 2)
    return np.asarray(upright, dtype=np.float32)


def features(raster: NDArray[np.float32]) -> Float:
    """Features (F,): red, yellow, green and brightness of each bin relative to the strongest bin, and three levels."""
    pixels = raster.reshape(-1, 3)
    dark = np.partition(pixels, len(pixels) * DARK_PERCENTILE // 100, axis=0)[len(pixels) * DARK_PERCENTILE // 100]
    blue, green, red = np.maximum(raster - dark, 0.0).transpose(2, 0, 1)
    hues = np.stack(
        [
            red - np.maximum(green, blue),
            np.minimum(red, green) - blue,
            np.minimum(green - red, 2.0 * (1.1 * green - blue)),
            np.maximum(np.maximum(red, green), blue),
        ]
    )
    binned = (np.maximum(hues, 0.0) * _COLUMN_WEIGHTS).reshape(4, BINS, -1)
    brightest = np.partition(binned, binned.shape[2] - BRIGHTEST, axis=2)[:, :, -BRIGHTEST:].mean(axis=2)
    colour, light = float(brightest[:3].max()), float(brightest[3].max())
    levels = np.log((np.array([colour, light, dark.max()]) + NOISE) / LEVEL)
    parts = [brightest[:3].ravel() / (colour + NOISE), brightest[3] / (light + NOISE), levels]
    return np.asarray(np.concatenate(parts), dtype=np.float64)


_ACROSS = np.linspace(-1.0, 1.0, COLUMNS)
_COLUMN_WEIGHTS = (1.0 - (1.0 - SIDE_WEIGHT) * _ACROSS**2).astype(np.float32)


@lru_cache(maxsize=1)
def shipped_model() -> HeadModel:
    """The fitted coefficients that ship with the project."""
    return load_model(COEFFICIENTS)


def load_model(path: Path) -> HeadModel:
    """Read the coefficients that `save_model` wrote."""
    table = json.loads(path.read_text())
    scale, hidden, out = (np.array(table[name], dtype=np.float64) for name in ("scale", "hidden", "out"))
    return HeadModel(scale, hidden, out, float(table["temperature"]))


def save_model(model: HeadModel, path: Path, note: dict[str, object]) -> None:
    """Write the coefficients as JSON; `note` says what they were fitted on."""
    table: dict[str, object] = {"states": [state.value for state in LIGHT_STATES], **note}
    table["temperature"] = round(model.temperature, 4)
    table |= {name: np.round(getattr(model, name), 4).tolist() for name in ("scale", "hidden", "out")}
    path.write_text(json.dumps(table) + "\n")
