"""Reads the states of the traffic lights ahead from camera pictures (`LightReader`).

The map gives each light's position. Detected signal heads and lit lamps found there vote for its state over time. For
diagnosis, `LightOracle` takes the states from the simulator instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from av_core.frames import intrinsics, map_to_vehicle, rotation_matrix, vehicle_to_image, wrap_angle
from av_core.types import (
    CameraDetections,
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    LaneGraph,
    LightState,
    Pose2D,
    SignalKind,
    TrafficLightView,
    Truth,
)
from perception.detection.classes import LIGHT_STATES, light_state
from perception.lights.head_states import OFF, Box, head_probabilities
from perception.lights.lamps import Lamp, brightness, find_lamps

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

FACING_MAX_RAD = np.radians(60.0)
"""Maximum angle between the ego's heading and the lane's heading at a light's stop line."""

ONE_PLACE_M, ONE_WAY_RAD = 0.25, 0.5
"""Two lights of the map share one head if their distance and the angle between their lanes are below these limits."""

NEAR_M = 2.0
"""Minimum depth of a light in front of the camera, m."""

FORGET_S = 0.25
"""Decay time of the votes, s."""

SURE_SHARE = 0.6
"""Minimum share of the votes of a state that is decided."""

MASS_MIN = 0.8
"""Minimum sum of all votes for a decision."""

RED_OR_YELLOW_SHARE = 0.8
"""Minimum share of red and yellow votes together for the decision red; both states require a stop."""

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

HEAD_WEIGHT = 0.5
"""Vote weight of the state that the detector reports; lower than that of a lit lamp."""

HEAD_SURE = 0.3
"""Minimum confidence of a reliable head."""

HEAD_MARGIN = 0.15
"""Margin around a reliable head, as a fraction of its box, in which no lamps of other lights are searched."""

OFF_WEIGHT = 1.0
"""Vote weight of a head detected as off: to decide that a signal is off, trust a detected signal head over isolated
bright spots."""


@dataclass(frozen=True, slots=True)
class _Light:
    """A traffic light of the map, in the map frame.

    * `stop` (2,), `yaw_rad`: the lane's point at the stop line, and its heading there.
    * `post` (3,): foot of the light's post, at the height of the nearest lane.
    """

    signal_id: str
    stop: Float
    yaw_rad: float
    post: Float


@dataclass(frozen=True, slots=True)
class _Place:
    """A light's post relative to the ego: `foot` (3,) in the vehicle frame; `depth_m` along the camera's axis."""

    light: _Light
    foot: Float
    depth_m: float


class LightReader:
    """Estimates the states of the map's traffic lights from camera pictures.

    It predicts where each light appears in the picture, matches detected heads to lights, and accumulates votes over
    time. It does not decide which light governs the ego: the map gives the lanes that a light governs
    (`LaneGraph.signals`), and the planner asks for the lights on its route. So a head must never be matched to a wrong
    light.
    """

    def __init__(self, graph: LaneGraph, range_m: float = 80.0) -> None:
        self._lights, self._same_head = _lights(graph)
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
        views_of = {name: view for name, votes in self._votes.items() if (view := _verdict(name, votes)) is not None}
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
            places = [place for place in places if _is_whole(place, image.camera)]
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

    def _ahead(self, ego: EgoState) -> list[_Light]:
        distance = np.hypot(self._stops[:, 0] - ego.x_m, self._stops[:, 1] - ego.y_m)
        return [
            self._lights[i]
            for i in np.flatnonzero(distance <= self._range_m)
            if abs(float(wrap_angle(self._lights[i].yaw_rad - ego.yaw_rad))) <= FACING_MAX_RAD
        ]


def place_lights(lights: Sequence[_Light], ego: EgoState, camera: CameraModel) -> list[_Place]:
    """Positions of the lights in front of the camera, nearest first."""
    pose, tilt = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad), rotation_matrix(0.0, -ego.pitch_rad, 0.0)
    out = []
    for light in lights:
        x, y = map_to_vehicle(light.post[:2], pose)
        foot = tilt.T @ np.array([x, y, light.post[2] - ego.z_m])
        _, depth = vehicle_to_image(foot, camera)
        if depth >= NEAR_M:
            out.append(_Place(light, foot, float(depth)))
    return sorted(out, key=lambda place: place.depth_m)


