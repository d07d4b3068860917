"""Evaluates traffic light recognition before stop lines: the state of the governing light, in every weather."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import atan2
from pathlib import Path
from typing import Any

import numpy as np

from av_core.frames import map_to_vehicle, vehicle_to_image
from av_core.types import (
    CameraModel,
    EgoState,
    Image,
    Lane,
    LaneGraph,
    LightState,
    Pose2D,
    SensorFrame,
    SignalKind,
    TrafficLightView,
)
from av_stack.evaluation.table import Figure
from av_stack.world.carla.stand import Place
from perception.detection.classes import LIGHT_STATES
from perception.lights.head_states import OFF, HeadModel, head_probabilities, is_cut
from perception.lights.reader import sure_state

STATES = (LightState.RED, LightState.YELLOW, LightState.GREEN)
HEAD_TOP_M = 3.7
"""Height of the top of a signal head that is low on its post, m above the road; the red lamp is near the top.

Heads that hang above the road are higher and leave the picture earlier.
"""

STOP_NEAREST_M = 4.0
"""Smallest distance before a stop line from which a light is observed, m."""

RANGES_M = ((0.0, 25.0), (25.0, 40.0), (40.0, 60.0))
"""Bands of distance from the ego to the light's post, m; the post often stands on the far side of the junction."""


@dataclass(frozen=True, slots=True)
class LightSample:
    """One observation of the light that governs the ego.

    * `distance_m`: distance to its post, m.
    * `true`, `read`: the true state, and the recognized one or None.
    * `in_picture`: whether its head is within the camera's field of view.
    """

    weather: str
    distance_m: float
    true: str
    read: str | None
    in_picture: bool = True


@dataclass(frozen=True, slots=True)
class StopPlace:
    """A place before a stop line, the signal that governs it, and the distance to that signal."""

    place: Place
    signal_id: str
    distance_m: float


def stop_places(graph: LaneGraph, count: int, far_m: float, rng: np.random.Generator) -> list[StopPlace]:
    """Up to `count` random places, `STOP_NEAREST_M` to `far_m` before the stop lines of traffic lights.

    A place needs a lane that leads to the stop line from so far without a branch or a junction.
    """
    signals = [s for s in graph.signals if s.kind is SignalKind.TRAFFIC_LIGHT and s.lane in graph.lanes]
    found: list[StopPlace] = []
    for _ in range(20 * count):
        if len(found) == count or not signals:
            break
        signal = signals[int(rng.integers(len(signals)))]
        distance = float(rng.uniform(STOP_NEAREST_M, far_m))
        behind = _point_before(graph, graph.lanes[signal.lane], signal.stop_s_m, distance)
        if behind is not None and signal.place is not None:
            place = _place_on_lane(*behind)
            away = np.hypot(signal.place[0] - place.pose.x_m, signal.place[1] - place.pose.y_m)
            found.append(StopPlace(place, signal.signal_id, float(away)))
    return found


def _point_before(graph: LaneGraph, lane: Lane, s_m: float, distance_m: float) -> tuple[Lane, float] | None:
    """The lane and arc length `distance_m` before arc length `s_m` of `lane`.

    None if the lane has several predecessors there, or one in a junction.
    """
    while distance_m > s_m:
        distance_m -= s_m
        before = [graph.lanes[key] for key in lane.predecessors if key in graph.lanes]
        if len(before) != 1 or before[0].is_junction:
            return None
        lane, s_m = before[0], before[0].length_m
    return lane, s_m - distance_m


def _place_on_lane(lane: Lane, s_m: float) -> Place:
    row = min(lane.curve.row_at(s_m), len(lane.s_m) - 2)
    x, y, z = (float(value) for value in lane.points[row])
    grade = atan2(float(lane.points[row + 1, 2]) - z, float(lane.s_m[row + 1] - lane.s_m[row]))
    return Place(Pose2D(x, y, float(lane.yaw_rad[row])), z, grade)


def ego_at(frame: SensorFrame, pose: Pose2D, place: Place) -> EgoState:
    """The state of a standing ego with its true pose, so that errors of localization have no influence."""
    return EgoState(
        frame.stamp, pose.x_m, pose.y_m, pose.yaw_rad, 0.0, 0.0, 0.0, np.zeros((4, 4)), place.z_m, place.grade_rad
    )


def is_in_picture(stop: StopPlace, graph: LaneGraph, camera: CameraModel) -> bool:
    """Whether a whole head on the governing light's post is in the field of view; occlusion is ignored."""
    post = next(s.place for s in graph.signals if s.signal_id == stop.signal_id and s.place is not None)
    x, y = map_to_vehicle(post, stop.place.pose)
    (u, v), _ = vehicle_to_image([x, y, HEAD_TOP_M - x * np.tan(stop.place.grade_rad)], camera)
    return bool(0.0 <= u < camera.width_px and 0.0 <= v < camera.height_px)


