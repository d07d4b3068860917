"""The figures of one drive in two weathers: how much of its performance each module of perception keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from av_stack.evaluation.lanes import MISSED_M
from av_stack.replay.perception_scores import SeenLine, SeenObject, StepScore
from av_stack.replay.weather_report import BANDS_M, RIGHT, WRONG, light_outcomes

LINE_WITHIN_M = 0.3
"""A lane line is right if it is detected, and its distance from the map's line at 10 m is below this."""

USERS_TO_M = 40.0
"""Distance up to which road users count for the limits: a car at 13 m/s stops within it."""

SAMPLES_MIN = 20
"""Least number of samples of a share or an error; with fewer samples the value is None."""

HEIGHTS_PX = ((0.0, 20.0), (20.0, 50.0), (50.0, np.inf))
"""Bands of the height of a road user's box in the picture."""

LINES_KEPT, LINE_ERROR_MEDIAN, LINE_ERROR_P95 = "lines_kept", "line_error_median_m", "line_error_p95_m"
USERS_KEPT, RANGE_ERROR = "users_kept", "range_error_median"
POSITION_P95, ACROSS_P95 = "position_error_p95_m", "across_error_p95_m"
LIGHTS_KEPT, LIGHTS_WRONG = "lights_kept", "lights_wrong"


@dataclass(frozen=True, slots=True)
class Figure:
    """A value over `count` samples; `value` is None where they are too few."""

    name: str
    value: float | None
    count: int


def look_figures(there: Sequence[StepScore], now: Sequence[StepScore]) -> list[Figure]:
    """The figures of the weather `now`, over the same steps and samples as in the reference weather `there`."""
    steps = list(zip(there, now, strict=False))
    lines = [pair for one, other in steps for pair in zip(one.lines, other.lines, strict=True)]
    users = [pair for one, other in steps for pair in zip(one.objects, other.objects, strict=True)]
    lights = [pair for one, other in steps for pair in light_outcomes(one, other)]
    errors_m = np.array([other.ego_error_m for _, other in steps]).reshape(-1, 2)
    return [
        *_line_figures(lines),
        *_user_figures(users),
        _quantile(POSITION_P95, np.hypot(errors_m[:, 0], errors_m[:, 1]).tolist(), 0.95),
        _quantile(ACROSS_P95, np.abs(errors_m[:, 1]).tolist(), 0.95),
        _share(LIGHTS_KEPT, [after == RIGHT for before, after in lights if before == RIGHT]),
        _share(LIGHTS_WRONG, [after == WRONG for _, after in lights]),
    ]


def recall_name(group: str, low: float, high: float, unit: str) -> str:
    """Name of the share of road users that the camera detects, within a band of distance (m) or height (px)."""
    return f"recall_{group}_{low:g}_{high:g}_{unit}"


def _line_figures(lines: Sequence[tuple[SeenLine, SeenLine]]) -> Iterator[Figure]:
    yield _share(LINES_KEPT, [_is_right(now) for there, now in lines if _is_right(there)])
    errors_m = [MISSED_M if now.error_m is None else now.error_m for _, now in lines]
    yield _quantile(LINE_ERROR_MEDIAN, errors_m, 0.5)
    yield _quantile(LINE_ERROR_P95, errors_m, 0.95)


def _is_right(line: SeenLine) -> bool:
    return line.error_m is not None and line.error_m <= LINE_WITHIN_M


def _user_figures(users: Sequence[tuple[SeenObject, SeenObject]]) -> Iterator[Figure]:
    """Only road users that the camera detects in the reference weather count: the others may be hidden."""
    seen = [pair for pair in users if pair[0].is_in_picture]
    near = [pair for pair in seen if pair[0].range_m <= USERS_TO_M]
    yield _share(USERS_KEPT, [now.is_in_picture for _, now in near])
    in_both = (now.range_error for _, now in near if now.is_in_picture)
    yield _quantile(RANGE_ERROR, [error for error in in_both if error is not None], 0.5)
    for group in ("vehicles", "pedestrians"):
        of_group = [pair for pair in seen if pair[0].group == group]
        for low, high in BANDS_M:
            within = [now.is_in_picture for there, now in of_group if low <= there.range_m < high]
            yield _share(recall_name(group, low, high, "m"), within)
        for low, high in HEIGHTS_PX:
            within = [now.is_in_picture for there, now in of_group if low <= there.height_px < high]
            yield _share(recall_name(group, low, high, "px"), within)


def _share(name: str, hits: Iterable[bool]) -> Figure:
    found = list(hits)
    return Figure(name, float(np.mean(found)) if len(found) >= SAMPLES_MIN else None, len(found))


def _quantile(name: str, values: Sequence[float], quantile: float) -> Figure:
    return Figure(name, float(np.quantile(values, quantile)) if len(values) >= SAMPLES_MIN else None, len(values))
