"""Collisions of the ego, counted as the CARLA Leaderboard counts them."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from av_core.types import CollisionEvent, Pose2D
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.score import Infractions
from scenarios.judging.tick import Tick, logged

SAME_BODY_S = 5.0
"""A body that was hit does not count again within this time."""

SAME_PLACE_M = 5.0
"""No contact counts until the ego is farther than this from the last counted one."""

STANDING_MPS = 0.1
"""Speed of the ego below which a contact is not its fault."""

NO_BODY = 0
"""CARLA's id for everything that is part of the map."""

Kind = Literal["walker", "vehicle", "static"]

_LOG_KINDS: dict[Kind, InfractionKind] = {
    "walker": InfractionKind.COLLISION_WALKER,
    "vehicle": InfractionKind.COLLISION_VEHICLE,
    "static": InfractionKind.COLLISION_STATIC,
}


def collision_kind(type_id: str) -> Kind | None:
    """The kind of collision with a body of this CARLA type; None for pavements, which do not count."""
    if ("static" in type_id or "traffic" in type_id) and "sidewalk" not in type_id:
        return "static"
    if "vehicle" in type_id:
        return "vehicle"
    return "walker" if "walker" in type_id else None


TICKS_KEPT = 20
"""Number of past ticks that are kept, because a contact may be reported some ticks late."""


@dataclass(frozen=True, slots=True)
class _Before:
    """Place and speed of the ego at one tick."""

    frame: int
    time_s: float
    centre: Pose2D
    speed_mps: float


@dataclass(slots=True)
class Collisions:
    """Counts collisions; several contacts with one body, or at one place, count as one collision.

    Place and speed of a collision are those of the tick before the contact, because the contact may stop the ego.
    """

    descriptions: list[str] = field(default_factory=list)
    _log: list[LoggedInfraction] = field(default_factory=list)
    _counts: Counter[Kind] = field(default_factory=Counter)
    _ticks: deque[_Before] = field(default_factory=lambda: deque(maxlen=TICKS_KEPT))
    _body: int | None = None
    _hit_s: float = 0.0
    _place: Pose2D | None = None

    def update(self, tick: Tick) -> None:
        for event in tick.truth.collisions:
            self._take(event, self._before(event, tick), tick)
        if self._place is not None and _gap_m(self._place, tick.centre) > SAME_PLACE_M:
            self._place = None
        if tick.time_s - self._hit_s > SAME_BODY_S:
            self._body = None
        self._ticks.append(_Before(tick.truth.stamp.frame, tick.time_s, tick.centre, tick.speed_mps))

    @property
    def infractions(self) -> Infractions:
        walkers, vehicles, static = (self._counts[kind] for kind in ("walker", "vehicle", "static"))
        return Infractions(collisions_walker=walkers, collisions_vehicle=vehicles, collisions_static=static)

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        return tuple(self._log)

    def _before(self, event: CollisionEvent, tick: Tick) -> _Before:
        """The ego at the last tick before a contact; if that tick is not kept, at the oldest tick that is."""
        earlier = [one for one in self._ticks if one.frame < event.stamp.frame]
        if earlier:
            return earlier[-1]
        if self._ticks:
            return self._ticks[0]
        return _Before(tick.truth.stamp.frame, tick.time_s, tick.centre, tick.speed_before_mps)

    def _take(self, event: CollisionEvent, before: _Before, tick: Tick) -> None:
        is_near = self._place is not None and _gap_m(self._place, before.centre) <= SAME_PLACE_M
        if event.other_id == self._body or is_near or abs(before.speed_mps) < STANDING_MPS:
            return
        self._hit_s, self._place = before.time_s, before.centre
        if event.other_id != NO_BODY:
            self._body = event.other_id
        kind = collision_kind(event.other)
        if kind is not None:
            self._counts[kind] += 1
            self.descriptions.append(f"{event.other} at frame {event.stamp.frame}, {event.impulse_ns:.0f} N s")
            what = f"hit {event.other} at {3.6 * abs(before.speed_mps):.0f} km/h, {event.impulse_ns:.0f} N s"
            self._log.append(logged(_LOG_KINDS[kind], tick, what))


def _gap_m(one: Pose2D, other: Pose2D) -> float:
    return float(np.hypot(one.x_m - other.x_m, one.y_m - other.y_m))
