"""Moves an actor along a path: computes the velocity and turn rate that it needs at each tick."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from av_core.curve import Curve
from av_core.orders import Hold, Move, Order
from av_core.types import ActorTruth, Pose2D
from scenarios.script.actions import Pace
from scenarios.script.situation import Situation, distance_m, speed_mps
from scenarios.script.yielding import free_speed_mps

LOOK_AHEAD_S = 0.6
"""A vehicle steers towards the point of its path that it reaches after this time."""

LOOK_AHEAD_MIN_M = 3.0
"""Least distance ahead of that point."""

WALKER_AHEAD_M = 0.5
"""Distance ahead on its path of the point that a walker heads for."""

STANDING_MPS = 0.05
YIELDING_RISE_MPS2 = 3.0
"""Largest acceleration of a vehicle with `yields` whose own acceleration is not limited."""

YIELDING_FALL_MPS2 = 8.0
"""Least limit of the deceleration of a vehicle with `yields`, so that it can brake behind others."""

MEETING_MAX_MPS = 40.0
"""Top speed of a vehicle with a `meet` action."""

SEARCH_M = 10.0
"""Distance ahead of the actor's last place on the path within which its new place is searched."""

Speed = Callable[[Situation], float]


def wanted_speed(pace: Pace, now: Situation) -> Speed:
    """The function that gives the wanted speed of an action at each tick, m/s; the action starts at `now`."""
    if pace.speed_mps is not None:
        fixed_mps = pace.speed_mps
        return lambda _: fixed_mps
    share = pace.ego_share or 0.0
    if pace.fixed:
        then_mps = max(share * speed_mps(now.ego) + pace.over_ego_mps, 0.0)
        return lambda _: then_mps
    return lambda now: max(share * speed_mps(now.ego) + pace.over_ego_mps, 0.0)


def meeting_speed(actor: str, at: Pose2D, ego_at: Pose2D) -> Speed:
    """The function that gives an actor's speed at each tick, m/s, so that it comes to `at` with the ego at `ego_at`.

    It takes the ego's present speed as constant.
    """

    def speed(now: Situation) -> float:
        ego_left_m = max(distance_m(now.ego.pose, ego_at), 1.0)
        return min(distance_m(now.actors[actor].pose, at) * speed_mps(now.ego) / ego_left_m, MEETING_MAX_MPS)

    return speed


class Motion:
    """The motion of one actor along the path `way`, from `start_s_m` on; call `step` at each tick.

    The actor's speed follows `speed`, and changes by at most `acceleration_mps2`. It falls to 0 at the end of the path
    unless `stops_at_end` is False. Vehicles steer by pure pursuit (Coulter, CMU-RI-TR-92-01), walkers turn at once.
    With `yields`, a vehicle brakes behind road users on its path.
    """

    def __init__(
        self,
        way: Curve,
        speed: Speed,
        acceleration_mps2: float,
        *,
        is_walker: bool = False,
        stops_at_end: bool = True,
        yields: bool = False,
        start_s_m: float = 0.0,
        start_mps: float | None = None,
    ) -> None:
        self._way, self._speed, self._acceleration_mps2 = way, speed, acceleration_mps2
        self._is_walker, self._stops_at_end = is_walker, stops_at_end
        self.yields = yields
        self._s_m = start_s_m
        self._now_mps = start_mps

    @property
    def left_m(self) -> float:
        """Distance to the end of the path."""
        return self._way.length_m - self._s_m

    def places_ahead(self, reach_m: float, step_m: float) -> tuple[Pose2D, ...]:
        """Places on the path from here to `reach_m` ahead, `step_m` apart."""
        along = np.arange(self._s_m, min(self._s_m + reach_m, self._way.length_m), step_m)
        return tuple(Pose2D(*row) for row in np.column_stack(self._way.pose_at(along)).tolist())

    def stop(self, deceleration_mps2: float) -> None:
        """Brake to a standstill on the path from now on."""
        self._speed, self._acceleration_mps2 = (lambda _: 0.0), deceleration_mps2

    def step(self, name: str, actor: ActorTruth, now: Situation) -> Order:
        """The order for the next tick."""
        self._s_m = self._progress_m(actor)
        wanted_mps = self._speed(now)
        if self._stops_at_end:
            wanted_mps = min(wanted_mps, math.sqrt(2.0 * self._acceleration_mps2 * max(self.left_m, 0.0)))
        rise_mps2 = fall_mps2 = self._acceleration_mps2
        if self.yields:
            wanted_mps = min(wanted_mps, free_speed_mps(name, self._way, self._s_m, actor.pose, now))
            rise_mps2 = rise_mps2 if math.isfinite(rise_mps2) else YIELDING_RISE_MPS2
            fall_mps2 = max(fall_mps2, YIELDING_FALL_MPS2)
        before_mps = speed_mps(actor) if self._now_mps is None else self._now_mps
        low_mps, high_mps = before_mps - fall_mps2 * now.step_s, before_mps + rise_mps2 * now.step_s
        self._now_mps = min(max(wanted_mps, low_mps), high_mps)
        if self._now_mps < STANDING_MPS and wanted_mps < STANDING_MPS:
            return Hold(name)
        return self._walk(name, actor) if self._is_walker else self._drive(name, actor)

    def _progress_m(self, actor: ActorTruth) -> float:
        near = self._way.part(self._way.rows_between(self._s_m, self._s_m + SEARCH_M))
        here = near.project(actor.pose.x_m, actor.pose.y_m)
        return min(max(float(here.s_m), self._s_m), self._way.length_m)

    def _drive(self, name: str, actor: ActorTruth) -> Move:
        speed, pose = self._now_mps or 0.0, actor.pose
        reach_m = max(LOOK_AHEAD_S * speed, LOOK_AHEAD_MIN_M)
        x, y, _ = self._way.pose_at(self._s_m + reach_m)
        dx, dy = float(x) - pose.x_m, float(y) - pose.y_m
        bearing = math.atan2(dy, dx) - pose.yaw_rad
        yaw_rate = 2.0 * speed * math.sin(bearing) / max(math.hypot(dx, dy), 1.0)
        return Move(name, (speed * math.cos(pose.yaw_rad), speed * math.sin(pose.yaw_rad)), yaw_rate)

    def _walk(self, name: str, actor: ActorTruth) -> Move:
        x, y, _ = self._way.pose_at(self._s_m + WALKER_AHEAD_M)
        bearing = math.atan2(float(y) - actor.pose.y_m, float(x) - actor.pose.x_m)
        speed = self._now_mps or 0.0
        return Move(name, (speed * math.cos(bearing), speed * math.sin(bearing)))
