"""Selects the tracked lines that border the ego lane and its neighbours, and computes their confidence."""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

from av_core.types import LaneEstimate, LaneLine, MarkingColour, MarkingKind, Stamp
from perception.lanes.tracker import LineTrack

SIDE_X_M = 4.0
"""Distance ahead, m, at which a line must pass left or right of the ego to be its left or right line."""

SIDE_REACH_M = 4.5
"""Maximum lateral distance of a line beside the ego, m."""

SIDE_SIGMA_MAX_M = 0.6
"""Maximum standard deviation of a line's offset beside the ego, m."""

SINGLE_IMAGE_SIGMA_MAX_M = 0.85
"""Maximum standard deviation, m, of a line's offset beside the ego: as `SIDE_SIGMA_MAX_M`, but for a single picture,
whose lines no later picture confirms; a quarter of a lane's width."""

SIDE_SLOPE_MAX = 0.5
"""Maximum slope dy/dx of a line beside the ego."""

SIDE_SEEN_WITHIN_M = 16.0
"""Distance ahead within which the visible part of a line beside the ego must begin, m."""

ALONG_MAX_RAD = 0.2
"""Maximum angle between two lines of one road."""

GHOST_FACTOR = 2.0
"""A line is a ghost (a reflection) if a line too close to it is stronger by at least this factor."""

GHOST_WITHIN_M = 1.9
"""Distance between two lines, m, below which they are too close."""

GHOST_X_M = 10.0
"""Second distance ahead, m, at which the distance between two lines is compared."""

GHOST_LENGTH_M = 20.0
"""Maximum length of paint, m, that counts for a line's strength."""

LANE_WIDTH_MIN_M, LANE_WIDTH_MAX_M = 2.3, 5.5
"""Possible widths of a lane, m."""

CONFIDENCE_X_M, CONFIDENCE_WITHIN_M = 15.0, 0.2
"""A line is right if its error at `CONFIDENCE_X_M` ahead is at most `CONFIDENCE_WITHIN_M`."""

CONFIDENCE_WEIGHTS = np.array([-5.4, -2.15, 2.06, 1.02, 0.67, 1.34, 1.16])
"""Weights of `confidence_features`, by logistic regression on 3900 reported lines of 15 standing places and 3 drives on
five maps, in all weathers."""

CONFIDENCE_SIGMA_FLOOR_M = 0.07
"""Standard deviation of a line beyond the filter's own, m."""

LINE_SCORE_MIN = 0.03
"""Minimum `line_score` of a line."""

PAINT_MIN = 0.08
"""Minimum paint probability of a line."""

ROAD_PAINT_MIN = 0.2
"""Minimum of paint probability times existence of the best line; below it no line is reported."""

ROAD_CONFIDENCE_MIN = 0.1
"""Minimum confidence of the best line; below it no line is reported."""

OTHER_WIDTH_MIN_M, OTHER_WIDTH_MAX_M = 2.8, 4.2
"""Range of the lane width, m, in which the other line of a lane is searched."""

OTHER_WIDTH_CHANGE_M = 0.25
"""Maximum change of this width over 6 m, m."""

OTHER_EXISTENCE_MIN = 0.5
"""Minimum existence of the other line."""

LONE_PAINT_MIN = 0.4
"""Minimum paint probability of a neighbouring lane's line, and of a line whose other line is searched."""

NEIGHBOUR_SCORE_MIN = 0.1
"""Minimum `line_score` of a neighbouring lane's line."""

ALIGNMENT_SLOPE = 0.2
"""Slope at which `alignment` falls to 1/e."""

KIND_LENGTH_M = 7.0
"""Minimum visible length that tells solid from broken, m."""

Candidate = tuple[LineTrack, float]
"""A line and its `line_score`."""


