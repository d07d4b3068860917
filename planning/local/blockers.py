"""Finds obstacles: road users that block the lane for good, so that the ego may pass them instead of waiting behind
them.

A vehicle that waits in a queue before a light, a sign or a junction is not an obstacle. An ego that passed it would
enter the junction on the wrong side of the road.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from av_core.frames import wrap_angle
from av_core.types import CameraModel, LightState, ObjectKind, SignalKind, TrafficLightView
from planning.local.occupancy import OnRoad
from planning.local.seen_driving import SeenDriving
from planning.reference_path import Route, RouteSignal

_STANDING_MPS, _STOOD_MPS, _STOOD_M = 0.5, 2.0, 3.0
"""Speed below which a road user stands; and the speed, and the distance from where it began to stand, up to which it
still does. From 40 m, the measured speed of a parked car is up to 1 m/s for a moment."""

_AFTER_S, _AFTER_GREEN_S, _AFTER_NEAR_JUNCTION_S = 2.0, 4.0, 8.0
"""Time after which a vehicle that stands for no visible reason counts as an obstacle: on the open road, before a green
light, and where it may wait for traffic at a junction without lights."""

_AFTER_CYCLE_S, _ACROSS_RAD = 60.0, 0.35
"""The same time, a whole cycle of a light, for two kinds of vehicles: those that the ego saw driving, since the
light for which they wait may be behind a bend; and those that stand in a junction, turned from the ego's path by
more than the angle, since they wait for others there."""

_LONG_S = 10.0
"""Time after which a vehicle that stands where the ego may pass slow ones is passed by a tight way, too."""

_NEAR_JUNCTION_M, _AT_LINE_M, _QUEUE_GAP_M = 30.0, 9.0, 12.0
"""Distance before a junction within which a vehicle may wait for traffic; from a vehicle to the line at which it waits
for a light or a sign; and between two vehicles of one queue."""

_IN_LANE_M = 2.0
"""Largest distance between the route and the centre of a vehicle in a queue on it."""

_BEHIND_M, _CUT_M = 15.0, 14.0
"""Range behind and ahead of the ego's origin in which the position of an obstacle is held."""

_GONE_AFTER_S = 1.0
"""An obstacle that should be completely in view and was not seen for this time has gone."""

_UNSEEN_S = 20.0
"""An obstacle ahead of the ego's front that no sensor saw for this time has gone, too: it may have been a radar's
ghost. Obstacles beside the ego are kept, since no sensor sees them there."""

_ELSEWHERE_M = 8.0
"""A track farther than this from the held position of its obstacle belongs to another object."""

_SETS_OFF_MPS, _SETS_OFF_M = 1.5, 0.5
"""An obstacle completely in view that is faster than this, and farther than this from where it is held, has set off."""

_SLOW_MPS, _SIDEWAYS_M = 6.0, 0.5
"""Speed below which a bicycle is passed while it rides; and its sideways motion in a second from which on it
crosses the road instead."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Track ids: `obstacles` may be passed; `suspects` are these and those that stand for no visible reason yet.

    The ego passes nothing beyond the road users in `not_passed` either. They stand in a junction, turned from the ego's
    path, and wait there for others; or the ego has seen them driving. Those in `stood` have stood for long for no
    visible reason.
    """

    obstacles: frozenset[int]
    suspects: frozenset[int]
    not_passed: frozenset[int]
    stood: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Stand:
    """Since when a road user stands for no visible reason, and where it began."""

    since_s: float
    x_m: float
    y_m: float


