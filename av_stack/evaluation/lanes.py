"""Evaluates lane detection per weather: lateral error and TuSimple's accuracy against the lines of the map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from av_core.frames import vehicle_to_image
from av_core.types import CameraModel, Float, LaneEstimate, LaneLine, MarkingKind, Pose2D
from av_stack.evaluation.table import Figure
from perception.map_index import BoundaryCrossing, MapIndex

NEAR_M, FAR_M, STEP_M = 5.0, 30.0, 1.0
"""The lines of the map are sampled from `NEAR_M` to `FAR_M` ahead, every `STEP_M`, m."""

SCORED_TO_M = 14.0
"""Minimum distance ahead, m, to which a line of the map must continue to be scored; this excludes junctions."""

AT_M = 10.0
"""Distance ahead at which the lateral error is measured, m."""

JOIN_M = 0.5
"""Maximum lateral step between two samples of one line that are `STEP_M` apart, m."""

LANE_HALF_MAX_M = 3.0
"""Maximum lateral distance of the lines of the ego's lane, m."""

MISSED_M = 1.75
"""Lateral error of a line that was not detected, m: half the width of a lane."""

CONFIDENCE_X_M = 15.0
"""Distance ahead, m, at which `LaneLine.confidence` predicts whether a line is right."""

CONFIDENCE_WITHIN_M = 0.2
"""Maximum lateral error of a right line at that distance, m."""

CONFIDENCE_BANDS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01))
"""Intervals [low, high) of confidence for which the fraction of right lines is reported."""

TUSIMPLE_PX_AT_1280 = 20.0
"""Maximum horizontal error of a hit in TuSimple's accuracy, px, in a picture 1280 px wide."""

ROW_STEP_PX = 5
"""Distance between the picture rows in which a line is compared, px."""


@dataclass(frozen=True, slots=True)
class LineScore:
    """Score of one line in one frame.

    * `error_m`: lateral error at 10 m, m; None if the line was not detected.
    * `hits`, `rows`: rows of the picture in which the line is right by TuSimple's rule, and rows compared.
    * `confidence`: the detector's confidence; `error_at_15_m`: lateral error at 15 m, m.
    * `is_there`: False for a line detected where the map has none. It has no rows; only its confidence is scored.
    * `kind_is_right`, `colour_is_right`: None if the detector or the map gives no kind or colour.
    """

    error_m: float | None
    hits: int
    rows: int
    confidence: float = 0.0
    error_at_15_m: float | None = None
    is_there: bool = True
    kind_is_right: bool | None = None
    colour_is_right: bool | None = None

    @property
    def is_right_at_15_m(self) -> bool | None:
        """Whether the line is within 0.2 m of the truth at 15 m, as its confidence predicts; None if unknown."""
        if not self.is_there:
            return False
        return None if self.error_at_15_m is None else abs(self.error_at_15_m) <= CONFIDENCE_WITHIN_M


@dataclass(frozen=True, slots=True)
class TrueLine:
    """A line of the map: `points` (N, 2) m, vehicle frame, and the kind and colour of its marking."""

    points: Float
    kind: str
    colour: str


def true_lines(index: MapIndex, ego: Pose2D) -> tuple[TrueLine | None, TrueLine | None]:
    """The painted lines (left, right) of the ego's lane ahead; None for a side on which the map has none.

    A line starts at the nearest boundary on its side of the ego and is followed ahead as long as it continues. Kerbs
    are left out.
    """
    xs = np.arange(NEAR_M, FAR_M + STEP_M, STEP_M)
    crossings = [[c for c in index.boundaries_at(ego, float(x), 8.0) if c.kind is not MarkingKind.KERB] for x in xs]
    found: list[TrueLine | None] = []
    for side in (1.0, -1.0):
        first = min((c for c in crossings[0] if 0.0 < side * c.y_m <= LANE_HALF_MAX_M), key=_distance, default=None)
        if first is None:
            found.append(None)
            continue
        way, slope = [first.y_m], 0.0
        for there in crossings[1:]:
            guess = way[-1] + slope
            nearest = min((c.y_m for c in there), key=lambda y: abs(y - guess), default=np.inf)
            if abs(nearest - guess) > JOIN_M:
                break
            slope = nearest - way[-1]
            way.append(nearest)
        points = np.column_stack([xs[: len(way)], way])
        goes_on = points[-1, 0] >= SCORED_TO_M
        found.append(TrueLine(points, first.kind.value, first.colour.value) if goes_on else None)
    return found[0], found[1]


def _distance(crossing: BoundaryCrossing) -> float:
    return abs(crossing.y_m)


def is_bare(index: MapIndex, ego: Pose2D, line: LaneLine) -> bool:
    """Whether `line` is a false detection: the map has no boundary near it between 6 m and 15 m ahead."""
    for x in (6.0, 9.0, 12.0, 15.0):
        if any(abs(c.y_m - float(line.y_at(x))) < JOIN_M for c in index.boundaries_at(ego, x, 8.0)):
            return False
    return True