def select_lane_lines(
    tracks: list[LineTrack], stamp: Stamp, side_sigma_max_m: float = SIDE_SIGMA_MAX_M
) -> LaneEstimate:
    """The nearest likely line on each side of the ego; each must be parallel to the strongest line.

    `side_sigma_max_m` is the maximum standard deviation of a line's offset beside the ego.
    """
    near = [track for track in tracks if track.paint_probability >= PAINT_MIN and is_beside(track, side_sigma_max_m)]
    scored = [(track, line_score(track)) for track in near]
    scored = [(track, sure) for track, sure in scored if sure >= LINE_SCORE_MIN]
    if max((track.paint_probability * track.existence for track, _ in scored), default=0.0) < ROAD_PAINT_MIN:
        return LaneEstimate(stamp, None, None)  # nothing looks like paint: there may be no road at all
    guide = max(scored, key=lambda pair: paint_length_m(*pair) * alignment(pair[0]))[0]
    scored = drop_ghosts([pair for pair in scored if is_parallel(pair[0], guide)])
    left = min((p for p in scored if p[0].y_at(SIDE_X_M) > 0.0), key=lambda p: p[0].y_at(SIDE_X_M), default=None)
    right = max((p for p in scored if p[0].y_at(SIDE_X_M) <= 0.0), key=lambda p: p[0].y_at(SIDE_X_M), default=None)
    left, right = check_lane_width(left, right)
    left, right = left or parallel_line(right, tracks, 1.0), right or parallel_line(left, tracks, -1.0)
    is_pair = left is not None and right is not None and width_change_m(left[0], right[0]) <= OTHER_WIDTH_CHANGE_M
    sure = [0.0 if side is None else confidence(side[0], is_pair) for side in (left, right)]
    if max(sure) < ROAD_CONFIDENCE_MIN:
        return LaneEstimate(stamp, None, None)  # even the better line is very unsure
    return LaneEstimate(
        stamp,
        None if left is None else to_lane_line(left[0], sure[0]),
        None if right is None else to_lane_line(right[0], sure[1]),
        None if left is None else neighbour_line(left[0], tracks, 1.0),
        None if right is None else neighbour_line(right[0], tracks, -1.0),
    )


def neighbour_line(border: LineTrack, tracks: list[LineTrack], side: float) -> LaneLine | None:
    """The nearest likely line one lane beyond the ego lane's `border`, to the left (`side` 1) or right (-1)."""

    def gap_m(track: LineTrack) -> float:
        return side * (track.y_at(SIDE_X_M) - border.y_at(SIDE_X_M))

    beyond = [
        track
        for track in tracks
        if LANE_WIDTH_MIN_M <= gap_m(track) <= LANE_WIDTH_MAX_M
        and track.paint_probability >= LONE_PAINT_MIN
        and line_score(track) >= NEIGHBOUR_SCORE_MIN
        and is_parallel(track, border)
    ]
    found = min(beyond, key=gap_m, default=None)
    if found is None:
        return None
    left, right = (found, border) if side > 0.0 else (border, found)
    return to_lane_line(found, confidence(found, width_change_m(left, right) <= OTHER_WIDTH_CHANGE_M))


def check_lane_width(left: Candidate | None, right: Candidate | None) -> tuple[Candidate | None, Candidate | None]:
    """Both lines where their distance is a possible lane width, else one.

    Of two lines too close the likelier stays, of two too far apart the nearer.
    """
    if left is None or right is None:
        return left, right
    width = left[0].y_at(SIDE_X_M) - right[0].y_at(SIDE_X_M)
    if width < LANE_WIDTH_MIN_M:
        return (left, None) if left[1] >= right[1] else (None, right)
    if width > LANE_WIDTH_MAX_M:
        return (left, None) if left[0].y_at(SIDE_X_M) <= -right[0].y_at(SIDE_X_M) else (None, right)
    return left, right


def parallel_line(line: Candidate | None, tracks: list[LineTrack], side: float) -> Candidate | None:
    """The track that is parallel to `line` at a lane's width, on its left (`side` 1) or right (-1).

    It may look little like paint, worn or half under glare; its position makes it likely.
    """
    if line is None or line[0].paint_probability < LONE_PAINT_MIN:
        return None

    def width_change(track: LineTrack) -> float:
        if not is_beside(track) or track.existence < OTHER_EXISTENCE_MIN:
            return np.inf
        return width_change_m(track, line[0]) if side > 0.0 else width_change_m(line[0], track)

    best = min(tracks, key=width_change, default=None)
    return None if best is None or width_change(best) > OTHER_WIDTH_CHANGE_M else (best, line_score(best))


def width_change_m(left: LineTrack, right: LineTrack) -> float:
    """Change of the lane's width (m) between the two lines over 6 m; infinite where no lane has such a width."""
    near, far = (left.y_at(x) - right.y_at(x) for x in (SIDE_X_M, GHOST_X_M))
    return abs(far - near) if OTHER_WIDTH_MIN_M <= near <= OTHER_WIDTH_MAX_M else np.inf


def drop_ghosts(scored: list[Candidate]) -> list[Candidate]:
    """Drop lines closer to a much stronger one than a lane's width: reflections on a wet road."""
    return [
        (track, sure)
        for track, sure in scored
        if not any(
            paint_length_m(other, other_sure) > GHOST_FACTOR * paint_length_m(track, sure)
            and min(abs(track.y_at(x) - other.y_at(x)) for x in (SIDE_X_M, GHOST_X_M)) < GHOST_WITHIN_M
            for other, other_sure in scored
            if other is not track
        )
    ]


