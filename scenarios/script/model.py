"""The script of a scenario: named actors, flows of vehicles, and events; part of a scenario's YAML table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from av_core.config import Strict
from av_core.suggest import did_you_mean
from scenarios.script.actions import Action
from scenarios.script.conditions import Condition
from scenarios.script.keys import Metres, Mps, Name, Seconds
from scenarios.script.places import PlaceTable
from scenarios.script.situation import EGO

Blueprint = Annotated[str, Field(min_length=1, max_length=100)]


class ActorTable(Strict):
    """A vehicle, walker or prop with a CARLA blueprint; an event spawns it if `waits` is true, else the start does."""

    blueprint: Blueprint
    place: PlaceTable
    colour: Annotated[str, Field(pattern=r"^\d{1,3},\d{1,3},\d{1,3}$")] | None = None
    waits: bool = False


class FlowTable(Strict):
    """A stream of vehicles that drive along the lanes from `start` to `end` at constant speed, and are removed there.

    * `gap_m`: smallest and largest distance between two vehicles, which is drawn at random for each.
    * `yields`: from when on the vehicles brake behind road users on their path. They always ignore lights and signs.
    * `on`: the flow runs from the start of the drive; otherwise an event starts it.
    * `filled`: on which parts of the path vehicles are spawned at once when the flow starts.
    * `offset_m`: moves the whole path to the left. With `lane` "cycle" it leads along cycle lanes.
    * `clears`: background traffic on the path is removed while the flow is on.
    """

    start: PlaceTable
    end: PlaceTable
    speed_mps: Annotated[Mps, Field(gt=0.0)]
    gap_m: tuple[Annotated[Metres, Field(ge=3.0)], Annotated[Metres, Field(ge=3.0)]]
    blueprints: Annotated[tuple[Blueprint, ...], Field(min_length=1, max_length=50)] = (
        "vehicle.audi.a2",
        "vehicle.nissan.patrol",
        "vehicle.seat.leon",
        "vehicle.toyota.prius",
    )
    on: bool = False
    yields: Literal["never", "after_collision", "always"] = "never"
    filled: Literal["no", "outside_junctions", "everywhere"] = "no"
    offset_m: Annotated[float, Field(ge=-20.0, le=20.0)] = 0.0
    lane: Literal["driving", "cycle"] = "driving"
    clears: bool = False

    @model_validator(mode="after")
    def _check_gap(self) -> FlowTable:
        if self.gap_m[0] > self.gap_m[1]:
            raise ValueError("gap_m needs the smaller distance first")
        return self


class EventTable(Strict):
    """An event, which happens once: the first time that `when` holds, the actions of `do` are done in their order.

    It does not happen after the event `until` has happened.
    """

    name: Name
    when: Condition
    until: Name | None = None
    do: Annotated[tuple[Action, ...], Field(max_length=50)] = ()


class PartTable(Strict):
    """A part of a script that is judged on its own: it runs from the event `begin` to the event `end`.

    * `type`: the Leaderboard scenario type that the part plays.
    * `timeout_s`: time after which the event `end` happens even if its condition does not hold. This counts against the
      ego. A part with a time-out allows the ego to stand for a long time meanwhile.
    * `allows_oncoming_lane`: the ego may drive in the oncoming lane while the part runs.
    * `emergency`: the actor that must be ahead of the ego at the end.
    * `actors`: the actors that the part needs. If one of them cannot be spawned, the part ends soon, and nothing counts
      against the ego.
    """

    type: Name
    begin: Name
    end: Name
    timeout_s: Annotated[Seconds, Field(gt=0.0)] | None = None
    allows_oncoming_lane: bool = False
    emergency: Name | None = None
    actors: Annotated[tuple[Name, ...], Field(max_length=500)] = ()


class Script(Strict):
    """The actors, flows, events and parts of a scenario: all that happens besides the ego and the ordinary traffic.

    The ego starts at `ego_place` where that is given, else at the start of its route.

    Raises ValueError, which pydantic reports, for names that do not exist and for events that can never happen.
    """

    actors: dict[Name, ActorTable] = Field(default_factory=dict, max_length=2000)
    flows: dict[Name, FlowTable] = Field(default_factory=dict, max_length=500)
    events: Annotated[tuple[EventTable, ...], Field(max_length=2000)] = ()
    parts: dict[Name, PartTable] = Field(default_factory=dict, max_length=500)
    ego_place: PlaceTable | None = None

    @model_validator(mode="after")
    def _check_names(self) -> Script:
        if EGO in self.actors:
            raise ValueError(f"actors: the name {EGO} is the ego's")
        names: dict[str, None] = {}
        for event in self.events:
            if event.name in names:
                raise ValueError(f"events: two have the name {event.name}")
            names[event.name] = None
        for event in self.events:
            where = f"event {event.name}"
            _check_known(where, "actor", event.when.actors() - {EGO}, self.actors)
            asked = {*_asked_events(event.when), *([event.until] if event.until is not None else [])}
            _check_known(where, "event", asked, names)
            for action in event.do:
                _check_known(where, "actor", {action.actor()} - {None}, self.actors)  # type: ignore[arg-type]
                _check_known(where, "flow", {action.flow()} - {None}, self.flows)  # type: ignore[arg-type]
        for name, part in self.parts.items():
            _check_known(f"part {name}", "event", {part.begin, part.end}, names)
            _check_known(f"part {name}", "actor", {part.emergency} - {None}, self.actors)  # type: ignore[arg-type]
            if part.begin == part.end:
                raise ValueError(f"part {name}: begin and end are the same event {part.begin}")
        _check_reachable(self)
        return self


def _check_known(where: str, what: str, asked: set[str], known: Mapping[str, object]) -> None:
    for name in sorted(asked - known.keys()):
        there = f"there are {', '.join(sorted(known))}" if known else f"there is no {what}"
        raise ValueError(f"{where}: no {what} {name}{did_you_mean(name, list(known))}; {there}")


def _asked_events(condition: Condition) -> Iterator[str]:
    """The names of all events that a condition mentions, at any depth."""
    if condition.event is not None:
        yield condition.event
    for part in condition.parts():
        yield from _asked_events(part)


def _check_reachable(script: Script) -> None:
    """Find events that can never happen: they wait for each other, or for an actor that nothing ever spawns."""
    there = {name for name, actor in script.actors.items() if not actor.waits} | {EGO}
    happened: set[str] = set()
    waiting = list(script.events)
    while ready := [event for event in waiting if event.when.events() <= happened and event.when.needs() <= there]:
        for event in ready:
            waiting.remove(event)
            happened.add(event.name)
            there |= {action.spawn for action in event.do if action.spawn is not None}
    if waiting:
        event = waiting[0]
        missing = sorted(event.when.events() - happened) or sorted(event.when.needs() - there)
        raise ValueError(f"event {event.name} can never happen: it waits for {', '.join(missing)}")
