"""Finds each light of the map in one picture: matches detected heads to lights, and reads their lit lamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from av_core.frames import vehicle_to_image
from av_core.types import CameraImage, CameraModel, Detection
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import OFF, Box, head_probabilities
from perception.lights.lamps import Lamp, brightness, find_lamps
from perception.lights.map_lights import LightPlace, focal_px

Float = NDArray[np.float64]

HEAD_HEIGHT_M, HEAD_HEIGHT_SIGMA_M = 3.6, 1.2
"""Mean and standard deviation of a head's height above the road, m; heads are low on a post or high on an arm."""

POST_SIGMA_M = 1.0
"""Standard deviation, m, of a head's horizontal offset from the map's post; includes the ego's position error."""

HEADING_SIGMA_RAD = 0.01
"""Standard deviation of the ego's heading, rad."""

PIXEL_SIGMA = 3.0
"""Standard deviation of a detected position, px."""

HEAD_SIZE_M, SIZE_FACTOR_MAX = 0.9, 2.2
"""Height of a signal head, m, and maximum factor by which a detection's height may differ from it."""

GATE = 9.0
"""Maximum squared distance of a match, in squared standard deviations."""

LAMP_LOW_M, LAMP_HIGH_M = 2.2, 6.6
"""Lowest and highest position of a lamp above the road, m; the search strip is extended by the camera's pitch error."""

PITCH_SIGMA_RAD = 0.015
"""Standard deviation of the camera's pitch, rad."""

LAMP_POST_SIGMA_M = 0.35
"""Standard deviation of a lamp's offset from its post if no head is detected, m; lamps far from a post are ignored."""

LAMP_MIN = 0.15
"""Minimum `lit_score` of a lamp above a post; lamps below it have no vote."""

LIT_MIN = 0.5
"""Minimum probability that a lamp in a detected head is lit; below it the lamps in the head have no vote."""

HEAD_SURE = 0.3
"""Minimum confidence of a reliable head."""

HEAD_MARGIN = 0.15
"""Margin around a reliable head, as a fraction of its box, in which no lamps of other lights are searched."""


def is_whole(place: LightPlace, camera: CameraModel) -> bool:
    """Whether the whole region in which the light's lamps may appear lies in the picture."""
    pixels, _ = vehicle_to_image(place.foot + np.array([[0.0, 0.0, LAMP_LOW_M], [0.0, 0.0, LAMP_HIGH_M]]), camera)
    edge = focal_px(camera) * POST_SIGMA_M / place.depth_m
    return bool((pixels[:, 0] >= edge).all() and (pixels[:, 0] <= camera.width_px - edge).all() and pixels.min() >= 0.0)


def match_heads(
    places: Sequence[LightPlace], heads: Sequence[Detection], camera: CameraModel
) -> list[tuple[LightPlace, Detection]]:
    """Optimal one-to-one assignment of detected heads to lights; no match beyond three standard deviations."""
    cost = np.full((len(places), len(heads)), 2.0 * GATE)
    focal = focal_px(camera)
    for i, place in enumerate(places):
        pixel, depth = vehicle_to_image(place.foot + np.array([0.0, 0.0, HEAD_HEIGHT_M]), camera)
        sigma_u = np.hypot(PIXEL_SIGMA, focal * np.hypot(POST_SIGMA_M / depth, HEADING_SIGMA_RAD))
        sigma_v = np.hypot(PIXEL_SIGMA, focal * HEAD_HEIGHT_SIGMA_M / depth)
        high_px = focal * HEAD_SIZE_M / float(depth)
        for j, head in enumerate(heads):
            u0, v0, u1, v1 = head.box_px
            ratio = max(v1 - v0, 1e-3) / high_px
            if not 1.0 / SIZE_FACTOR_MAX <= ratio <= SIZE_FACTOR_MAX:
                continue
            off_u = ((u0 + u1) / 2.0 - pixel[0]) / sigma_u
            off_v = ((v0 + v1) / 2.0 - pixel[1]) / sigma_v
            cost[i, j] = min(off_u**2 + off_v**2 + (np.log(ratio) / 0.3) ** 2, 2.0 * GATE)
    rows, columns = linear_sum_assignment(cost)
    return [(places[i], heads[j]) for i, j in zip(rows, columns, strict=True) if cost[i, j] <= GATE]


def lit_lamps(places: Sequence[LightPlace], heads: Mapping[str, Detection], image: CameraImage) -> Mapping[str, Float]:
    """The votes (4,) of each light's lit lamp, by signal id.

    The lamp is read in the box of a confident detection; without one it is searched above the light's post. The votes
    add up to the probability that a lamp is lit; OFF gets none. Above posts, lamps are assigned in the order of their
    scores, which decrease with the distance to the post. No lamp is assigned to two lights.
    """
    sure = {name: head.box_px for name, head in heads.items() if head.confidence >= HEAD_SURE}
    out: dict[str, Float] = {}
    for name, box_px in sure.items():
        probabilities = head_probabilities(image.bgr, box_px)
        if probabilities is not None and 1.0 - probabilities[OFF] >= LIT_MIN:
            out[name] = np.where(np.arange(len(LIGHT_STATES)) == OFF, 0.0, probabilities)
    mean = brightness(image.bgr)
    found = [
        (place.light.signal_id, lamp)
        for place in places
        if place.light.signal_id not in sure
        for lamp in _lamps_over(place, image, mean)
    ]
    taken: list[Lamp] = []
    for name, lamp in sorted(found, key=lambda one: -one[1].lit_score):
        if name in out or lamp.lit_score < LAMP_MIN or any(_is_same(lamp, other) for other in taken):
            continue
        if not any(_is_in(lamp, box_px) for box_px in sure.values()):
            taken.append(lamp)
            out[name] = lamp.lit_score * np.array(lamp.probabilities)
    return out


def _lamps_over(place: LightPlace, image: CameraImage, mean: float) -> list[Lamp]:
    """The lamps above a post, searched in a strip whose width is the uncertainty of the post's position."""
    camera = image.camera
    pixels, depths = vehicle_to_image(place.foot + np.array([[0.0, 0.0, LAMP_LOW_M], [0.0, 0.0, LAMP_HIGH_M]]), camera)
    if np.isnan(pixels).any():
        return []
    focal = focal_px(camera)
    sigma = float(np.hypot(PIXEL_SIGMA, focal * np.hypot(LAMP_POST_SIGMA_M / place.depth_m, HEADING_SIGMA_RAD)))
    (u0, u1), pitch = np.sort(pixels[:, 0]), focal * PITCH_SIGMA_RAD
    strip: Box = (u0 - 2.0 * sigma, float(pixels[1, 1]) - pitch, u1 + 2.0 * sigma, float(pixels[0, 1]) + pitch)
    out = []
    for lamp in find_lamps(image.bgr, strip, focal / float(depths.mean()), mean):
        post_u = float(np.interp(lamp.v, pixels[::-1, 1], pixels[::-1, 0]))
        nearness = float(np.exp(-0.5 * ((lamp.u - post_u) / sigma) ** 2))
        out.append(replace(lamp, lit_score=lamp.lit_score * nearness))
    return out


def _is_in(lamp: Lamp, box_px: Box) -> bool:
    u0, v0, u1, v1 = box_px
    wide, high = HEAD_MARGIN * (u1 - u0), HEAD_MARGIN * (v1 - v0)
    return u0 - wide <= lamp.u <= u1 + wide and v0 - high <= lamp.v <= v1 + high


def _is_same(lamp: Lamp, other: Lamp) -> bool:
    return abs(lamp.u - other.u) < 1.5 and abs(lamp.v - other.v) < 1.5
