"""How well the lanes are seen: lateral error and TuSimple's accuracy against the map's own lines, per weather."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from av_stack.evaluation import Figure
from av_stack.frames import vehicle_to_image
from av_stack.types import CameraModel, Float, LaneEstimate, LaneLine, Pose2D
from perception.map_index import MapIndex

NEAR_M, FAR_M, STEP_M = 5.0, 30.0, 1.0
SCORED_TO_M = 14.0
"""A line of the map counts in a frame when it goes on at least this far: no junctions."""

AT_M = 10.0
JOIN_M = 0.5
LANE_HALF_MAX_M = 3.0
MISSED_M = 1.75
"""A line that is there and not seen counts as half a lane wrong."""

TUSIMPLE_PX_AT_1280 = 20.0
ROW_STEP_PX = 5


@dataclass(frozen=True, slots=True)
class LineScore:
    """One line of one frame: the lateral error at 10 m (None: not seen), and hits of its sampled rows."""

    error_m: float | None
    hits: int
    rows: int
    confidence: float = 0.0
    error_at_15_m: float | None = None


def true_lines(index: MapIndex, ego: Pose2D) -> tuple[Float | None, Float | None]:
    """(left, right) line of the ego's lane, each (N, 2) m in the vehicle frame ahead; None where the map draws none.

    A boundary is followed outwards from the one nearest beside the ego, as long as it goes on.
    """
    xs = np.arange(NEAR_M, FAR_M + STEP_M, STEP_M)
    crossings = [[c.y_m for c in index.boundaries_at(ego, float(x), 8.0)] for x in xs]
    found: list[Float | None] = []
    for side in (1.0, -1.0):
        starts = [y for y in crossings[0] if 0.0 < side * y <= LANE_HALF_MAX_M]
        if not starts:
            found.append(None)
            continue
        way = [min(starts, key=abs)]
        slope = 0.0
        for ys in crossings[1:]:
            guess = way[-1] + slope
            nearest = min(ys, key=lambda y: abs(y - guess), default=np.inf)
            if abs(nearest - guess) > JOIN_M:
                break
            slope = nearest - way[-1]
            way.append(nearest)
        line = np.column_stack([xs[: len(way)], way])
        found.append(line if line[-1, 0] >= SCORED_TO_M else None)
    return found[0], found[1]


def score_line(line: LaneLine | None, truth: Float, camera: CameraModel) -> LineScore:
    """One seen line against one true one (N, 2); TuSimple's rule: within 20 px at 1280 px width, by its slant."""
    pixels, _ = vehicle_to_image(np.column_stack([truth, np.zeros(len(truth))]), camera)
    inside = (pixels[:, 0] >= 0) & (pixels[:, 0] < camera.width_px) & (pixels[:, 1] < camera.height_px)
    if inside.sum() < 2:
        return LineScore(None, 0, 0)
    true_u, true_v = pixels[inside].T
    rows = np.arange(np.ceil(true_v.min()), true_v.max(), ROW_STEP_PX)
    u = np.interp(rows, true_v[::-1], true_u[::-1])
    if line is None:
        return LineScore(None, 0, len(rows))
    x = np.interp(rows, true_v[::-1], truth[inside][::-1, 0])
    seen, _ = vehicle_to_image(np.column_stack([x, line.y_at(x), np.zeros(len(x))]), camera)
    slant = np.abs(np.gradient(u, rows)) if len(rows) > 1 else np.zeros(len(rows))
    within = TUSIMPLE_PX_AT_1280 * camera.width_px / 1280.0 * np.hypot(1.0, slant)
    error = float(line.y_at(AT_M)) - float(np.interp(AT_M, truth[:, 0], truth[:, 1]))
    at_15 = float(line.y_at(15.0)) - float(np.interp(15.0, truth[:, 0], truth[:, 1])) if truth[-1, 0] >= 15 else None
    hits = int((np.abs(seen[:, 0] - u) <= within).sum())
    return LineScore(error, hits, len(rows), line.confidence, at_15)


class LaneEvaluation:
    """Gathers scores by weather; `add` each frame, then `figures`."""

    def __init__(self, index: MapIndex, camera: CameraModel) -> None:
        self._index, self._camera = index, camera
        self._scores: dict[str, list[LineScore]] = defaultdict(list)

    def add(self, weather: str, lanes: LaneEstimate, ego: Pose2D) -> None:
        for line, truth in zip((lanes.left, lanes.right), true_lines(self._index, ego), strict=True):
            if truth is not None:
                score = score_line(line, truth, self._camera)
                if score.rows:
                    self._scores[weather].append(score)

    @property
    def scores(self) -> Mapping[str, Sequence[LineScore]]:
        return self._scores

    def figures(self) -> list[Figure]:
        """Error and accuracy per weather and over all; the share of sure lines that are right."""
        out: list[Figure] = []
        errors: list[float] = []
        for weather, scores in sorted(self._scores.items()):
            is_clear = weather == "ClearNoon"
            error, accuracy = _median_error(scores), _accuracy(scores)
            errors.append(error)
            out.append(_error(weather, error, len(scores), 0.06 if is_clear else None))
            out.append(_hits(weather, accuracy, len(scores), 0.97 if is_clear else None))
        every = [score for scores in self._scores.values() for score in scores]
        if errors:
            out.append(_error("mean of the weathers", float(np.mean(errors)), len(every), 0.15))
            out.append(_hits("all", _accuracy(every), len(every), 0.90))
        sure = [abs(s.error_at_15_m) <= 0.2 for s in every if s.error_at_15_m is not None and s.confidence >= 0.85]
        if sure:
            out.append(
                Figure("lanes", "right within 0.2 m at 15 m, of lines given 0.85 and more", "all", float(np.mean(sure)),
                       "", len(sure), 0.9, True)
            )  # fmt: skip
        return out


def _error(group: str, value: float, count: int, goal: float | None) -> Figure:
    return Figure("lanes", "lateral error at 10 m, median", group, value, "m", count, goal)


def _hits(group: str, value: float, count: int, goal: float | None) -> Figure:
    return Figure("lanes", "TuSimple accuracy", group, value, "", count, goal, more_is_better=True)


def _median_error(scores: Sequence[LineScore]) -> float:
    return float(np.median([MISSED_M if s.error_m is None else abs(s.error_m) for s in scores]))


def _accuracy(scores: Sequence[LineScore]) -> float:
    return sum(s.hits for s in scores) / max(sum(s.rows for s in scores), 1)
