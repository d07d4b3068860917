"""Reads the states of the traffic lights ahead from camera pictures (`LightReader`).

The map gives each light's position (`map_lights`). Detected signal heads and lit lamps that are found there
(`matching`) vote for its state over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from av_core.frames import wrap_angle
from av_core.types import CameraDetections, CameraImage, Detection, EgoState, LaneGraph, LightState, TrafficLightView
from perception.detection.classes import LIGHT_STATES, light_state
from perception.lights.map_lights import MapLight, focal_px, map_lights, place_lights
from perception.lights.matching import HEAD_SURE, is_whole, lit_lamps, match_heads

Float = NDArray[np.float64]

FACING_MAX_RAD = np.radians(60.0)
"""Maximum angle between the ego's heading and the lane's heading at a light's stop line."""

FORGET_S = 0.25
"""Decay time of the votes, s."""

SURE_SHARE = 0.6
"""Minimum share of the votes of a state that is decided."""

MASS_MIN = 0.8
"""Minimum sum of all votes for a decision."""

RED_OR_YELLOW_SHARE = 0.8
"""Minimum share of red and yellow votes together for the decision red; both states require a stop."""

HEAD_WEIGHT = 0.5
"""Vote weight of the state that the detector reports; lower than that of a lit lamp."""

OFF_WEIGHT = 1.0
"""Vote weight of a head detected as off: to decide that a signal is off, trust a detected signal head over isolated
bright spots."""


class LightReader:
    """Estimates the states of the map's traffic lights from camera pictures.

    It predicts where each light appears in the picture, matches detected heads to lights, and accumulates votes over
    time. It does not decide which light governs the ego: the map gives the lanes that a light governs
    (`LaneGraph.signals`), and the planner asks for the lights on its route. So a head must never be matched to a wrong
    light.
    """

    def __init__(self, graph: LaneGraph, range_m: float = 80.0) -> None:
        self._lights, self._same_head = map_lights(graph)
        self._stops = np.array([light.stop for light in self._lights]).reshape(-1, 2)
        self._range_m = range_m
        self._votes: dict[str, Float] = {}
        self._time_s: float | None = None

    def update(
        self,
        ego: EgoState,
        detections: Sequence[Detection],
        image: CameraImage | None,
        others: Sequence[CameraDetections | None] = (),
    ) -> Mapping[str, TrafficLightView]:
        """The states of the lights ahead whose votes agree, by signal id. A light out of sight keeps its state briefly.

        `others` are further cameras that look ahead. `image` and entries of `others` are None if a camera has no
        reliable picture. If several cameras show a light, the one in which it is largest is used.
        """
        dt = 0.0 if self._time_s is None else max(ego.stamp.time_s - self._time_s, 0.0)
        self._time_s = ego.stamp.time_s
        fade = float(np.exp(-dt / FORGET_S))
        self._votes = {name: fade * votes for name, votes in self._votes.items() if fade * votes.sum() > 0.02}
        views = [(image, detections)] if image is not None else []
        views += [other for other in others if other is not None]
        views.sort(key=lambda view: -focal_px(view[0].camera))
        told: dict[str, tuple[Detection | None, Float | None]] = {}
        for number, (picture, found) in enumerate(views):
            is_widest = number == len(views) - 1
            for name, seen in self._read_picture(ego, picture, found, is_widest).items():
                told.setdefault(name, seen)
        for name, (head, lit) in told.items():
            self._vote(name, head, lit)
        views_of = {name: view for name, votes in self._votes.items() if (view := _decide(name, votes)) is not None}
        return views_of | {
            name: replace(views_of[first], signal_id=name)
            for name, first in self._same_head.items()
            if first in views_of
        }

    def _read_picture(
        self, ego: EgoState, image: CameraImage, detections: Sequence[Detection], is_widest: bool
    ) -> Mapping[str, tuple[Detection | None, Float | None]]:
        """(detected head, votes (4,) of its lit lamp) of each light in the picture, by signal id; both may be None.

        Unless the camera is the widest (`is_widest`), a light that may be only partly in its picture is left out.
        """
        heads = [one for one in detections if light_state(one.name) is not None and np.isfinite(one.box_px).all()]
        places = place_lights(self._ahead(ego), ego, image.camera)
        if not is_widest:
            places = [place for place in places if is_whole(place, image.camera)]
        matched = {place.light.signal_id: head for place, head in match_heads(places, heads, image.camera)}
        lit = lit_lamps(places, matched, image)
        return {name: (matched.get(name), lit.get(name)) for name in matched.keys() | lit.keys()}

    def _vote(self, name: str, head: Detection | None, lit: Float | None) -> None:
        votes = self._votes.setdefault(name, np.zeros(len(LIGHT_STATES)))
        if lit is not None:
            votes += lit
        state = None if head is None else light_state(head.name)
        if head is not None and state is not None:
            weight = OFF_WEIGHT if state is LightState.OFF and head.confidence >= HEAD_SURE else HEAD_WEIGHT
            votes[LIGHT_STATES.index(state)] += weight * head.confidence

    def _ahead(self, ego: EgoState) -> list[MapLight]:
        distance = np.hypot(self._stops[:, 0] - ego.x_m, self._stops[:, 1] - ego.y_m)
        return [
            self._lights[i]
            for i in np.flatnonzero(distance <= self._range_m)
            if abs(float(wrap_angle(self._lights[i].yaw_rad - ego.yaw_rad))) <= FACING_MAX_RAD
        ]


def _decide(signal_id: str, votes: Float) -> TrafficLightView | None:
    """The state with the most votes, with its share of the votes as confidence; None if votes disagree or are too few.

    If the votes are divided between red and yellow only, the state is red.
    """
    total = float(votes.sum())
    if total < MASS_MIN:
        return None
    state, share = sure_state(votes / total)
    return None if state is LightState.UNKNOWN else TrafficLightView(signal_id, state, min(share, 1.0))


def sure_state(shares: Float) -> tuple[LightState, float]:
    """(decided state, its share) from probabilities of `LIGHT_STATES`; (UNKNOWN, 0.0) if no share is large enough.

    If red and yellow are large enough only together, the state is red.
    """
    best = int(np.argmax(shares))
    if shares[best] >= SURE_SHARE:
        return LIGHT_STATES[best], float(shares[best])
    red, yellow = (float(shares[LIGHT_STATES.index(state)]) for state in (LightState.RED, LightState.YELLOW))
    if red + yellow >= RED_OR_YELLOW_SHARE:
        return LightState.RED, red
    return LightState.UNKNOWN, 0.0
