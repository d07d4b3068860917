"""The table of scenario types: the 38 of CARLA Leaderboard 2 and the 8 that Bench2Drive adds.

The types, their parameters and defaults are those of scenario_runner v0.9.16 and of Bench2Drive's fork of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from scenarios.leaderboard import parameters as p
from scenarios.leaderboard.parameters import Parameter

TIMEOUT_S = 240.0
"""Duration after which a type with a timeout ends and counts as an infraction."""


class Group(str, Enum):
    OBSTACLE = "obstacle in the ego's lane"
    CUT_IN = "cut-in or braking leader"
    CROSSING = "crossing walker or cyclist"
    JUNCTION = "right of way at a junction"
    FLOW = "entering, crossing or leaving a stream"
    EGO = "disturbance of the ego"
    BENCH2DRIVE = "only in Bench2Drive"


@dataclass(frozen=True, slots=True)
class ScenarioType:
    """One type of scenario; `about` says in one sentence what happens."""

    name: str
    group: Group
    about: str
    parameters: tuple[Parameter, ...] = ()
    has_timeout: bool = False

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, or None where the type has none."""
        return next((entry for entry in self.parameters if entry.name == name), None)


def _obstacle(name: str, about: str, *parameters: Parameter) -> ScenarioType:
    return ScenarioType(name, Group.OBSTACLE, about, parameters, has_timeout=True)


def _junction_flow(name: str, group: Group, about: str) -> ScenarioType:
    return ScenarioType(name, group, about, (p.flow_speed(20.0), p.gap((25.0, 50.0))), has_timeout=True)


def _stream(name: str, about: str) -> ScenarioType:
    flow = (p.START_FLOW, p.END_FLOW, p.flow_speed(10.0), p.gap((20.0, 50.0)))
    return ScenarioType(name, Group.FLOW, about, flow, has_timeout=True)


_BICYCLES = (
    p.distance(100.0, "from the trigger to the bicycles"),
    p.number("bicycle_speed", "speed of the bicycles", "km/h", 10.0, 3.0, 40.0),
    p.number("bicycle_drive_distance", "distance that the bicycles ride before they stop", "m", 50.0, 10.0, 500.0),
)
_WALK = p.distance(12.0, "from the trigger to the place where the walker crosses")

