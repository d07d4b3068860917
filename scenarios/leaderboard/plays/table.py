"""The table of the functions that build the scripts of the scenario types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from av_core.config import validate
from av_core.errors import RouteError
from scenarios.leaderboard.plays import (
    at_junctions,
    blockers,
    crossings,
    cut_ins,
    ego,
    obstacles,
    onto_highway,
    right_of_way,
    streams,
    turns,
)
from scenarios.leaderboard.plays.obstacles import one_way, two_ways
from scenarios.leaderboard.plays.play import BEGIN, END, Play, Values
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.types import TIMEOUT_S, TYPES
from scenarios.script.engine import Engine
from scenarios.script.model import Script

PLAYS: Mapping[str, Callable[[Site, Values], Play]] = {
    "Accident": one_way(obstacles.accident),
    "AccidentTwoWays": two_ways(obstacles.accident),
    "ParkedObstacle": one_way(obstacles.parked),
    "ParkedObstacleTwoWays": two_ways(obstacles.parked),
    "ConstructionObstacle": one_way(obstacles.construction),
    "ConstructionObstacleTwoWays": two_ways(obstacles.construction),
    "HazardAtSideLane": one_way(obstacles.bicycles),
    "HazardAtSideLaneTwoWays": two_ways(obstacles.bicycles),
    "VehicleOpensDoorTwoWays": two_ways(obstacles.door),
    "BlockedIntersection": blockers.behind_the_turn,
    "InvadingTurn": blockers.invading,
    "YieldToEmergencyVehicle": blockers.emergency,
    "HardBreakRoute": ego.hard_brake,
    "ParkingCutIn": cut_ins.pulls_out,
    "StaticCutIn": cut_ins.out_of_a_queue,
    "HighwayCutIn": onto_highway.cut_in,
    "ParkingExit": ego.parking_exit,
    "DynamicObjectCrossing": crossings.behind_object,
    "ParkingCrossingPedestrian": crossings.behind_parked_car,
    "PedestrianCrossing": at_junctions.group,
    "VehicleTurningRoute": at_junctions.cyclist,
    "VehicleTurningRoutePedestrian": at_junctions.walker,
    "CrossingBicycleFlow": at_junctions.bicycles,
    "SignalizedJunctionLeftTurn": turns.left_across(has_lights=True),
    "NonSignalizedJunctionLeftTurn": turns.left_across(has_lights=False),
    "SignalizedJunctionRightTurn": turns.right_into(has_lights=True),
    "NonSignalizedJunctionRightTurn": turns.right_into(has_lights=False),
    "OppositeVehicleRunningRedLight": right_of_way.running_red,
    "OppositeVehicleTakingPriority": right_of_way.taking_priority,
    "PriorityAtJunction": right_of_way.priority,
    "EnterActorFlow": streams.enter,
    "EnterActorFlowV2": streams.enter_beside,
    "MergerIntoSlowTraffic": streams.enter_beside,
    "MergerIntoSlowTrafficV2": streams.enter_beside,
    "HighwayExit": streams.leave,
    "InterurbanActorFlow": streams.turn_off,
    "InterurbanAdvancedActorFlow": streams.turn_onto,
    "ControlLoss": ego.control_loss,
    "SequentialLaneChange": turns.drive_on,
    "T_Junction": turns.drive_on,
    "VanillaSignalizedTurnEncounterGreenLight": turns.alone_at_green,
    "VanillaSignalizedTurnEncounterRedLight": turns.alone_at_red,
    "VanillaNonSignalizedTurn": turns.alone,
    "VanillaNonSignalizedTurnEncounterStopsign": turns.alone,
    "SignalizedJunctionLeftTurnEnterFlow": turns.left_into(has_lights=True),
    "NonSignalizedJunctionLeftTurnEnterFlow": turns.left_into(has_lights=False),
}
"""All types by their official names."""


def build(name: str, site: Site, values: Values) -> Script:
    """The script of the scenario type `name` at a place; it has one part, whose name is the type's.

    `values` are the given parameters by name; all others have their defaults. Raises RouteError if the place does not
    suit the type, or if a required parameter is missing.
    """
    known = TYPES[name]
    defaults = {one.name: one.default for one in known.parameters if one.default is not None}
    missing = [one.name for one in known.parameters if one.is_required and one.name not in values]
    if missing:
        raise RouteError(f"{name} needs {', '.join(missing)}")
    play = PLAYS[name](site, {**defaults, **values})
    timeout: dict[str, Any] = {"timeout_s": TIMEOUT_S} if known.has_timeout else {}
    part = {"type": name, "begin": BEGIN, "end": END, **timeout, **play.part}
    script = validate({**play.script, "parts": {name: part}}, Script, name)
    Engine(script, site.roads, seed=0)  # finds the places and ways once, so that what is wrong with them shows now
    return script
