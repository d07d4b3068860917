"""The actions of events (`do`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from av_core.config import Strict
from av_core.types import LightState
from scenarios.script.keys import Metres, Mps, Name, OneKey, Seconds
from scenarios.script.places import PlaceTable

Decel = Annotated[float, Field(gt=0.0, le=200.0)]


class Who(Strict):
    """An action of one actor, whose name is `actor`."""

    actor: Name


class Pace(Who):
    """An action at a speed, which is either `speed_mps` or follows from the ego's speed.

    In the second case it is the ego's speed times `ego_share`, plus `over_ego_mps`: the ego's speed at each tick, or,
    with `fixed`, its speed when the action starts. The actor's speed changes by at most `acceleration_mps2`. With
    `yields` a vehicle brakes behind road users on its path.
    """

    speed_mps: Mps | None = None
    ego_share: Annotated[float, Field(gt=0.0, le=5.0)] | None = None
    over_ego_mps: float = 0.0
    fixed: bool = False
    acceleration_mps2: Decel = 4.0
    yields: bool = False

    @model_validator(mode="after")
    def _check_speed(self) -> Pace:
        if (self.speed_mps is None) == (self.ego_share is None):
            raise ValueError("either speed_mps or ego_share is needed")
        return self


class DriveTable(Pace):
    """Drive or walk in straight lines through the places of `through`; then stand."""

    through: Annotated[tuple[PlaceTable, ...], Field(min_length=1, max_length=100)]


class FollowLaneTable(Pace):
    """Follow the lane, straight on at junctions; stand after `distance_m`.

    With `clears`, background traffic on the vehicle's path is removed.
    """

    distance_m: Metres = 1000.0
    clears: bool = False


class ChangeLaneTable(Pace):
    """Change to the next lane within `within_s`, and follow it; stand after `distance_m`."""

    to: Literal["left", "right"]
    within_s: Annotated[float, Field(gt=0.1, le=60.0)] = 3.0
    distance_m: Metres = 1000.0


class CrossTable(Pace):
    """Walk or ride `distance_m` straight on, turned by `turn_deg` to the left of the present heading; then stand."""

    distance_m: Metres
    turn_deg: Annotated[float, Field(ge=-180.0, le=180.0)] = 0.0


class MeetTable(Who):
    """Follow the lane at a speed that brings the vehicle to `at` when the ego comes to `ego_at`; then drive on.

    The speed follows from the straight distances of both to these places.
    """

    at: PlaceTable
    ego_at: PlaceTable
    acceleration_mps2: Decel = 6.0


class StopTable(Who):
    """Brake to a standstill on the path that the actor follows now."""

    deceleration_mps2: Decel = 6.0


class DoorTable(Who):
    """Open a door of a vehicle."""

    door: Literal["front_left", "front_right", "rear_left", "rear_right"]


class LightsTable(Who):
    """Switch on the named lights of a vehicle, and switch off all others."""

    hazard: bool = False
    brake: bool = False
    left: bool = False
    right: bool = False
    low_beam: bool = False
    emergency: bool = False


class SignalTable(Strict):
    """Show `state` at the traffic lights with these OpenDRIVE `ids`, for `for_s` seconds; without `for_s`, for good."""

    ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=200)]
    state: LightState
    for_s: Seconds | None = None


class ReleaseTable(Strict):
    """Let traffic lights change by themselves again."""

    ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=200)]


class Plain(Strict):
    """An action without details, written `{}`."""


class Noise(Strict):
    """Normally distributed noise, new at each tick; the sign of its mean is drawn at the start."""

    mean: Annotated[float, Field(ge=0.0, le=1.0)]
    deviation: Annotated[float, Field(ge=0.0, le=1.0)]


class DisturbTable(Strict):
    """Add noise to the throttle and the steering of the commands to the ego."""

    throttle: Noise
    steer: Noise


class StopTrafficTable(Strict):
    """Brake the background traffic ahead of or behind the ego, on its road and within `within_m`, to a standstill."""

    within_m: Metres = 100.0
    behind: bool = False


class CapTrafficTable(Strict):
    """Keep background traffic at or below a speed; without one, lift the limit."""

    speed_mps: Mps | None = None


class ClearTrafficTable(Strict):
    """Remove the background traffic that is nearer to a place than `within_m`."""

    place: PlaceTable
    within_m: Metres


class LeaveSpaceTable(Strict):
    """Remove the background traffic ahead of the ego, on its lane and within `within_m`."""

    within_m: Metres


class QuietJunctionTable(Strict):
    """Keep background traffic out of the next junction on the ego's route until the ego has passed it.

    Background cars between the ego and the junction are removed, and no new ones come behind the ego. With
    `others_wait`, cars on the other roads stop before the junction. The cars that wait on the ego's exit from the
    junction stand `exit_space_m` farther from it than usual.
    """

    others_wait: bool = False
    exit_space_m: Metres = 0.0


class OncomingTrafficTable(Strict):
    """Whether background traffic comes towards the ego from now on."""

    comes: bool


class FollowingTrafficTable(Strict):
    """Whether background traffic comes behind the ego from now on."""

    comes: bool


class LaneTrafficTable(Strict):
    """Whether the ego's lane, or the lane beside it, has background traffic from now on.

    Where `comes` is false, the background cars in this lane are removed.
    """

    comes: bool
    side: Literal["own", "left", "right"] = "own"


class TrafficAheadTable(Strict):
    """Let background traffic ahead of the ego keep `space_m` more distance from it than usual."""

    space_m: Metres


class CrossingSpaceTable(Strict):
    """Remove the oncoming background traffic near a place, and stop that a little farther away."""

    place: PlaceTable


class Action(OneKey):
    """One thing that an event does."""

    drive: DriveTable | None = None
    follow_lane: FollowLaneTable | None = None
    change_lane: ChangeLaneTable | None = None
    cross: CrossTable | None = None
    meet: MeetTable | None = None
    stop: StopTable | None = None
    autopilot: Name | None = None
    open_door: DoorTable | None = None
    lights: LightsTable | None = None
    signal: SignalTable | None = None
    release_signal: ReleaseTable | None = None
    spawn: Name | None = None
    despawn: Name | None = None
    start_flow: Name | None = None
    stop_flow: Name | None = None
    clear_flow: Name | None = None
    disturb: DisturbTable | None = None
    end_disturbance: Plain | None = None
    stop_traffic: StopTrafficTable | None = None
    start_traffic: Plain | None = None
    cap_traffic: CapTrafficTable | None = None
    clear_traffic: ClearTrafficTable | None = None
    leave_space: LeaveSpaceTable | None = None
    quiet_junction: QuietJunctionTable | None = None
    oncoming_traffic: OncomingTrafficTable | None = None
    following_traffic: FollowingTrafficTable | None = None
    lane_traffic: LaneTrafficTable | None = None
    traffic_ahead: TrafficAheadTable | None = None
    crossing_space: CrossingSpaceTable | None = None

    def actor(self) -> str | None:
        """The name of the actor that the action is about; None if it is about none."""
        own = self.value
        if isinstance(own, Who):
            return own.actor
        return own if isinstance(own, str) and self.kind in ("autopilot", "spawn", "despawn") else None

    def flow(self) -> str | None:
        """The name of the flow that the action is about; None if it is about none."""
        return self.start_flow or self.stop_flow or self.clear_flow
