"""Configuration of planning: every tunable number, with its unit in its name and the range that is allowed.

`PlanningConfig` holds the route search, the prediction, the speed profile and the traffic behaviour; YAML files
override it.
"""

from __future__ import annotations

from pydantic import Field

from av_core.config import Strict as _Strict


class RouteConfig(_Strict):
    """Parameters of the route search (A* on the lane graph), and of sampling and smoothing the reference path.

    * `spacing_m`: distance between points of the reference path; `cell_m`: distance between nodes on a lane.
    * `lane_change_time_s`: duration of a lane change at the speed limit, clipped to `lane_change_min_m` ... `_max_m`.
    * `snap_distance_m`, `snap_heading_rad`: how far a start or goal pose may be from a lane.
    * `smoothing_max_offset_m`: how far smoothing may move the path off the lane centre.
    """

    spacing_m: float = Field(0.5, ge=0.05, le=1.0)
    cell_m: float = Field(5.0, gt=0.5)
    lane_change_cost_s: float = Field(4.0, ge=1.0)
    lane_change_time_s: float = Field(3.0, gt=0.0)
    lane_change_min_m: float = Field(20.0, gt=5.0)
    lane_change_max_m: float = Field(70.0, gt=5.0)
    snap_distance_m: float = Field(4.0, gt=0.0)
    snap_heading_rad: float = Field(1.2, gt=0.0, lt=3.2)
    smoothing_wavelength_m: float = Field(10.0, gt=0.0)
    smoothing_max_offset_m: float = Field(0.04, gt=0.0, le=0.05)


class PredictionConfig(_Strict):
    """For how long, and of which road users, the motion is predicted.

    * `horizon_s`, `step_s`: the last predicted time, and the time between two.
    * `moving_speed_mps`: a road user that is not faster than this stands, and has no predicted motion.
    * `walker_fastest_mps`, `vehicle_slip_max`: limits that a measured velocity is clipped to; the latter is the
      sideways part of a vehicle's speed as a fraction of its forward speed.
    """

    horizon_s: float = Field(5.0, gt=0.0, le=60.0)
    step_s: float = Field(0.25, ge=0.01)
    moving_speed_mps: float = Field(0.3, gt=0.0)
    walker_fastest_mps: float = Field(5.0, gt=0.0)
    vehicle_slip_max: float = Field(0.5, gt=0.0)


class SpeedConfig(_Strict):
    """Comfort and safety limits of the speed profile.

    * `limit_factor`: target speed as a fraction of the speed limit.
    * `decel_comfort_mps2`: for planned braking; `decel_firm_mps2`: the most outside an emergency; a stop or a leader
      that needs more than that is an emergency, with up to `decel_emergency_mps2` and `jerk_emergency_mps3`.
    * `response_s`, `following_response_s`: time constants of the control to a speed or a stop, and to a leader.
    * `stop_response_s`: reaction time in the safe speed before a stop.
    * `headway_s`: the same behind a leader of `headway_full_mps` or more; less, down to `stop_response_s`, if slower.
    * `emergency_factor`: emergency braking as a multiple of the deceleration that is needed; `emergency_room_m`: the
      gap that remains after it, and how far the ego may then pass the place of a stop.
    * `reference_slack_mps`: how far the planned start speed may be from the measured speed.
    """

    limit_factor: float = Field(0.97, gt=0.0, le=1.0)
    accel_max_mps2: float = Field(2.8, gt=0.0)
    decel_comfort_mps2: float = Field(2.6, gt=0.0)
    decel_firm_mps2: float = Field(3.0, gt=0.0)
    decel_emergency_mps2: float = Field(8.0, gt=0.0)
    lateral_accel_max_mps2: float = Field(3.0, gt=0.0)
    jerk_max_mps3: float = Field(5.0, gt=0.0)
    jerk_emergency_mps3: float = Field(40.0, gt=0.0)
    response_s: float = Field(0.5, gt=0.0)
    stop_response_s: float = Field(0.35, gt=0.0)
    headway_s: float = Field(1.2, gt=0.0)
    headway_full_mps: float = Field(4.0, gt=0.0)
    following_response_s: float = Field(0.8, gt=0.0)
    standstill_gap_m: float = Field(3.5, gt=0.0)
    emergency_factor: float = Field(1.15, ge=1.0)
    emergency_room_m: float = Field(0.7, ge=0.0)
    horizon_s: float = Field(7.0, gt=1.0, le=60.0)
    step_s: float = Field(0.1, ge=0.01, le=0.5)
    reference_slack_mps: float = Field(0.8, gt=0.0)


