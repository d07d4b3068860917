"""Criteria that a drive is judged by, tick by tick, from the simulator's truth and never from the stack's estimates.

Infractions follow CARLA Leaderboard 2 (see `score`), stricter where noted. Each criterion is a small class with an
`update`; `judge.Judge` runs them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from av_core.types import CollisionEvent, Float, LightState, Truth
from scenarios.judging.geometry import StopLines
from scenarios.judging.lane_locator import LanePlace

SAME_COLLISION_S = 2.0
"""Contacts with the same body less than this time apart are one collision."""

STOPPED_MPS = 0.1
"""Below this speed the ego counts as stopped at a stop sign."""

STOP_ZONE_M = 8.0
"""Largest distance before the line at which a stop counts."""

STUCK_MPS = 0.1
"""Below this speed the ego counts as standing still."""


@dataclass(slots=True)
class Collisions:
    """Counts collisions; contacts with one body less than `SAME_COLLISION_S` apart are one collision."""

    walkers: int = 0
    vehicles: int = 0
    static: int = 0
    descriptions: list[str] = field(default_factory=list)
    _last_s: dict[int, float] = field(default_factory=dict)

    def update(self, events: tuple[CollisionEvent, ...]) -> None:
        for event in events:
            before = self._last_s.get(event.other_id)
            self._last_s[event.other_id] = event.stamp.time_s
            if before is not None and event.stamp.time_s - before < SAME_COLLISION_S:
                continue
            if event.other.startswith("walker."):
                self.walkers += 1
            elif event.other.startswith("vehicle."):
                self.vehicles += 1
            else:
                self.static += 1
            self.descriptions.append(f"{event.other} at frame {event.stamp.frame}, {event.impulse_ns:.0f} N s")


@dataclass(slots=True)
class RedLights:
    """Red lights run: the ego's front crosses the stop line while the light is red.

    Leaderboard waits for the rear to cross; the law looks at the front. A crossing does not count where another line at
    the same place shows green (a light for another movement).
    """

    lines: StopLines
    signal_ids: list[str] = field(default_factory=list)

    def update(self, before: Float, after: Float, lights: dict[str, LightState]) -> None:
        rows = self.lines.crossed(before, after)
        states = {self.lines.signal_ids[row]: lights.get(self.lines.signal_ids[row]) for row in rows}
        if states and all(state is LightState.RED for state in states.values()):
            self.signal_ids.append(next(iter(states)))


@dataclass(slots=True)
class StopSigns:
    """Stop signs run: the front crosses the line, and the ego never stopped within `STOP_ZONE_M` before it."""

    lines: StopLines
    signal_ids: list[str] = field(default_factory=list)
    _stopped: set[str] = field(default_factory=set)

    def update(self, before: Float, after: Float, yaw_rad: float, speed_mps: float) -> None:
        if not self.lines.signal_ids:
            return
        if abs(speed_mps) < STOPPED_MPS:
            near = np.flatnonzero(self.lines.distance_before_m(after, yaw_rad) < STOP_ZONE_M)
            self._stopped |= {self.lines.signal_ids[row] for row in near}
        crossed = {self.lines.signal_ids[row] for row in self.lines.crossed(before, after)}
        self.signal_ids += sorted(crossed - self._stopped)
        self._stopped -= crossed


@dataclass(slots=True)
class LaneKeeping:
    """Distance driven outside all lanes and against the traffic, and the cross-track error from the lane's centre.

    `errors_m` are taken outside junctions and lane changes, at the vehicle frame's origin. Each is weighted with the
    distance it stands for, so that standing still does not improve the figure.
    """

    driven_m: float = 0.0
    outside_m: float = 0.0
    wrong_way_m: float = 0.0
    errors_m: list[float] = field(default_factory=list)
    weights_m: list[float] = field(default_factory=list)

    def update(self, places: list[LanePlace], moved_m: float, is_changing: bool) -> None:
        self.driven_m += moved_m
        inside = [place for place in places if place.is_inside]
        along = [place for place in inside if abs(place.heading_error_rad) < np.pi / 2]
        if not inside:
            self.outside_m += moved_m
        elif not along and not any(place.lane.is_junction for place in inside):
            self.wrong_way_m += moved_m
        if is_changing or any(place.lane.is_junction for place in along):
            return
        own = [place for place in places if abs(place.heading_error_rad) < np.pi / 2 and not place.lane.is_junction]
        if own:
            self.errors_m.append(own[0].offset_m)
            self.weights_m.append(moved_m)

    @property
    def rms_m(self) -> float:
        """Root mean square of the cross-track error, weighted by distance."""
        total = sum(self.weights_m)
        if total <= 0.0:
            return 0.0
        return float(np.sqrt(np.average(np.square(self.errors_m), weights=self.weights_m)))

    @property
    def max_m(self) -> float:
        return max((abs(error) for error in self.errors_m), default=0.0)

    @property
    def outside_share(self) -> float:
        """Share [0, 1] of the distance that was outside all lanes or against the traffic."""
        return min(1.0, (self.outside_m + self.wrong_way_m) / self.driven_m) if self.driven_m > 0.0 else 0.0


@dataclass(slots=True)
class Stuck:
    """How long the ego has stood still without interruption (Leaderboard's ActorBlockedTest ends the run at 180 s)."""

    standing_s: float = 0.0
    _last_s: float | None = None

    def update(self, truth: Truth) -> None:
        elapsed = 0.0 if self._last_s is None else truth.stamp.time_s - self._last_s
        self._last_s = truth.stamp.time_s
        self.standing_s = self.standing_s + elapsed if abs(truth.ego_speed_mps) < STUCK_MPS else 0.0