class Blockers:
    """Remembers since when each road user stands without a visible reason, and which ones are obstacles.

    An obstacle remains one until it moves, also behind the ego, which may still be beside it.
    """

    def __init__(self) -> None:
        self._since: dict[int, _Stand] = {}
        self._standing: frozenset[int] = frozenset()
        self._seen_driving = SeenDriving()

    def update(
        self,
        ways: Sequence[OnRoad],
        route: Route,
        lights: Mapping[str, TrafficLightView],
        ego_s_m: float,
        time_s: float,
    ) -> Standing:
        """The road users that may be passed now, and those that may be passed soon."""
        since: dict[int, _Stand] = {}
        found, across, queue_s_m = set[int](), set[int](), float("inf")
        drove = self._seen_driving.update(ways, ego_s_m, time_s)
        slow = frozenset(
            way.one.item.track_id
            for way in ways
            if way.one.item.kind is ObjectKind.BICYCLE
            and way.one.item.speed_mps < _SLOW_MPS
            and abs(float(way.d_m[2] - way.d_m[0])) < _SIDEWAYS_M
        )
        for way in sorted(ways, key=lambda one: -float(one.s_m[0])):
            item, s_m, rear_s_m = way.one.item, float(way.s_m[0]), float(way.s_m[0] - way.half_s_m[0])
            if item.kind is ObjectKind.PEDESTRIAN or not self._stands(way):
                continue
            if item.track_id in self._standing:
                found.add(item.track_id)
                continue
            if s_m < ego_s_m:  # who stands behind the ego waits for it
                continue
            front_s_m = s_m + float(way.half_s_m[0])
            lines = [signal for signal in route.signals if s_m <= signal.stop_s_m < front_s_m + _AT_LINE_M]
            is_in_queue = queue_s_m - front_s_m < _QUEUE_GAP_M
            if abs(float(way.d_m[0])) < _IN_LANE_M and (
                is_in_queue or not all(_is_green(one, lights) for one in lines)
            ):
                queue_s_m = rear_s_m
                continue
            since[item.track_id] = self._since.get(item.track_id, _Stand(time_s, item.x_m, item.y_m))
            if time_s - since[item.track_id].since_s >= _wait_s(route, way, bool(lines), item.track_id in drove):
                found.add(item.track_id)
            elif _is_across(route, way):
                across.add(item.track_id)
        self._since, self._standing = since, frozenset(found)
        passed = self._standing | slow
        drivers = drove - passed
        stood = frozenset(number for number, one in since.items() if time_s - one.since_s > _LONG_S)
        return Standing(passed, passed | (since.keys() - drivers), drivers | across, stood)

    def _stands(self, way: OnRoad) -> bool:
        """Whether a road user stands, or still stands."""
        item = way.one.item
        if item.speed_mps <= _STANDING_MPS:
            return True
        if item.speed_mps > _STOOD_MPS:
            return False
        stood = self._since.get(item.track_id)
        is_there = stood is not None and math.hypot(item.x_m - stood.x_m, item.y_m - stood.y_m) < _STOOD_M
        return is_there or item.track_id in self._standing


@dataclass(frozen=True, slots=True)
class FrontView:
    """What the front camera shows: from `x_m` ahead of the ego's origin on, to `slope` metres aside per metre ahead."""

    x_m: float
    slope: float

    @classmethod
    def of(cls, camera: CameraModel) -> FrontView:
        return cls(camera.x_m, math.tan(0.5 * camera.fov_x_rad))

    def shows(self, way: OnRoad, s_m: float, offset_m: float) -> bool:
        """Whether it shows all of a road user to an ego that drives along the route there."""
        ahead_m = float(way.s_m[0] - way.half_s_m[0]) - s_m - self.x_m
        return abs(float(way.d_m[0]) - offset_m) + float(way.half_d_m[0]) < self.slope * ahead_m


