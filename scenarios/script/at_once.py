"""The orders of the actions that need nothing but their own keys."""

from __future__ import annotations

from av_core.orders import (
    CapTraffic,
    ClearTraffic,
    DriveItself,
    LeaveSpace,
    OncomingTraffic,
    OpenDoor,
    QuietJunction,
    ScriptOrder,
    ShowLights,
    StartTraffic,
    StopTraffic,
)
from av_core.types import VehicleLights
from scenarios.script.actions import (
    Action,
    CapTrafficTable,
    ClearTrafficTable,
    DoorTable,
    LeaveSpaceTable,
    LightsTable,
    OncomingTrafficTable,
    QuietJunctionTable,
    StopTrafficTable,
)
from scenarios.script.places import Roads


def order_at_once(action: Action, roads: Roads, what: str) -> ScriptOrder | None:
    """The one order of an action; None where the action needs more than its keys and the map."""
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
    if isinstance(own, QuietJunctionTable):
        return QuietJunction(own.others_wait)
    if isinstance(own, OncomingTrafficTable):
        return OncomingTraffic(own.comes)
    return LeaveSpace(own.within_m) if isinstance(own, LeaveSpaceTable) else None
