"""A way of the ego along lanes, on which a scenario's trigger lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from av_core.types import LaneKey, Pose2D
from scenarios.leaderboard.placing.detours import may_miss
from scenarios.leaderboard.placing.roads import RoadView

JUNCTION_CLEAR_M = 8.0
"""Distance behind a junction at which a waypoint is placed, if the lane is long enough."""

PIECES_MAX = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one lane."""

    lane: LaneKey
    start_s_m: float
    end_s_m: float

    @property
    def length_m(self) -> float:
        return self.end_s_m - self.start_s_m


@dataclass(frozen=True, slots=True)
class Way:
    """The ego's path: a chain of lane pieces. Between two pieces that lie side by side the ego changes lanes."""

    pieces: tuple[Piece, ...]

    @property
    def length_m(self) -> float:
        return sum(piece.length_m for piece in self.pieces)

    def at(self, way_m: float) -> tuple[LaneKey, float]:
        """The lane, and the arc length on it, at a distance along the way."""
        for piece in self.pieces:
            if way_m <= piece.length_m:
                return piece.lane, piece.start_s_m + max(way_m, 0.0)
            way_m -= piece.length_m
        return self.pieces[-1].lane, self.pieces[-1].end_s_m

    def pose(self, view: RoadView, way_m: float) -> Pose2D:
        return view.pose(*self.at(way_m))

    def waypoints(self, view: RoadView, trigger_m: float) -> Iterator[tuple[LaneKey, float]]:
        """Waypoints, as lanes and arc lengths, that lead a planner along this path.

        They are its two ends, and places behind junctions and after lane changes. The trigger is added where a planner
        could miss the first lane on the path to the next waypoint.
        """
        first, *further = self._guides(view)
        yield first
        is_on_first = 0.0 < trigger_m < self.pieces[0].length_m
        if is_on_first and may_miss(view, *first, goal=further[0][0]):
            yield self.at(trigger_m)
        yield from further

    def _guides(self, view: RoadView) -> Iterator[tuple[LaneKey, float]]:
        yield self.pieces[0].lane, self.pieces[0].start_s_m
        for before, piece in zip(self.pieces, self.pieces[1:], strict=False):
            if view.lanes[piece.lane].is_junction or piece is self.pieces[-1]:
                continue
            if piece.lane not in view.lanes[before.lane].successors:
                yield piece.lane, piece.start_s_m + piece.length_m / 2.0
            elif view.lanes[before.lane].is_junction:
                yield piece.lane, piece.start_s_m + min(JUNCTION_CLEAR_M, piece.length_m / 2.0)
        yield self.pieces[-1].lane, self.pieces[-1].end_s_m


def way_along(
    view: RoadView, row: Iterable[LaneKey], at_s_m: float, back_m: float, ahead_m: float
) -> tuple[Way, float] | None:
    """(the path through the lanes of `row`, the distance along it of the place `at_s_m` on the first lane).

    The path begins `back_m` before that place and ends `ahead_m` after it; it is shorter where the road ends. Beyond
    the lanes of `row` it goes straight on. None if one of its ends would have no lane outside junctions.
    """
    lanes = list(row)
    first = view.lanes[lanes[0]]
    before_m, start_s_m = at_s_m, max(at_s_m - back_m, 0.0)
    while before_m < back_m and len(lanes) < PIECES_MAX:
        previous = view.straightest(view.lanes[lanes[0]].predecessors)
        if previous is None or previous in lanes:
            break
        lanes.insert(0, previous)
        before_m += view.lanes[previous].length_m
        start_s_m = max(before_m - back_m, 0.0)
    total_m = sum(view.lanes[key].length_m for key in lanes) - before_m
    while total_m < ahead_m and len(lanes) < PIECES_MAX:
        following = view.straightest(view.lanes[lanes[-1]].successors)
        if following is None or following in lanes:
            break
        lanes.append(following)
        total_m += view.lanes[following].length_m
    pieces = [Piece(key, 0.0, view.lanes[key].length_m) for key in lanes]
    pieces[0] = Piece(lanes[0], start_s_m, pieces[0].end_s_m)
    surplus_m = max(total_m - ahead_m, 0.0)
    while len(pieces) > 1 and surplus_m >= pieces[-1].length_m:
        surplus_m -= pieces.pop().length_m
    pieces[-1] = Piece(pieces[-1].lane, pieces[-1].start_s_m, pieces[-1].end_s_m - surplus_m)
    return _ends_on_roads(view, pieces, before_m - start_s_m, first.key)


def _ends_on_roads(view: RoadView, pieces: list[Piece], trigger_m: float, key: LaneKey) -> tuple[Way, float] | None:
    """The path without the pieces inside junctions at its two ends."""
    while pieces and view.lanes[pieces[0].lane].is_junction:
        trigger_m -= pieces.pop(0).length_m
    while pieces and view.lanes[pieces[-1].lane].is_junction:
        pieces.pop()
    if key not in [piece.lane for piece in pieces]:
        return None
    return Way(tuple(pieces)), trigger_m