class PassedObstacles:
    """Holds the obstacles beside the ego at the positions where they were last completely in view.

    A vehicle that the edge of the picture cuts seems to move, and beside the ego it is not seen at all. An obstacle has
    gone if the `view` should show it and does not. One before the ego's front (`front_m` from its origin) has gone if
    its track is seen elsewhere, or if nothing has seen it for long. One that sets off in view is not held any more.
    """

    def __init__(self, view: FrontView | None = None, front_m: float = 0.0) -> None:
        self._view, self._front_m = view, front_m
        self._held: dict[int, OnRoad] = {}
        self._missed_since_s: dict[int, float] = {}
        self._unseen_since_s: dict[int, float] = {}

    def settle(self, seen: Sequence[OnRoad], s_m: float, offset_m: float, time_s: float) -> list[OnRoad]:
        """`seen`, with the obstacles that are near the ego as they were held; the ego is at `s_m` and `offset_m`."""
        for way in seen:
            if way.one.item.track_id in self._held and self._sets_off(way, s_m, offset_m):
                del self._held[way.one.item.track_id]
        held = [way for way in seen if way.one.item.track_id in self._held]
        there = {way.one.item.track_id for way in held if self._is_there(way)}
        elsewhere = {way.one.item.track_id for way in held} - there
        ahead = {
            number for number, way in self._held.items() if float(way.s_m[0] - way.half_s_m[0]) > s_m + self._front_m
        }
        missed = {
            number: self._missed_since_s.get(number, time_s)
            for number, way in self._held.items()
            if (number not in there and self._view is not None and self._view.shows(way, s_m, offset_m))
            or (number in elsewhere and number in ahead)
        }
        unseen = {number: self._unseen_since_s.get(number, time_s) for number in ahead - there}
        self._missed_since_s, self._unseen_since_s = missed, unseen
        self._held = {
            number: way
            for number, way in self._held.items()
            if -_BEHIND_M < float(way.s_m[0]) - s_m < _CUT_M
            and time_s - missed.get(number, time_s) < _GONE_AFTER_S
            and time_s - unseen.get(number, time_s) < _UNSEEN_S
        }
        return [*(way for way in seen if way.one.item.track_id not in self._held), *self._held.values()]

    def _is_there(self, way: OnRoad) -> bool:
        """Whether a track is still where its obstacle is held."""
        return self._moved_m(way) < _ELSEWHERE_M

    def _sets_off(self, way: OnRoad, s_m: float, offset_m: float) -> bool:
        """Whether a track that is completely in view leaves the place where its obstacle is held."""
        is_in_view = self._view is not None and self._view.shows(way, s_m, offset_m)
        return is_in_view and way.one.item.speed_mps > _SETS_OFF_MPS and self._moved_m(way) > _SETS_OFF_M

    def _moved_m(self, way: OnRoad) -> float:
        """Distance of a track from the place where its obstacle is held."""
        held = self._held[way.one.item.track_id]
        return math.hypot(float(way.s_m[0] - held.s_m[0]), float(way.d_m[0] - held.d_m[0]))

    def hold(self, ways: Sequence[OnRoad], obstacles: frozenset[int]) -> None:
        """Store the positions of those of `ways` that stand and are among `obstacles`."""
        for way in ways:
            if way.one.item.track_id in obstacles and not way.is_moving:
                self._held.setdefault(way.one.item.track_id, way)


def _is_green(signal: RouteSignal, lights: Mapping[str, TrafficLightView]) -> bool:
    view = lights.get(signal.signal_id)
    return signal.kind is SignalKind.TRAFFIC_LIGHT and view is not None and view.state is LightState.GREEN


def _wait_s(route: Route, way: OnRoad, is_at_green: bool, has_driven: bool) -> float:
    """The time after which a vehicle that stands for no visible reason counts as an obstacle."""
    if has_driven or _is_across(route, way):
        return _AFTER_CYCLE_S
    if is_at_green:
        return _AFTER_GREEN_S
    return _AFTER_NEAR_JUNCTION_S if _is_before_junction(route, float(way.s_m[0])) else _AFTER_S


def _is_across(route: Route, way: OnRoad) -> bool:
    """Whether a road user is in a junction, and turned from the ego's path."""
    s_m = float(way.s_m[0])
    turn_rad = abs(float(wrap_angle(way.one.item.yaw_rad - float(route.curve.pose_at(s_m)[2]))))
    return bool(route.is_junction[route.row_at(s_m)]) and turn_rad > _ACROSS_RAD


def _is_before_junction(route: Route, s_m: float) -> bool:
    rows = slice(route.row_at(s_m), route.row_at(s_m + _NEAR_JUNCTION_M) + 1)
    return bool(route.is_junction[rows].any())