def paint_length_m(track: LineTrack, sure: float) -> float:
    """Metres of likely paint; the square root of the coverage lets dashes count more than their painted share."""
    return sure * min(track.x_max_m - track.x_min_m, GHOST_LENGTH_M) * sqrt(max(track.coverage, 0.0))


def alignment(track: LineTrack) -> float:
    """How parallel the line is to the car, in [0, 1]: a car seldom stands askew in its lane."""
    return float(np.exp(-((track.slope_at(SIDE_X_M) / ALIGNMENT_SLOPE) ** 2)))


def is_beside(track: LineTrack, sigma_max_m: float = SIDE_SIGMA_MAX_M) -> bool:
    """Whether the line passes next to the ego and is seen near enough for this to be sure."""
    near = abs(track.y_at(SIDE_X_M)) <= SIDE_REACH_M and track.sigma_at(SIDE_X_M) <= sigma_max_m
    is_straight = abs(track.slope_at(SIDE_X_M)) <= SIDE_SLOPE_MAX
    return near and is_straight and track.x_min_m <= SIDE_SEEN_WITHIN_M


def is_parallel(track: LineTrack, guide: LineTrack) -> bool:
    """Whether two lines could belong to one road: nearly the same direction at the same distance."""
    x_m = max(SIDE_X_M, min(track.x_min_m, guide.x_max_m))
    return abs(float(np.arctan(track.slope_at(x_m)) - np.arctan(guide.slope_at(x_m)))) <= ALONG_MAX_RAD


def line_score(track: LineTrack) -> float:
    """Score of a line: existence, times probability of paint, times probability of an error below 0.2 m at 15 m."""
    sigma = float(np.hypot(track.sigma_at(CONFIDENCE_X_M), CONFIDENCE_SIGMA_FLOOR_M))
    return track.existence * track.paint_probability * erf(CONFIDENCE_WITHIN_M / (sqrt(2.0) * sigma))


def confidence(track: LineTrack, is_pair: bool) -> float:
    """Calibrated probability that the line is within 0.2 m of the truth at 15 m (see `CONFIDENCE_WEIGHTS`)."""
    return float(1.0 / (1.0 + np.exp(-(CONFIDENCE_WEIGHTS @ confidence_features(track, is_pair)))))


def confidence_features(track: LineTrack, is_pair: bool) -> NDArray[np.float64]:
    """Features of `confidence`: 1, log of the sigma at 15 m, existence, log odds of paint, whether the
    lane's other line is seen and parallel, how far the line is seen, its painted share."""
    sigma = float(np.hypot(track.sigma_at(CONFIDENCE_X_M), CONFIDENCE_SIGMA_FLOOR_M))
    odds = np.clip(track.paint_probability, 0.02, 0.98)
    return np.array(
        [
            1.0,
            np.log(min(sigma, 2.0) / CONFIDENCE_WITHIN_M),
            track.existence,
            np.log(odds / (1.0 - odds)),
            float(is_pair),
            np.clip(track.x_max_m, 5.0, 25.0) / 25.0,
            track.coverage,
        ]
    )


def to_lane_line(track: LineTrack, confidence_: float) -> LaneLine:
    return LaneLine(
        coefficients=tuple(float(c) for c in track.coefficients),
        x_min_m=track.x_min_m,
        x_max_m=max(track.x_max_m, track.x_min_m),
        kind=marking_kind(track),
        colour=marking_colour(track),
        confidence=confidence_,
    )


def marking_kind(track: LineTrack) -> MarkingKind:
    """Solid where the paint is continuous, broken where it has gaps; UNKNOWN where the line is short or in between."""
    if track.double_share > 0.6:
        return MarkingKind.SOLID_SOLID
    if track.x_max_m - track.x_min_m < KIND_LENGTH_M:
        return MarkingKind.UNKNOWN
    if track.coverage > 0.85:
        return MarkingKind.SOLID
    if track.coverage < 0.7:
        return MarkingKind.BROKEN
    return MarkingKind.UNKNOWN


def marking_colour(track: LineTrack) -> MarkingColour:
    if track.yellow_share > 0.6:
        return MarkingColour.YELLOW
    if track.yellow_share < 0.4:
        return MarkingColour.WHITE
    return MarkingColour.UNKNOWN