def score_line(line: LaneLine | None, true: TrueLine, camera: CameraModel) -> LineScore:
    """Score a detected line by TuSimple's rule.

    In each row it must lie within 20 px of the true line in a picture 1280 px wide; the limit grows with the slant of
    the true line.
    """
    truth = true.points
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
    at_15 = None
    if truth[-1, 0] >= CONFIDENCE_X_M:
        at_15 = float(line.y_at(CONFIDENCE_X_M)) - float(np.interp(CONFIDENCE_X_M, truth[:, 0], truth[:, 1]))
    hits = int((np.abs(seen[:, 0] - u) <= within).sum())
    kind_is_right = None if "unknown" in (line.kind.value, true.kind) else line.kind.value == true.kind
    colour_is_right = None if "unknown" in (line.colour.value, true.colour) else line.colour.value == true.colour
    return LineScore(error, hits, len(rows), line.confidence, at_15, True, kind_is_right, colour_is_right)


class LaneEvaluation:
    """Collects scores by weather: call `add` with each frame, then `figures`.

    `raw` gives the scores for a file, `add_raw` adds them from one.
    """

    def __init__(self) -> None:
        self._scores: dict[str, list[LineScore]] = defaultdict(list)

    def add(self, weather: str, lanes: LaneEstimate, ego: Pose2D, index: MapIndex, camera: CameraModel) -> None:
        for line, truth in zip((lanes.left, lanes.right), true_lines(index, ego), strict=True):
            if truth is not None:
                score = score_line(line, truth, camera)
                if score.rows:
                    self._scores[weather].append(score)
            elif line is not None and is_bare(index, ego, line):
                self._scores[weather].append(LineScore(None, 0, 0, line.confidence, None, False))

    @property
    def scores(self) -> Mapping[str, Sequence[LineScore]]:
        return self._scores

    def raw(self) -> dict[str, list[dict[str, Any]]]:
        return {weather: [asdict(score) for score in scores] for weather, scores in self._scores.items()}

    def add_raw(self, raw: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
        for weather, scores in raw.items():
            self._scores[weather] += [LineScore(**score) for score in scores]

    def figures(self) -> list[Figure]:
        """Error and accuracy in each weather and in all; fraction of right lines in each band of confidence."""
        out: list[Figure] = []
        errors: list[float] = []
        for weather, scores in sorted(self._scores.items()):
            there = [score for score in scores if score.is_there]
            if not there:
                continue
            is_clear = weather == "ClearNoon"
            error, accuracy = _median_error(there), _accuracy(there)
            errors.append(error)
            out.append(_error(weather, error, len(there), 0.06 if is_clear else None))
            out.append(_hits(weather, accuracy, len(there), 0.97 if is_clear else None))
        every = [score for scores in self._scores.values() for score in scores]
        there = [score for score in every if score.is_there]
        if errors:
            out.append(_error("mean of the weathers", float(np.mean(errors)), len(there), 0.15))
            out.append(_hits("all", _accuracy(there), len(there), 0.90))
            missed = float(np.mean([score.error_m is None for score in there]))
            out.append(Figure("lanes", "share of lines not seen", "all", missed, "", len(there)))
        return out + _of_kinds(there) + _of_confidence(every)


def _of_kinds(scores: Sequence[LineScore]) -> list[Figure]:
    out = []
    for name, told in (
        ("marking type right, where told", [s.kind_is_right for s in scores if s.kind_is_right is not None]),
        ("colour right, where told", [s.colour_is_right for s in scores if s.colour_is_right is not None]),
    ):
        if told:
            out.append(Figure("lanes", name, "all", float(np.mean(told)), "", len(told), more_is_better=True))
    return out


def _of_confidence(scores: Sequence[LineScore]) -> list[Figure]:
    """The fraction of right lines by confidence; the goal is 0.9 for lines with a confidence of 0.9 or more.

    Lines detected where the map has none count as wrong.
    """
    told = [(s.confidence, s.is_right_at_15_m) for s in scores if s.confidence > 0.0 and s.is_right_at_15_m is not None]
    out = []
    for low, high in CONFIDENCE_BANDS:
        band = [bool(right) for confidence, right in told if low <= confidence < high]
        if band:
            group = f"confidence {low:g} to {min(high, 1.0):g}"
            value = float(np.mean(band))
            out.append(Figure("lanes", "right within 0.2 m at 15 m", group, value, "", len(band), more_is_better=True))
    sure = [bool(right) for confidence, right in told if confidence >= 0.9]
    if sure:
        name = "right within 0.2 m at 15 m"
        out.append(Figure("lanes", name, "confidence 0.9 and more", float(np.mean(sure)), "", len(sure), 0.9, True))
    return out


def _error(group: str, value: float, count: int, goal: float | None) -> Figure:
    return Figure("lanes", "lateral error at 10 m, median", group, value, "m", count, goal)


def _hits(group: str, value: float, count: int, goal: float | None) -> Figure:
    return Figure("lanes", "TuSimple accuracy", group, value, "", count, goal, more_is_better=True)


def _median_error(scores: Sequence[LineScore]) -> float:
    return float(np.median([MISSED_M if s.error_m is None else abs(s.error_m) for s in scores]))


def _accuracy(scores: Sequence[LineScore]) -> float:
    return sum(s.hits for s in scores) / max(sum(s.rows for s in scores), 1)