_TABLE = (
    # ---------------------------------------------------------------- obstacles
    _obstacle(
        "Accident",
        "Two crashed cars and a police car block one side of the lane; a lane in the ego's direction is free.",
        p.distance(120.0), p.DIRECTION, p.SPEED,
    ),
    _obstacle(
        "AccidentTwoWays",
        "The same accident, where the only way round leads through the oncoming lane and its traffic.",
        p.distance(120.0), p.DIRECTION, p.FREQUENCY, p.unused(p.SPEED),
    ),
    _obstacle(
        "ParkedObstacle",
        "A badly parked car with hazard lights blocks the lane; a lane in the ego's direction is free.",
        p.distance(120.0), p.DIRECTION, p.SPEED,
    ),
    _obstacle(
        "ParkedObstacleTwoWays",
        "The same parked car, where the only way round leads through the oncoming lane and its traffic.",
        p.distance(120.0), p.DIRECTION, p.FREQUENCY, p.unused(p.SPEED),
    ),
    _obstacle(
        "ConstructionObstacle",
        "Road works, with a warning sign, cones and debris, block the lane; a lane in the ego's direction is free.",
        p.distance(100.0), p.DIRECTION, p.SPEED,
    ),
    _obstacle(
        "ConstructionObstacleTwoWays",
        "The same road works, where the only way round leads through the oncoming lane and its traffic.",
        p.distance(100.0), p.DIRECTION, p.FREQUENCY, p.unused(p.SPEED),
    ),
    _obstacle(
        "HazardAtSideLane",
        "Two slow bicycles ride at the side of the ego's lane and then stop; a lane in its direction is free.",
        *_BICYCLES, p.SPEED,
    ),
    _obstacle(
        "HazardAtSideLaneTwoWays",
        "The same bicycles, where the only way round leads through the oncoming lane and its traffic.",
        *_BICYCLES, p.FREQUENCY_VALUE, p.unused(p.SPEED),
    ),
    _obstacle(
        "VehicleOpensDoorTwoWays",
        "A car parked at the kerb opens a door into the lane just before the ego passes; oncoming traffic follows.",
        p.distance(50.0, "from the trigger to the parked car"), p.DIRECTION, p.FREQUENCY, p.unused(p.SPEED),
    ),
    _obstacle("BlockedIntersection", "After its turn the ego meets a standing car, which drives off 10 s later."),
    _obstacle(
        "InvadingTurn",
        "On a bend, oncoming cars beside a row of cones drive partly in the ego's lane.",
        p.distance(100.0, "length of the stretch from the trigger on which they do"),
        p.number("offset", "how far the oncoming cars reach into the ego's lane", "m", 0.25, 0.0, 2.0),
    ),
    ScenarioType(
        "YieldToEmergencyVehicle",
        Group.OBSTACLE,
        "An emergency vehicle with siren lights comes from behind, faster than the ego, and has to get past.",
        (p.distance(140.0, "from the emergency vehicle to the ego behind which it starts"),),
    ),
    # ---------------------------------------------------------------- cut-ins
    ScenarioType("HardBreakRoute", Group.CUT_IN, "The traffic ahead of the ego brakes to a stop for 10 s."),
    ScenarioType(
        "ParkingCutIn", Group.CUT_IN, "A parked car, hidden behind another, pulls out just before the ego.",
        (p.DIRECTION,),
    ),
    ScenarioType(
        "StaticCutIn",
        Group.CUT_IN,
        "From a queue that stands in the next lane a car merges just before the ego.",
        (p.distance(100.0, "from the trigger to the car that merges"), p.DIRECTION),
    ),
    ScenarioType(
        "HighwayCutIn",
        Group.CUT_IN,
        "A car on a slip road reaches the motorway at the same time as the ego and changes into its lane.",
        (p.location("other_actor_location", "where the car on the slip road starts"),),
    ),
    ScenarioType(
        "ParkingExit",
        Group.CUT_IN,
        "The route starts with the ego parked between two cars; it has to merge into a lane with traffic.",
        (
            p.DIRECTION,
            p.number("front_vehicle_distance", "to the parked car ahead", "m", 20.0, 5.0, 50.0),
            p.number("behind_vehicle_distance", "to the parked car behind", "m", 10.0, 5.0, 50.0),
            p.number("flow_distance", "gap between vehicles in the lane", "m", 25.0, 5.0, 200.0),
            p.unused(p.SPEED),
        ),
        has_timeout=True,
    ),
    # ---------------------------------------------------------------- crossings
    ScenarioType(
        "DynamicObjectCrossing",
        Group.CROSSING,
        "A walker who is hidden behind an object on the pavement walks into the road.",
        (
            _WALK,
            p.DIRECTION,
            p.CROSSING_ANGLE,
            Parameter(
                "blocker_model", p.Shape.WORD, "blueprint of the object that hides the walker",
                default="static.prop.vendingmachine",
            ),
        ),
    ),
    ScenarioType(
        "ParkingCrossingPedestrian",
        Group.CROSSING,
        "A walker who is hidden behind a parked car walks into the road.",
        (_WALK, p.DIRECTION, p.CROSSING_ANGLE),
    ),
    ScenarioType(
        "PedestrianCrossing", Group.CROSSING, "Three walkers cross the road at a junction, one shortly after another."
    ),
    ScenarioType(
        "VehicleTurningRoute",
        Group.CROSSING,
        "After the ego's turn a cyclist crosses the exit of the junction.",
    ),
    ScenarioType(
        "VehicleTurningRoutePedestrian",
        Group.CROSSING,
        "After the ego's turn a walker crosses the exit of the junction.",
    ),
    ScenarioType(
        "CrossingBicycleFlow",
        Group.CROSSING,
        "The ego turns across a bicycle lane on which cyclists ride who ignore cars and lights.",
        (p.START_FLOW, p.flow_speed(10.0), p.gap((20.0, 50.0))),
        has_timeout=True,
    ),
    # ---------------------------------------------------------------- junctions
    _junction_flow(
        "SignalizedJunctionLeftTurn", Group.JUNCTION, "The ego turns left across an oncoming stream; both have green."
    ),
    _junction_flow(
        "NonSignalizedJunctionLeftTurn",
        Group.JUNCTION,
        "The ego turns left across an oncoming stream, at a junction without lights.",
    ),
    _junction_flow(
        "SignalizedJunctionRightTurn", Group.JUNCTION, "The ego turns right at a light, into a stream from its left."
    ),
    _junction_flow(
        "NonSignalizedJunctionRightTurn",
        Group.JUNCTION,
        "The ego turns right into a stream from its left, at a junction without lights.",
    ),
    ScenarioType(
        "OppositeVehicleRunningRedLight",
        Group.JUNCTION,
        "The ego has green, and an emergency vehicle crosses against red at 60 km/h.",
        (p.FROM_DIRECTION,),
    ),
    ScenarioType(
        "OppositeVehicleTakingPriority",
        Group.JUNCTION,
        "At a junction without lights a vehicle crosses at 60 km/h although the ego has priority.",
        (p.FROM_DIRECTION,),
    ),
    ScenarioType(
        "PriorityAtJunction", Group.JUNCTION, "The ego's light stays green and all others red until it has passed."
    ),
    # ---------------------------------------------------------------- streams
    _stream("EnterActorFlow", "The ego joins a fast stream that fills all lanes of its direction."),
    _stream("EnterActorFlowV2", "The ego joins a fast stream from an entry lane of its own."),
    _stream("MergerIntoSlowTraffic", "The ego merges into slow, dense traffic."),
    _stream("MergerIntoSlowTrafficV2", "The ego merges into slow, dense traffic from an entry lane of its own."),
    _stream("HighwayExit", "The ego crosses a stream in the outer lane to leave the motorway."),
    _stream("InterurbanActorFlow", "The ego turns left off a country road across an oncoming stream."),
    _stream(
        "InterurbanAdvancedActorFlow",
        "The ego turns left onto a country road: it crosses one stream and merges into another.",
    ),
    # ---------------------------------------------------------------- the ego itself
    ScenarioType("ControlLoss", Group.EGO, "Debris on the road adds noise to the ego's throttle and steering."),
    # ---------------------------------------------------------------- Bench2Drive
    ScenarioType(
        "SequentialLaneChange", Group.BENCH2DRIVE, "The route changes lanes several times within 200 m.",
        has_timeout=True,
    ),
    ScenarioType("T_Junction", Group.BENCH2DRIVE, "The ego drives 200 m through a T-junction.", has_timeout=True),
    ScenarioType(
        "VanillaSignalizedTurnEncounterGreenLight", Group.BENCH2DRIVE, "The ego's light is green for 5 s and then red."
    ),
    ScenarioType(
        "VanillaSignalizedTurnEncounterRedLight", Group.BENCH2DRIVE, "The ego's light is red for 5 s and then green."
    ),
    ScenarioType("VanillaNonSignalizedTurn", Group.BENCH2DRIVE, "The ego turns at a junction without lights."),
    ScenarioType("VanillaNonSignalizedTurnEncounterStopsign", Group.BENCH2DRIVE, "The ego turns after a stop sign."),
    _junction_flow(
        "SignalizedJunctionLeftTurnEnterFlow",
        Group.BENCH2DRIVE,
        "The ego turns left at a light, across and into a stream.",
    ),
    _junction_flow(
        "NonSignalizedJunctionLeftTurnEnterFlow",
        Group.BENCH2DRIVE,
        "The ego turns left across and into a stream, at a junction without lights.",
    ),
)  # fmt: skip

TYPES = {entry.name: entry for entry in _TABLE}
"""All types by their official name."""

LEADERBOARD_2 = tuple(entry.name for entry in _TABLE if entry.group is not Group.BENCH2DRIVE)
BENCH2DRIVE_ONLY = tuple(entry.name for entry in _TABLE if entry.group is Group.BENCH2DRIVE)
