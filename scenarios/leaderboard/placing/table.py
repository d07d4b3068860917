"""What each of the 46 types needs of the road.

Distances follow scenario_runner v0.9.16 and the official route files: how far ahead actors are put, and how much road
the types use.
"""

from __future__ import annotations

from collections.abc import Mapping

from scenarios.leaderboard.placing.needs import (
    Beside,
    ChangeNeeds,
    Control,
    JunctionNeeds,
    Merge,
    MergeNeeds,
    Needs,
    Stream,
    StretchNeeds,
    Turn,
)

_DISTANCES_M = (100.0, 80.0, 60.0, 45.0)
_TURNS = (Turn.LEFT, Turn.RIGHT)
_ALL_WAYS = (Turn.LEFT, Turn.RIGHT, Turn.STRAIGHT)
_FAST_KMH, _TOWN_KMH = 60.0, 65.0
_ONE_WAY = StretchNeeds((-45.0, 45.0), _DISTANCES_M, beside=(Beside.FREE_LANE,), has_sign=True)
_TWO_WAYS = StretchNeeds((-35.0, 40.0), _DISTANCES_M, beside=(Beside.ONCOMING,), has_sign=True)

NEEDS: Mapping[str, Needs] = {
    "Accident": _ONE_WAY,
    "AccidentTwoWays": _TWO_WAYS,
    "ParkedObstacle": _ONE_WAY,
    "ParkedObstacleTwoWays": _TWO_WAYS,
    "ConstructionObstacle": _ONE_WAY,
    "ConstructionObstacleTwoWays": _TWO_WAYS,
    "HazardAtSideLane": StretchNeeds((-40.0, 90.0), (80.0, 60.0, 50.0), beside=(Beside.FREE_LANE,), after_m=130.0),
    "HazardAtSideLaneTwoWays": StretchNeeds(
        (-30.0, 85.0), (60.0, 50.0, 40.0), beside=(Beside.ONCOMING,), after_m=130.0
    ),
    "VehicleOpensDoorTwoWays": StretchNeeds(
        (-35.0, 30.0), (60.0, 50.0, 40.0), beside=(Beside.PARKING, Beside.ONCOMING), limit_max_kmh=_TOWN_KMH
    ),
    "BlockedIntersection": JunctionNeeds(_TURNS),
    "InvadingTurn": StretchNeeds(
        (0.0, 135.0), (100.0, 80.0, 60.0), beside=(Beside.ONCOMING,), after_m=60.0, bend_deg=30.0
    ),
    "YieldToEmergencyVehicle": StretchNeeds(
        (-20.0, 60.0), (140.0, 125.0, 110.0), beside=(Beside.FREE_LANE,), after_m=400.0, is_behind=True
    ),
    "HardBreakRoute": StretchNeeds((0.0, 100.0), after_m=160.0),
    "ParkingCutIn": StretchNeeds((-32.0, 25.0), at_m=35.0, beside=(Beside.PARKING,), limit_max_kmh=_TOWN_KMH),
    "StaticCutIn": StretchNeeds((-35.0, 75.0), (100.0, 80.0), beside=(Beside.QUEUE_LANE,), after_m=120.0),
    "HighwayCutIn": MergeNeeds(Merge.CUT_IN, _FAST_KMH),
    "ParkingExit": StretchNeeds(
        (-20.0, 50.0), beside=(Beside.PARKING,), before_m=0.0, after_m=120.0, limit_max_kmh=_TOWN_KMH
    ),
    "DynamicObjectCrossing": StretchNeeds((-25.0, 12.0), (50.0, 40.0, 30.0), beside=(Beside.PAVEMENT,)),
    "ParkingCrossingPedestrian": StretchNeeds(
        (-25.0, 12.0), (50.0, 40.0, 30.0), beside=(Beside.PARKING,), limit_max_kmh=_TOWN_KMH
    ),
    "PedestrianCrossing": JunctionNeeds(_ALL_WAYS, pavement_before=True),
    "VehicleTurningRoute": JunctionNeeds(_TURNS, pavement_after=True),
    "VehicleTurningRoutePedestrian": JunctionNeeds(_TURNS, pavement_after=True),
    "CrossingBicycleFlow": JunctionNeeds(_TURNS, stream=Stream.BICYCLES),
    "SignalizedJunctionLeftTurn": JunctionNeeds((Turn.LEFT,), Control.LIGHTS, Stream.OPPOSITE),
    "NonSignalizedJunctionLeftTurn": JunctionNeeds((Turn.LEFT,), Control.NO_LIGHTS, Stream.OPPOSITE),
    "SignalizedJunctionRightTurn": JunctionNeeds((Turn.RIGHT,), Control.LIGHTS, Stream.FROM_LEFT),
    "NonSignalizedJunctionRightTurn": JunctionNeeds((Turn.RIGHT,), Control.NO_LIGHTS, Stream.FROM_LEFT),
    "OppositeVehicleRunningRedLight": JunctionNeeds((Turn.STRAIGHT, Turn.LEFT), Control.LIGHTS, Stream.ANY_ARM),
    "OppositeVehicleTakingPriority": JunctionNeeds((Turn.STRAIGHT, Turn.LEFT), Control.NO_LIGHTS, Stream.ANY_ARM),
    "PriorityAtJunction": JunctionNeeds(_ALL_WAYS, Control.LIGHTS),
    "EnterActorFlow": MergeNeeds(Merge.INTO_LANE, _FAST_KMH),
    "EnterActorFlowV2": MergeNeeds(Merge.OWN_LANE, _FAST_KMH),
    "MergerIntoSlowTraffic": MergeNeeds(Merge.INTO_LANE, _FAST_KMH),
    "MergerIntoSlowTrafficV2": MergeNeeds(Merge.OWN_LANE, _FAST_KMH),
    "HighwayExit": MergeNeeds(Merge.EXIT, _FAST_KMH),
    "InterurbanActorFlow": JunctionNeeds(
        (Turn.LEFT,), Control.NO_LIGHTS, Stream.OPPOSITE, limit_kmh=_FAST_KMH, has_flow_points=True
    ),
    "InterurbanAdvancedActorFlow": JunctionNeeds(
        (Turn.LEFT,), Control.NO_LIGHTS, Stream.ACROSS, after_m=100.0, limit_kmh=_FAST_KMH, has_flow_points=True
    ),
    "ControlLoss": StretchNeeds((0.0, 115.0), after_m=140.0),
    "SequentialLaneChange": ChangeNeeds(2, 200.0),
    "T_Junction": JunctionNeeds(_TURNS, arms=3, after_m=175.0),
    "VanillaSignalizedTurnEncounterGreenLight": JunctionNeeds(_TURNS, Control.LIGHTS),
    "VanillaSignalizedTurnEncounterRedLight": JunctionNeeds(_TURNS, Control.LIGHTS),
    "VanillaNonSignalizedTurn": JunctionNeeds(_TURNS, Control.NO_LIGHTS),
    "VanillaNonSignalizedTurnEncounterStopsign": JunctionNeeds(_TURNS, Control.STOP_SIGN),
    "SignalizedJunctionLeftTurnEnterFlow": JunctionNeeds((Turn.LEFT,), Control.LIGHTS, Stream.OPPOSITE_TURN),
    "NonSignalizedJunctionLeftTurnEnterFlow": JunctionNeeds((Turn.LEFT,), Control.NO_LIGHTS, Stream.OPPOSITE_TURN),
}
