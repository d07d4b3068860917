"""Orders for the simple actions: those whose order follows from their own keys and the map."""

from __future__ import annotations

from av_core.orders import (
    BackgroundOrder,
    CapTraffic,
    ClearTraffic,
    CrossingSpace,
    DriveItself,
    FollowingTraffic,
    LaneTraffic,
    LeaveSpace,
    OncomingTraffic,
    OpenDoor,
    QuietJunction,
    ScriptOrder,
    ShowLights,
    StartTraffic,
    StopTraffic,
    TrafficAhead,
)
from av_core.types import VehicleLights
from scenarios.script.actions import (
    Action,
    CapTrafficTable,
    ClearTrafficTable,
    CrossingSpaceTable,
    DoorTable,
    FollowingTrafficTable,
    LaneTrafficTable,
    LeaveSpaceTable,
    LightsTable,
    OncomingTrafficTable,
    QuietJunctionTable,
    StopTrafficTable,
    TrafficAheadTable,
)
from scenarios.script.places import Roads

LANES_TO_THE_LEFT = {"own": 0, "left": 1, "right": -1}


def order_at_once(action: Action, roads: Roads, what: str) -> ScriptOrder | None:
    """The order of a simple action; None for an action that needs more than its keys and the map."""
    own = action.value
    if action.autopilot is not None:
        return DriveItself(action.autopilot)
    if isinstance(own, DoorTable):
        return OpenDoor(own.actor, own.door)
    if isinstance(own, LightsTable):
        lights = VehicleLights(False, own.low_beam, own.brake, own.left, own.right, own.hazard)
        return ShowLights(own.actor, lights, own.emergency)
    if isinstance(own, StopTrafficTable):
        return StopTraffic(own.within_m, own.behind)
    if action.start_traffic is not None:
        return StartTraffic()
    if isinstance(own, CapTrafficTable):
        return CapTraffic(own.speed_mps)
    if isinstance(own, ClearTrafficTable):
        return ClearTraffic((roads.pose(own.place, what),), own.within_m)
    if isinstance(own, LeaveSpaceTable):
        return LeaveSpace(own.within_m)
    return _background_order(own, roads, what)


def _background_order(own: object, roads: Roads, what: str) -> BackgroundOrder | None:
    """The order to `scenarios.background`; None for an action that is no such order."""
    if isinstance(own, QuietJunctionTable):
        return QuietJunction(own.others_wait, own.exit_space_m)
    if isinstance(own, OncomingTrafficTable):
        return OncomingTraffic(own.comes)
    if isinstance(own, FollowingTrafficTable):
        return FollowingTraffic(own.comes)
    if isinstance(own, LaneTrafficTable):
        return LaneTraffic(own.comes, LANES_TO_THE_LEFT[own.side])
    if isinstance(own, TrafficAheadTable):
        return TrafficAhead(own.space_m)
    return CrossingSpace(roads.pose(own.place, what)) if isinstance(own, CrossingSpaceTable) else None
