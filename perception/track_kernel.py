"""What a look changes in its track beside motion, and turns into the map frame, as machine code."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from av_stack.types import Float
from perception.compiled import compiled, inner

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

SIZE_GAIN = 0.1
CONFIDENCE_GAIN = 0.3
STEADY_VELOCITY_MPS = 0.4
"""What a vehicle's velocity is wrong by for seconds: it turns, wheels and reflections move otherwise than its body."""

BOX_CORRELATION = 4.0
"""A detector is wrong about a box in neighbouring pictures alike: that many of them tell one new thing."""


@inner
def put_turned(out: Float, matrix: Float, c: float, s: float, times: float) -> None:
    """`out` = R `matrix` R^T `times`, all (2, 2), where R turns by the angle of cosine `c` and sine `s`."""
    a, b, d = matrix[0, 0] * times, matrix[0, 1] * times, matrix[1, 1] * times
    out[0, 0] = c * c * a - 2.0 * c * s * b + s * s * d
    out[1, 1] = s * s * a + 2.0 * c * s * b + c * c * d
    out[0, 1] = out[1, 0] = c * s * (a - d) + (c * c - s * s) * b


@compiled("void(float64, float64[:, :], float64[:], float64[:, :, :], boolean[:], float64[:, :, :], float64[:, :, :])")
def turn_looks(
    turn_rad: float, off_m: Float, yaw_rad: Float, steady_m2: Float, is_split: Flags, spread_m2: Float, noise_m2: Float
) -> None:
    """Turn places (N, 2), headings and covariances (N, 2, 2) from the vehicle frame to the map's; `steady_m2` stays and
    goes to `spread_m2`. Only what is new in each picture averages out, and only that blurs velocities."""
    c, s = math.cos(turn_rad), math.sin(turn_rad)
    for n in range(len(off_m)):
        x, y = off_m[n, 0], off_m[n, 1]
        off_m[n, 0], off_m[n, 1] = c * x - s * y, s * x + c * y
        yaw_rad[n] += turn_rad
        put_turned(spread_m2[n], steady_m2[n], c, s, 1.0)
        put_turned(noise_m2[n], noise_m2[n], c, s, BOX_CORRELATION if is_split[n] else 1.0)


@compiled(
    "void(float64[:, :], int64[:], int64[:], float64[:, :], float64[:, :], float64[:], float64[:], float64[:], "
    "int64[:], int64[:], float64[:], float64[:, :], float64[:])"
)
def recount(
    votes: Float,
    kinds: Numbers,
    seen_kinds: Numbers,
    sizes_m: Float,
    states: Float,
    yaw_rad: Float,
    confidence: Float,
    unseen_s: Float,
    hits: Numbers,
    look_kinds: Numbers,
    look_confidence: Float,
    look_sizes_m: Float,
    heading_min_mps: Float,
) -> None:
    """Change the tracks' kinds, sizes, headings, confidences and hits by the looks of their rows.

    `heading_min_mps` is each kind's speed from which its motion tells its heading.
    """
    for n in range(len(kinds)):
        seen = look_kinds[n]
        votes[n, seen] += look_confidence[n]
        best = int(votes[n].argmax())
        kind = best if votes[n, best] > votes[n, kinds[n]] else kinds[n]
        is_same = seen == kind and seen_kinds[n] == kind
        for i in range(3):
            gain = SIZE_GAIN if is_same else 1.0
            sizes_m[n, i] += gain * (look_sizes_m[n, i] - sizes_m[n, i])
        vx, vy = states[n, 2], states[n, 3]
        if math.hypot(vx, vy) >= heading_min_mps[kind]:
            yaw_rad[n] = math.atan2(vy, vx)
        if unseen_s[n] > 0.0:  # no other camera has seen it in this instant
            gained = confidence[n] + CONFIDENCE_GAIN * (1.0 - confidence[n]) * look_confidence[n]
            confidence[n] = min(gained, 1.0)
            hits[n] += 1
        kinds[n], seen_kinds[n] = kind, seen


@compiled("float64[:, :, :](float64, float64[:, :, :], float64[:, :, :], boolean[:], int64[:], boolean[:])")
def with_steady_error(
    turn_rad: float, covariances: Float, steady_m2: Float, is_split: Flags, kinds: Numbers, is_walker: Flags
) -> Float:
    """Covariances (N, 4, 4) of places and velocities, with what does not average out back in them."""
    out, turned = np.empty((len(covariances), 4, 4)), np.empty((2, 2))
    c, s = math.cos(turn_rad), math.sin(turn_rad)
    for n in range(len(covariances)):
        out[n] = covariances[n, :4, :4]
        if is_split[n]:
            put_turned(turned, steady_m2[n], c, s, 1.0)
            out[n, :2, :2] += turned
            if not is_walker[kinds[n]]:
                out[n, 2, 2] += STEADY_VELOCITY_MPS**2
                out[n, 3, 3] += STEADY_VELOCITY_MPS**2
    return out
