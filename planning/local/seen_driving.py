"""Remembers which vehicles the ego has seen driving in its lane.

One of them that stands waits for something, also where the ego sees no reason: a queue before a light behind a bend
ends far from that light. A vehicle that was never seen driving may be parked or broken down. Bicycles are passed while
they ride, so they are left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from av_core.types import ObjectKind, TrackedObject
from planning.local.occupancy import OnRoad

_NEAR_M, _IN_LANE_M = 35.0, 2.0
"""Vehicles up to this distance ahead, and up to this far from the route, are watched. Beyond it, places and speeds are
not exact enough: a parked vehicle may seem to move."""

_DROVE_M, _DRIVING_MPS = 8.0, 1.0
"""Distance that a vehicle has to move, and speed that it has to exceed, to count as driving."""

_SAME_M, _LOST_S = 4.0, 2.0
"""Largest distance and time between a lost track and a new track of the same vehicle."""

_SLOWED_MPS, _SLOWED_S = 8.5, 1.0
"""A loss of speed, and the time in which no driver can brake so much: the vehicle hit something, or its track has
jumped to something that stands. In both cases it waits for nothing."""


@dataclass(frozen=True, slots=True)
class _Driver:
    """Where and when a vehicle that drove was seen last, in the map frame; and its speeds of late, with their times."""

    x_m: float
    y_m: float
    time_s: float
    speeds: tuple[tuple[float, float], ...]

    @property
    def has_crashed(self) -> bool:
        """Whether it lost more speed than brakes explain."""
        return max(mps for _, mps in self.speeds) - self.speeds[-1][1] > _SLOWED_MPS


class SeenDriving:
    """Tells which vehicles were seen driving; call `update` at every step."""

    def __init__(self) -> None:
        self._first_s_m: dict[int, float] = {}
        self._drivers: dict[int, _Driver] = {}
        self._known: frozenset[int] = frozenset()

    def update(self, ways: Sequence[OnRoad], ego_s_m: float, time_s: float) -> frozenset[int]:
        """The track ids of those that were seen driving, whether they drive or stand now."""
        first: dict[int, float] = {}
        for way in ways:
            item = way.one.item
            if item.kind in (ObjectKind.PEDESTRIAN, ObjectKind.BICYCLE):
                continue
            if item.track_id in self._drivers or self._has_driven(way, ego_s_m, first) or self._is_same(way):
                driver = self._seen_now(item, time_s)
                if driver.has_crashed:
                    del self._drivers[item.track_id]
                    first.pop(item.track_id, None)
                else:
                    self._drivers[item.track_id] = driver
        self._first_s_m, self._known = first, frozenset(way.one.item.track_id for way in ways)
        self._drivers = {number: one for number, one in self._drivers.items() if time_s - one.time_s < _LOST_S}
        return frozenset(self._drivers)

    def _seen_now(self, item: TrackedObject, time_s: float) -> _Driver:
        before = self._drivers.get(item.track_id)
        late = [one for one in before.speeds if time_s - one[0] <= _SLOWED_S] if before is not None else []
        return _Driver(item.x_m, item.y_m, time_s, (*late, (time_s, item.speed_mps)))

    def _has_driven(self, way: OnRoad, ego_s_m: float, first: dict[int, float]) -> bool:
        """Whether a vehicle near the ego has got on since it came near; notes in `first` where that was."""
        item, s_m = way.one.item, float(way.s_m[0])
        if not 0.0 < s_m - ego_s_m < _NEAR_M or abs(float(way.d_m[0])) > _IN_LANE_M:
            return False
        first[item.track_id] = self._first_s_m.get(item.track_id, s_m)
        return s_m - first[item.track_id] > _DROVE_M and item.speed_mps > _DRIVING_MPS

    def _is_same(self, way: OnRoad) -> bool:
        """Whether a new track is at the place of a vehicle that drove."""
        item = way.one.item
        near = (math.hypot(item.x_m - one.x_m, item.y_m - one.y_m) < _SAME_M for one in self._drivers.values())
        return item.track_id not in self._known and any(near)