class LightEvaluation:
    """Collects observations: call `add` with each, then `figures`.

    `raw` gives the observations for a file, `add_raw` adds them from one.
    """

    def __init__(self) -> None:
        self._sights: list[LightSample] = []

    def add(
        self,
        weather: str,
        stop: StopPlace,
        true: LightState,
        read: Mapping[str, TrafficLightView],
        in_picture: bool = True,
    ) -> None:
        view = read.get(stop.signal_id)
        state = None if view is None else view.state.value
        self._sights.append(LightSample(weather, stop.distance_m, true.value, state, in_picture))

    def raw(self) -> list[dict[str, Any]]:
        return [asdict(sight) for sight in self._sights]

    def add_raw(self, raw: Iterable[Mapping[str, Any]]) -> None:
        self._sights += [LightSample(**sight) for sight in raw]

    def figures(self) -> list[Figure]:
        shown = [sight for sight in self._sights if sight.in_picture]
        near = [sight for sight in shown if sight.distance_m < RANGES_M[0][1]]
        out = []
        for low, high in RANGES_M:
            group = f"{low:.0f}-{high:.0f} m"
            within = [sight for sight in shown if low <= sight.distance_m < high]
            out += _shares(within, group, 0.98 if low == 0.0 else None)
            every = [sight.in_picture for sight in self._sights if low <= sight.distance_m < high]
            if not all(every):
                left_out = 1.0 - float(np.mean(every))
                out.append(Figure("lights", "left out: outside the picture", group, left_out, "", len(every)))
        for state in STATES:
            out += _shares([sight for sight in near if sight.true == state.value], f"{state.value}, to 25 m", None)
        for weather in sorted({sight.weather for sight in near}):
            out += _shares([sight for sight in near if sight.weather == weather], f"{weather}, to 25 m", None)[:1]
        return out


def _shares(sights: Sequence[LightSample], group: str, goal: float | None) -> list[Figure]:
    if not sights:
        return []
    right = float(np.mean([sight.read == sight.true for sight in sights]))
    wrong = float(np.mean([sight.read is not None and sight.read != sight.true for sight in sights]))
    count = len(sights)
    return [
        Figure("lights", "governing light's state right", group, right, "", count, goal, True),
        Figure("lights", "governing light's state wrong", group, wrong, "", count),
    ]


@dataclass(frozen=True, slots=True)
class LabelledHead:
    """A signal head in a picture and its state. `is_aside`: the head faces sideways and its lamp is hardly visible."""

    picture: Path
    box_px: tuple[float, float, float, float]
    state: LightState
    source: str
    is_aside: bool = False


UNREAL_LAMPS = Path(__file__).with_name("carla_unreal_lamps.json")
"""Hand labels for `unreal_heads`."""

UNREAL_SIZE_PX = (640, 380)
"""Width and height of the pictures in `UNREAL_LAMPS`, px."""


def unreal_heads(folder: Path) -> Iterator[LabelledHead]:
    """The heads in a public data set whose states were labelled by hand in this project.

    `folder` holds the data set: images/, and labels/ in YOLO's format. For each picture, `UNREAL_LAMPS` gives the line
    of the label file and the state, followed by "aside" for a head that faces sideways.
    """
    width, height = UNREAL_SIZE_PX
    for picture, states in json.loads(UNREAL_LAMPS.read_text()).items():
        lines = (folder / "labels" / f"{picture}.txt").read_text().splitlines()
        for line, words in states.items():
            _, x, y, w, h = (float(value) for value in lines[int(line)].split()[:5])
            box = ((x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height)
            state, *aside = words.split()
            path = folder / "images" / f"{picture}.jpg"
            yield LabelledHead(path, box, LightState(state), "carla_unreal", bool(aside))


def read_head(bgr: Image, box_px: tuple[float, float, float, float], model: HeadModel | None = None) -> LightState:
    """The state of the head in a box of one picture; UNKNOWN if no state is probable enough.

    A head that is cut by the upper edge of the picture is never read as off: its red lamp may be outside. `model`
    replaces the shipped coefficients.
    """
    probabilities = head_probabilities(bgr, box_px, model)
    if probabilities is None:
        return LightState.UNKNOWN
    state, _ = sure_state(probabilities)
    return LightState.UNKNOWN if state is LIGHT_STATES[OFF] and is_cut(box_px) else state
