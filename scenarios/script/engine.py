"""Plays a script: decides at each tick which events happen and what the actors do. No clock, no simulator, no files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from av_core.curve import Curve
from av_core.orders import Destroy, DriveItself, Hold, OpenDoor, Order, SetSignal, ShowLights, Spawn
from av_core.types import VehicleLights
from planning import PlanningConfig, find_route
from scenarios.script.actions import (
    Action,
    ChangeLaneTable,
    CrossTable,
    DoorTable,
    DriveTable,
    FollowLaneTable,
    LightsTable,
    Pace,
    SignalTable,
    StopTable,
)
from scenarios.script.conditions import Watch
from scenarios.script.flows import Flow
from scenarios.script.model import EventTable, FlowTable, Script
from scenarios.script.motion import Motion, wanted_speed
from scenarios.script.parts import PartRun, Parts
from scenarios.script.places import Roads
from scenarios.script.situation import Situation, speed_mps
from scenarios.script.ways import Ways, ahead, straight

WALKER = "walker."
VEHICLE = "vehicle."
"""How the blueprints of walkers and of vehicles begin."""


class Engine:
    """Plays `script` on a map with the ego's route. Call `begin` once, then `step` after every tick.

    Equal situations give equal orders: chance comes from `seed` alone. `fired_s` tells when each event happened, and
    `parts` how each part went.

    Raises RouteError where a place of the script is not on the map, or a flow has no way.
    """

    def __init__(self, script: Script, roads: Roads, seed: int) -> None:
        self._script, self._roads = script, roads
        self._ways = Ways(roads.graph)
        self._places = {name: roads.pose(actor.place, f"actor {name}") for name, actor in script.actors.items()}
        self._waiting = [(event, Watch(event.when, roads, f"event {event.name}")) for event in script.events]
        self._flows = {
            name: Flow(name, flow, self._flow_way(name, flow), np.random.default_rng((seed, number)))
            for number, (name, flow) in enumerate(script.flows.items())
        }
        self._motions: dict[str, Motion] = {}
        self._signals_until_s: dict[str, float] = {}
        self._parts = Parts(script.parts)
        self.fired_s: dict[str, float] = {}

    @property
    def parts(self) -> dict[str, PartRun]:
        """How each part went so far, by its name; the same object throughout."""
        return self._parts.runs

    def begin(self) -> tuple[Order, ...]:
        """The orders before the first tick: the actors that are there from the start."""
        there = [name for name, actor in self._script.actors.items() if not actor.waits]
        return tuple(order for name in there for order in self._spawn(name))

    def step(self, now: Situation) -> tuple[Order, ...]:
        """The orders after a tick. An event sees those that happened before it in the same tick."""
        orders: list[Order] = []
        overdue = self._parts.overdue_ends(now.time_s)
        for event, watch in list(self._waiting):
            holds = watch.holds(_with_events(now, self.fired_s))
            if holds or event.name in overdue:
                self._waiting = [(other, its) for other, its in self._waiting if other is not event]
                self.fired_s[event.name] = now.time_s
                self._parts.note(event.name, now.time_s, is_forced=not holds)
                orders += [order for action in event.do for order in self._act(action, event, now)]
        orders += self._end_signals(now)
        for name, motion in self._motions.items():
            if name in now.actors:
                orders.append(motion.step(name, now.actors[name], now))
        for flow in self._flows.values():
            orders += flow.step(now)
        return tuple(orders)

    def _spawn(self, name: str) -> Iterator[Order]:
        actor = self._script.actors[name]
        attributes = {"color": actor.colour} if actor.colour is not None else {}
        yield Spawn(name, actor.blueprint, self._places[name], attributes=attributes)
        if actor.blueprint.startswith(VEHICLE):
            yield Hold(name)

    def _act(self, action: Action, event: EventTable, now: Situation) -> Iterator[Order]:
        own = action.value
        if action.spawn is not None:
            yield from self._spawn(action.spawn)
        elif action.despawn is not None:
            self._motions.pop(action.despawn, None)
            yield Destroy(action.despawn)
        elif action.autopilot is not None:
            self._motions.pop(action.autopilot, None)
            yield DriveItself(action.autopilot)
        elif action.flow() is not None:
            self._flows[str(action.flow())].is_on = action.start_flow is not None
        elif isinstance(own, DoorTable):
            yield OpenDoor(own.actor, own.door)
        elif isinstance(own, LightsTable):
            lights = VehicleLights(False, own.low_beam, own.brake, own.left, own.right, own.hazard)
            yield ShowLights(own.actor, lights, own.emergency)
        elif isinstance(own, SignalTable):
            for signal_id in own.ids:
                yield SetSignal(signal_id, own.state)
                self._signals_until_s[signal_id] = now.time_s + own.for_s if own.for_s is not None else np.inf
        elif isinstance(own, StopTable):
            if own.actor in self._motions:
                self._motions[own.actor].stop(own.deceleration_mps2)
            elif own.actor in now.actors:
                yield from self._stop_at_once(own, now)
        elif isinstance(own, Pace):
            self._start(own, f"event {event.name}", now)

    def _stop_at_once(self, stop: StopTable, now: Situation) -> Iterator[Order]:
        """Stop an actor that the simulator drives."""
        actor = now.actors[stop.actor]
        way = ahead(actor.pose, max(speed_mps(actor) ** 2 / stop.deceleration_mps2, 1.0), 0.0)
        motion = Motion(way, lambda _: 0.0, stop.deceleration_mps2, is_walker=self._is_walker(stop.actor))
        self._motions[stop.actor] = motion
        yield Hold(stop.actor)

    def _start(self, pace: Pace, what: str, now: Situation) -> None:
        """Start a motion from where the actor is now, or where it is about to be spawned."""
        there = now.actors.get(pace.actor)
        pose = there.pose if there is not None else self._places[pace.actor]
        speed = wanted_speed(pace)
        if isinstance(pace, DriveTable):
            way = straight([pose, *(self._roads.pose(place, what) for place in pace.through)])
        elif isinstance(pace, CrossTable):
            way = ahead(pose, pace.distance_m, float(np.radians(pace.turn_deg)))
        elif isinstance(pace, ChangeLaneTable):
            over_m = max(speed(now), 1.0) * pace.within_s
            way = self._ways.to_neighbour(pose, pace.to, over_m, pace.distance_m, what)
        else:
            assert isinstance(pace, FollowLaneTable)
            way = self._ways.along_lane(pose, pace.distance_m, what)
        motion = Motion(way, speed, pace.acceleration_mps2, is_walker=self._is_walker(pace.actor))
        self._motions[pace.actor] = motion

    def _end_signals(self, now: Situation) -> Iterator[Order]:
        for signal_id in [signal_id for signal_id, until_s in self._signals_until_s.items() if now.time_s >= until_s]:
            del self._signals_until_s[signal_id]
            yield SetSignal(signal_id, None)

    def _is_walker(self, name: str) -> bool:
        return self._script.actors[name].blueprint.startswith(WALKER)

    def _flow_way(self, name: str, flow: FlowTable) -> Curve:
        start, end = (self._roads.pose(place, f"flow {name}") for place in (flow.start, flow.end))
        return find_route(self._roads.graph, start, end, (), PlanningConfig().route).curve


def _with_events(now: Situation, fired_s: dict[str, float]) -> Situation:
    return Situation(now.time_s, now.step_s, now.route_m, now.actors, fired_s)
