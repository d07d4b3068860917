"""Which function builds the script of which scenario type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from av_core.config import validate
from scenarios.leaderboard.plays import crossings, cut_ins, obstacles
from scenarios.leaderboard.plays.play import Play, Values
from scenarios.leaderboard.plays.site import Site
from scenarios.script.model import Script

PLAYS: Mapping[str, Callable[[Site, Values], Play]] = {
    "Accident": obstacles.accident,
    "AccidentTwoWays": obstacles.two_ways(obstacles.accident),
    "ParkedObstacle": obstacles.parked,
    "ParkedObstacleTwoWays": obstacles.two_ways(obstacles.parked),
    "ConstructionObstacle": obstacles.construction,
    "ConstructionObstacleTwoWays": obstacles.two_ways(obstacles.construction),
    "HazardAtSideLane": obstacles.bicycles,
    "HazardAtSideLaneTwoWays": obstacles.two_ways(obstacles.bicycles),
    "VehicleOpensDoorTwoWays": obstacles.two_ways(obstacles.door),
    "ParkingCutIn": cut_ins.pulls_out,
    "StaticCutIn": cut_ins.out_of_a_queue,
    "DynamicObjectCrossing": crossings.behind_object,
    "ParkingCrossingPedestrian": crossings.behind_parked_car,
}
"""The types that can be played so far, by their official names."""


def build(name: str, site: Site, values: Values) -> Script:
    """The script of a type at a place. Raises RouteError where the place does not suit the type."""
    return validate(PLAYS[name](site, values).script, Script, name)