def focal_px(camera: CameraModel) -> float:
    """Focal length of the camera, px."""
    return float(intrinsics(camera)[0, 0])


def _is_whole(place: _Place, camera: CameraModel) -> bool:
    """Whether the whole region in which the light's lamps may appear lies in the picture."""
    pixels, _ = vehicle_to_image(place.foot + np.array([[0.0, 0.0, LAMP_LOW_M], [0.0, 0.0, LAMP_HIGH_M]]), camera)
    edge = focal_px(camera) * POST_SIGMA_M / place.depth_m
    return bool((pixels[:, 0] >= edge).all() and (pixels[:, 0] <= camera.width_px - edge).all() and pixels.min() >= 0.0)


def match_heads(
    places: Sequence[_Place], heads: Sequence[Detection], camera: CameraModel
) -> list[tuple[_Place, Detection]]:
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


def lit_lamps(places: Sequence[_Place], heads: Mapping[str, Detection], image: CameraImage) -> Mapping[str, Float]:
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


def _lamps_over(place: _Place, image: CameraImage, mean: float) -> list[Lamp]:
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


def _verdict(signal_id: str, votes: Float) -> TrafficLightView | None:
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


def _lights(graph: LaneGraph) -> tuple[list[_Light], Mapping[str, str]]:
    """(the map's lights with a head of their own, for each other light the id of the light that shares its head)."""
    found: dict[str, _Light] = {}
    same: dict[str, str] = {}
    road = np.concatenate([lane.points for lane in graph.lanes.values()]) if graph.lanes else np.zeros((1, 3))
    near = cKDTree(road[:, :2])
    for signal in graph.signals:
        is_known = signal.signal_id in found or signal.signal_id in same
        if signal.kind is not SignalKind.TRAFFIC_LIGHT or signal.lane not in graph.lanes or is_known:
            continue
        lane = graph.lanes[signal.lane]
        x, y, yaw = lane.curve.pose_at(signal.stop_s_m)
        stop = np.array([x, y])
        at = stop if signal.place is None else np.array(signal.place)
        post = np.array([*at, road[near.query(at)[1], 2]])
        light = _Light(signal.signal_id, stop, float(yaw), post)
        first = next((other for other in found.values() if signal.place and _is_one_head(other, light)), None)
        if first is None:
            found[light.signal_id] = light
        else:
            same[light.signal_id] = first.signal_id
    return list(found.values()), same


def _is_one_head(one: _Light, other: _Light) -> bool:
    """Whether two lights of the map share one head: they are at the same place, for traffic in the same direction."""
    away_m = float(np.linalg.norm(one.post - other.post))
    return away_m < ONE_PLACE_M and abs(float(wrap_angle(one.yaw_rad - other.yaw_rad))) < ONE_WAY_RAD


class LightOracle:
    """Oracle: the simulator's light states, limited to lights with a stop line within `range_m` of the ego."""

    def __init__(self, graph: LaneGraph, range_m: float = 80.0) -> None:
        lights = [s for s in graph.signals if s.kind is SignalKind.TRAFFIC_LIGHT and s.lane in graph.lanes]
        self._ids = tuple(s.signal_id for s in lights)
        stops = [graph.lanes[signal.lane].curve.pose_at(signal.stop_s_m)[:2] for signal in lights]
        self._stops = np.array(stops, dtype=np.float64).reshape(-1, 2)
        self._range_m = range_m

    def update(self, truth: Truth) -> Mapping[str, TrafficLightView]:
        """The states of the map's lights that the simulator reports, by signal id."""
        distance = np.hypot(self._stops[:, 0] - truth.ego.x_m, self._stops[:, 1] - truth.ego.y_m)
        near = dict.fromkeys(self._ids[i] for i in np.flatnonzero(distance <= self._range_m))
        return {name: TrafficLightView(name, truth.lights[name]) for name in near if name in truth.lights}
