"""Plays a script: decides at each tick which events happen and what the actors do. No clock, no simulator, no files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from av_core.orders import ClearTraffic, Destroy, Hold, Order, PlaceEgo, ScriptOrder, Spawn
from av_core.types import Pose2D
from scenarios.script.actions import (
    Action,
    ChangeLaneTable,
    CrossTable,
    DisturbTable,
    DriveTable,
    FollowLaneTable,
    MeetTable,
    Pace,
    ReleaseTable,
    SignalTable,
    StopTable,
)
from scenarios.script.apart import check_apart, ego_pose, standing_actors
from scenarios.script.at_once import order_at_once
from scenarios.script.awaited import Awaited
from scenarios.script.conditions import Watch
from scenarios.script.cycle_ways import cycle_way_between
from scenarios.script.disturbance import Disturbance
from scenarios.script.flows import CLEAR_EVERY_S, CLEAR_STEP_M, Flow
from scenarios.script.flows import CLEAR_WITHIN_M as CLEAR_WAY_WITHIN_M
from scenarios.script.lights_held import HeldLights
from scenarios.script.model import EventTable, FlowTable, Script
from scenarios.script.motion import Motion, meeting_speed, wanted_speed
from scenarios.script.parts import PartRun, Parts
from scenarios.script.places import Roads
from scenarios.script.situation import Situation, speed_mps
from scenarios.script.ways import LaneWay, ahead, straight

WALKER = "walker."
VEHICLE = "vehicle."
"""Prefixes of the blueprints of walkers and of vehicles."""

CLEAR_WITHIN_M = 6.0
"""When an actor is spawned during the drive, background traffic within this distance of its place is removed."""

CLEAR_REACH_M = 250.0
"""Distance ahead up to which an actor with `clears` removes background traffic.

It is so large because such an actor comes from far behind the ego, and the path must be free up to the ego and past it.
"""

MEETING_M = 1000.0
"""Length of the path of a vehicle with a `meet` action."""

DISTURBANCE = 1_000_000
"""Number of the random generator for the noise on the ego's commands; the flows use the numbers from 0 on."""