class BehaviorConfig(_Strict):
    """When traffic rules and other road users constrain the ego.

    * `look_ahead_m`: least distance that is planned for.
    * `corridor_margin_m`, `walker_margin_m`: added to the ego's swept width for vehicles and for pedestrians.
    * `light_view_range_m`: distance within which a traffic light of unknown state counts as red.
    * `light_memory_s`: how long the last state of a light that is no longer seen holds (red and yellow hold longer).
      `light_blind_s`: for how long a green holds once the ego is too near to see the light; then the ego goes on with
      caution. `light_broken_s`: how long a light must be dark after red or yellow to count as off.
    * `sight_decel_mps2`: for a stop before a doubtful yellow or where the ego still sees the light;
      `yellow_decel_mps2`: for one before a yellow.
    * `merge_horizon_s`: a road user that enters the ego's lane later than this is ignored.
    * `time_margin_before_s`, `time_margin_after_s`: time gaps to a crossing vehicle; `yield_hysteresis_s` widens them
      while the ego already gives way.
    """

    look_ahead_m: float = Field(100.0, gt=20.0, le=1000.0)
    corridor_margin_m: float = Field(0.35, ge=0.0)
    walker_margin_m: float = Field(0.6, ge=0.0)
    stop_line_gap_m: float = Field(1.2, ge=0.0)
    junction_clearance_m: float = Field(3.5, ge=0.0)
    conflict_gap_m: float = Field(2.0, ge=0.0)
    light_view_range_m: float = Field(45.0, gt=0.0)
    light_memory_s: float = Field(1.0, ge=0.0)
    light_blind_s: float = Field(5.0, ge=0.0)
    light_broken_s: float = Field(2.0, ge=0.0)
    light_green_min_s: float = Field(3.0, ge=0.0)  # a yellow sooner after a red than this is a misread red
    yellow_sure: float = Field(0.75, ge=0.0, le=1.0)  # a yellow with a lower confidence is doubtful
    sight_decel_mps2: float = Field(4.5, gt=0.0)
    yellow_decel_mps2: float = Field(3.0, gt=0.0)
    yellow_s: float = Field(2.7, gt=0.0)  # CARLA's 3 s, less the delay of the classification's votes
    stop_sign_wait_s: float = Field(1.0, ge=0.0)
    stop_sign_zone_m: float = Field(0.5, gt=0.0)
    stop_sign_clearance_m: float = Field(0.8, ge=0.0)  # one whose middle is 4 m away has not stopped at the sign
    yield_speed_mps: float = Field(5.0, gt=0.0)
    off_light_speed_mps: float = Field(6.0, gt=0.0)
    unseen_after_s: float = Field(3.0, ge=0.0)  # shorter gaps in the view of a light are flicker
    unseen_follow_s: float = Field(2.0, ge=0.0)  # after that, the light may have turned yellow
    unseen_wait_s: float = Field(60.0, ge=0.0)  # a whole cycle of four arms of 15 s (green, yellow, all red)
    unseen_clear_s: float = Field(3.0, ge=0.0)
    moving_leader_mps: float = Field(0.3, gt=0.0)  # a slower leader is reported as an obstacle
    merge_horizon_s: float = Field(2.5, gt=0.0, le=60.0)
    time_margin_before_s: float = Field(0.7, ge=0.0)
    time_margin_after_s: float = Field(0.8, ge=0.0)
    yield_hysteresis_s: float = Field(0.7, ge=0.0)


class PlanningConfig(_Strict):
    """All of planning."""

    route: RouteConfig = RouteConfig()
    prediction: PredictionConfig = PredictionConfig()
    speed: SpeedConfig = SpeedConfig()
    behavior: BehaviorConfig = BehaviorConfig()
