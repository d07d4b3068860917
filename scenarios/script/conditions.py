"""The conditions of events (`when`), and whether they hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from av_core.config import Strict
from av_core.types import Pose2D
from scenarios.script.keys import Metres, Mps, Name, OneKey, Seconds
from scenarios.script.places import PlaceTable, Roads
from scenarios.script.situation import EGO, Situation, distance_m, is_ahead, speed_mps

STANDING_MPS = 0.1
"""Below this speed an actor stands."""


class Target(Strict):
    """An actor by name, or a place: exactly one of them."""

    actor: Name | None = None
    place: PlaceTable | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Target:
        if (self.actor is None) == (self.place is None):
            raise ValueError("either actor or place is needed")
        return self


class DistanceTable(Target):
    """The actor `of` is nearer to the target than `below_m`, or farther away than `above_m`, in a straight line."""

    of: Name = EGO
    below_m: Metres | None = None
    above_m: Metres | None = None

    @model_validator(mode="after")
    def _check_bound(self) -> DistanceTable:
        if (self.below_m is None) == (self.above_m is None):
            raise ValueError("either below_m or above_m is needed")
        return self


class ArrivalTable(Target):
    """The actor `of` would reach the target in less than `below_s`: straight distance divided by its speed.

    The condition does not hold while the actor stands.
    """

    of: Name = EGO
    below_s: Seconds


class SpeedTable(Strict):
    """The actor `of` is faster than `above_mps`, or slower than `below_mps`."""

    of: Name = EGO
    above_mps: Mps | None = None
    below_mps: Mps | None = None

    @model_validator(mode="after")
    def _check_bound(self) -> SpeedTable:
        if self.above_mps is None and self.below_mps is None:
            raise ValueError("above_mps or below_mps is needed")
        return self


class StandstillTable(Strict):
    """The actor `of` has stood for `for_s` without a break."""

    of: Name = EGO
    for_s: Seconds


class PassedTable(Target):
    """The actor `of` is in front of the target, and at least `by_m` away from it."""

    of: Name = EGO
    by_m: Metres = 0.0


class DrivenTable(Strict):
    """The actor `of` has moved by `by_m` since an event."""

    of: Name = EGO
    event: Name
    by_m: Metres


class AfterTable(Strict):
    """An event happened `delay_s` ago."""

    event: Name
    delay_s: Seconds = 0.0


class Condition(OneKey):
    """When an event happens. `time_s` counts from the start of the drive, `route_m` along the ego's route."""

    time_s: Seconds | None = None
    route_m: Metres | None = None
    distance: DistanceTable | None = None
    arrival: ArrivalTable | None = None
    speed: SpeedTable | None = None
    standstill: StandstillTable | None = None
    passed: PassedTable | None = None
    driven: DrivenTable | None = None
    after: AfterTable | None = None
    any: Annotated[tuple[Condition, ...], Field(min_length=1, max_length=20)] | None = None
    all: Annotated[tuple[Condition, ...], Field(min_length=1, max_length=20)] | None = None

    def parts(self) -> tuple[Condition, ...]:
        """The conditions that this one is made of; empty unless it is `any` or `all`."""
        return self.any or self.all or ()

    @property
    def event(self) -> str | None:
        """The event that this condition names itself, outside its parts; None if it names none."""
        own = self.value
        return own.event if isinstance(own, (AfterTable, DrivenTable)) else None

    def actors(self) -> set[str]:
        """The names of the actors that this condition and its parts mention."""
        own = self.value
        names = {name for part in self.parts() for name in part.actors()}
        names |= (
            {own.of}
            if isinstance(own, (DistanceTable, ArrivalTable, SpeedTable, StandstillTable, PassedTable, DrivenTable))
            else set()
        )
        return names | ({own.actor} if isinstance(own, Target) and own.actor is not None else set())

    def needs(self) -> set[str]:
        """The names of the actors without which the condition cannot hold."""
        return self.actors() if not self.parts() else self._common([part.needs() for part in self.parts()])

    def events(self) -> set[str]:
        """The names of the events without which the condition cannot hold."""
        if self.event is not None:
            return {self.event}
        return self._common([part.events() for part in self.parts()])

    def _common(self, names: list[set[str]]) -> set[str]:
        """The names in any of the sets `names` for an `all` condition, and the names in each of them for `any`."""
        if not names:
            return set()
        return set.intersection(*names) if self.any is not None else set.union(*names)


class Watch:
    """Decides at each tick whether a condition holds; call `holds` once per tick."""

    def __init__(self, condition: Condition, roads: Roads, what: str) -> None:
        self._condition = condition
        self._parts = [Watch(part, roads, what) for part in condition.parts()]
        own = condition.value
        self._place = roads.pose(own.place, what) if isinstance(own, Target) and own.place is not None else None
        self._stood_s = 0.0
        self._driven_m = 0.0

    def holds(self, now: Situation) -> bool:
        """Whether the condition holds now. A condition on an actor that does not exist now does not hold."""
        own = self._condition
        if self._parts:
            parts = [part.holds(now) for part in self._parts]  # all of them, since some count time
            return any(parts) if own.any is not None else all(parts)
        if own.time_s is not None:
            return now.time_s >= own.time_s
        if own.route_m is not None:
            return now.route_m >= own.route_m
        if own.after is not None:
            return own.after.event in now.fired_s and now.time_s >= now.fired_s[own.after.event] + own.after.delay_s
        return all(name in now.actors for name in own.actors()) and self._holds_for_actors(now)

    def _holds_for_actors(self, now: Situation) -> bool:
        own = self._condition
        if own.distance is not None:
            gap_m = distance_m(now.actors[own.distance.of].pose, self._target(own.distance, now))
            near, far = own.distance.below_m, own.distance.above_m
            return (near is None or gap_m < near) and (far is None or gap_m > far)
        if own.arrival is not None:
            of = now.actors[own.arrival.of]
            return distance_m(of.pose, self._target(own.arrival, now)) < own.arrival.below_s * speed_mps(of)
        if own.speed is not None:
            fast, slow, speed = own.speed.above_mps, own.speed.below_mps, speed_mps(now.actors[own.speed.of])
            return (fast is None or speed > fast) and (slow is None or speed < slow)
        if own.standstill is not None:
            stands = speed_mps(now.actors[own.standstill.of]) < STANDING_MPS
            self._stood_s = self._stood_s + now.step_s if stands else 0.0
            return stands and self._stood_s >= own.standstill.for_s
        if own.driven is not None:
            has_begun = own.driven.event in now.fired_s
            self._driven_m += speed_mps(now.actors[own.driven.of]) * now.step_s if has_begun else 0.0
            return has_begun and self._driven_m >= own.driven.by_m
        assert own.passed is not None
        at, target = now.actors[own.passed.of].pose, self._target(own.passed, now)
        return is_ahead(target, at) and distance_m(at, target) >= own.passed.by_m

    def _target(self, target: Target, now: Situation) -> Pose2D:
        if self._place is not None:
            return self._place
        assert target.actor is not None
        return now.actors[target.actor].pose