class Engine:
    """Plays `script` on a map with the ego's route. Call `begin` once, then `step` after every tick.

    Equal situations give equal orders, because all random numbers come from `seed`. `fired_s` holds the time of each
    event that has happened, s since the drive began.

    Raises RouteError if a place of the script is not on the map, if two actors would stand at one place or one in the
    ego, or if a flow has no path along the lanes.
    """

    def __init__(self, script: Script, roads: Roads, seed: int) -> None:
        self._script, self._roads = script, roads
        self._places = {name: roads.pose(actor.place, f"actor {name}") for name, actor in script.actors.items()}
        check_apart(standing_actors(script, roads), ego_pose(script, roads))
        self._waiting = [(event, Watch(event.when, roads, f"event {event.name}")) for event in script.events]
        self._flows = {
            name: Flow(name, flow, self._flow_way(name, flow), np.random.default_rng((seed, number)))
            for number, (name, flow) in enumerate(script.flows.items())
        }
        self._motions: dict[str, Motion] = {}
        self._cleared_s: dict[str, float] = {}
        self._awaited = Awaited()
        self._lights = HeldLights()
        self._disturbance = Disturbance(np.random.default_rng((seed, DISTURBANCE)))
        self._parts = Parts(script.parts, self._awaited)
        self.fired_s: dict[str, float] = {}

    @property
    def parts(self) -> dict[str, PartRun]:
        """The state of each part of the script by the part's name; the engine updates this same object."""
        return self._parts.runs

    def begin(self) -> tuple[Order, ...]:
        """The orders before the first tick: they place the ego and spawn the actors that do not wait for an event."""
        there = [name for name, actor in self._script.actors.items() if not actor.waits]
        place = self._script.ego_place
        ego = (PlaceEgo(self._roads.pose(place, "ego_place")),) if place is not None else ()
        return (*ego, *(order for name in there for order in self._spawn(name)))

    def step(self, now: Situation) -> tuple[ScriptOrder, ...]:
        """The orders after a tick. An event sees those that happened before it in the same tick."""
        orders: list[ScriptOrder] = []
        overdue = self._parts.overdue_ends(now.time_s)
        for event, watch in list(self._waiting):
            if event.until in self.fired_s:
                self._waiting.remove((event, watch))
                continue
            holds = watch.holds(_with_events(now, self.fired_s))
            if holds or event.name in overdue:
                self._waiting = [(other, its) for other, its in self._waiting if other is not event]
                self.fired_s[event.name] = now.time_s
                self._parts.note(event.name, now.time_s, is_forced=not holds)
                orders += [order for action in event.do for order in self._act(action, event, now)]
        orders += self._spawn_again(now)
        orders += [*self._lights.step(now.time_s), *self._disturbance.step()]
        for name, motion in self._motions.items():
            if name in now.actors:
                orders.append(motion.step(name, now.actors[name], now))
                orders += self._clear_way(name, motion, now.time_s)
        for flow in self._flows.values():
            orders += flow.step(now)
        return tuple(orders)

    def _spawn(self, name: str, later_at: Pose2D | None = None) -> Iterator[Order]:
        actor = self._script.actors[name]
        attributes = {"color": actor.colour} if actor.colour is not None else {}
        yield Spawn(name, actor.blueprint, later_at or self._places[name], later_at is None, attributes)
        if actor.blueprint.startswith(VEHICLE):
            yield Hold(name)

    def _spawn_late(self, name: str, time_s: float) -> Iterator[Order]:
        """Spawn an actor during the drive; its place may be taken, so it may have to be tried again."""
        place = self._awaited.place(name, self._places[name], time_s)
        yield ClearTraffic((place,), CLEAR_WITHIN_M)
        yield from self._spawn(name, place)

    def _spawn_again(self, now: Situation) -> Iterator[Order]:
        """Try again to spawn those actors whose place was taken."""
        for name in list(self._awaited.due(now.actors, now.time_s)):
            yield from self._spawn_late(name, now.time_s)

    def _clear_way(self, name: str, motion: Motion, time_s: float) -> Iterator[Order]:
        """Remove, once a second, the background traffic on the path ahead of an actor with `clears`."""
        if time_s >= self._cleared_s.get(name, np.inf) + CLEAR_EVERY_S:
            self._cleared_s[name] = time_s
            yield ClearTraffic(motion.places_ahead(CLEAR_REACH_M, CLEAR_STEP_M), CLEAR_WAY_WITHIN_M)

    def _act(self, action: Action, event: EventTable, now: Situation) -> Iterator[ScriptOrder]:
        own, what = action.value, f"event {event.name}"
        at_once = order_at_once(action, self._roads, what)
        if at_once is not None:
            self._motions.pop(action.autopilot or "", None)
            yield at_once
        elif action.spawn is not None:
            yield from self._spawn_late(action.spawn, now.time_s)
        elif action.despawn is not None:
            self._motions.pop(action.despawn, None)
            self._awaited.forget(action.despawn)
            yield Destroy(action.despawn)
        elif action.flow() is not None:
            yield from self._direct_flow(action)
        elif isinstance(own, SignalTable):
            yield from self._lights.hold(own, now.time_s)
        elif isinstance(own, ReleaseTable):
            yield from self._lights.release(own)
        elif isinstance(own, DisturbTable):
            self._disturbance.start(own)
        elif action.end_disturbance is not None:
            yield from self._disturbance.end()
        elif isinstance(own, StopTable):
            if own.actor in self._motions:
                self._motions[own.actor].stop(own.deceleration_mps2)
            elif own.actor in now.actors:
                yield from self._stop_at_once(own, now)
        elif isinstance(own, (Pace, MeetTable)):
            self._motions[own.actor] = self._motion(own, what, now)
            self._cleared_s.pop(own.actor, None)
            if isinstance(own, FollowLaneTable) and own.clears:
                self._cleared_s[own.actor] = -np.inf

    def _direct_flow(self, action: Action) -> Iterator[Order]:
        flow = self._flows[str(action.flow())]
        if action.start_flow is not None:
            flow.start()
        elif action.stop_flow is not None:
            flow.stop()
        else:
            yield from flow.clear()

    def _stop_at_once(self, stop: StopTable, now: Situation) -> Iterator[Order]:
        """Stop an actor that the simulator drives."""
        actor = now.actors[stop.actor]
        way = ahead(actor.pose, max(speed_mps(actor) ** 2 / stop.deceleration_mps2, 1.0), 0.0)
        motion = Motion(way, lambda _: 0.0, stop.deceleration_mps2, is_walker=self._is_walker(stop.actor))
        self._motions[stop.actor] = motion
        yield Hold(stop.actor)

    def _motion(self, table: Pace | MeetTable, what: str, now: Situation) -> Motion:
        """A motion from where the actor is now, or where it is about to be spawned."""
        there, ways = now.actors.get(table.actor), self._roads.ways
        pose = there.pose if there is not None else self._places[table.actor]
        if isinstance(table, MeetTable):
            speed = meeting_speed(table.actor, self._roads.pose(table.at, what), self._roads.pose(table.ego_at, what))
            return Motion(ways.along_lane(pose, MEETING_M, what), speed, table.acceleration_mps2)
        if isinstance(table, DriveTable):
            way = straight([pose, *(self._roads.pose(place, what) for place in table.through)])
        elif isinstance(table, CrossTable):
            way = ahead(pose, table.distance_m, float(np.radians(table.turn_deg)))
        elif isinstance(table, ChangeLaneTable):
            over_m = max(wanted_speed(table, now)(now), 1.0) * table.within_s
            way = ways.to_neighbour(pose, table.to, over_m, table.distance_m, what)
        else:
            assert isinstance(table, FollowLaneTable)
            way = ways.along_lane(pose, table.distance_m, what)
        return Motion(
            way,
            wanted_speed(table, now),
            table.acceleration_mps2,
            is_walker=self._is_walker(table.actor),
            yields=table.yields,
        )

    def _is_walker(self, name: str) -> bool:
        return self._script.actors[name].blueprint.startswith(WALKER)

    def _flow_way(self, name: str, flow: FlowTable) -> LaneWay:
        start, end = (self._roads.pose(place, f"flow {name}") for place in (flow.start, flow.end))
        if flow.lane == "cycle":
            return cycle_way_between(self._roads.graph, start, end, f"flow {name}")
        return self._roads.ways.between(start, end, f"flow {name}")


def _with_events(now: Situation, fired_s: dict[str, float]) -> Situation:
    return replace(now, fired_s=fired_s)
