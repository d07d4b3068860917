"""Moves an actor along a way: which velocity and turn rate it needs at each tick."""

from __future__ import annotations

import math
from collections.abc import Callable

from av_core.curve import Curve
from av_core.orders import Hold, Move, Order
from av_core.types import ActorTruth
from scenarios.script.actions import Pace
from scenarios.script.situation import Situation, speed_mps

LOOK_AHEAD_S, LOOK_AHEAD_MIN_M = 0.6, 3.0
"""A vehicle steers towards the point of its way that it reaches after this time, at least so far ahead."""

WALKER_AHEAD_M = 0.5
"""A walker heads for the point of its way so far ahead."""

STANDING_MPS = 0.05
SEARCH_M = 10.0
"""How far from the last place on the way the next one is looked for."""

Speed = Callable[[Situation], float]


def wanted_speed(pace: Pace) -> Speed:
    """The speed that an action asks for at each tick, m/s."""
    if pace.speed_mps is not None:
        fixed_mps = pace.speed_mps
        return lambda _: fixed_mps
    share = pace.ego_share or 0.0
    return lambda now: max(share * speed_mps(now.ego) + pace.over_ego_mps, 0.0)


class Motion:
    """The motion of one actor along `way`; it stands at the end. Call `step` at each tick.

    The speed follows `speed`, changing by at most `acceleration_mps2`, and falls to 0 before the end, unless
    `stops_at_end` is False. Vehicles steer by pure pursuit (Coulter, CMU-RI-TR-92-01), walkers turn at once.
    """

    def __init__(
        self, way: Curve, speed: Speed, acceleration_mps2: float, *, is_walker: bool, stops_at_end: bool = True
    ) -> None:
        self._way, self._speed, self._acceleration_mps2 = way, speed, acceleration_mps2
        self._is_walker, self._stops_at_end = is_walker, stops_at_end
        self._s_m = 0.0
        self._now_mps: float | None = None

    @property
    def left_m(self) -> float:
        """Distance to the end of the way."""
        return self._way.length_m - self._s_m

    def stop(self, deceleration_mps2: float) -> None:
        """Come to a standstill on the way."""
        self._speed, self._acceleration_mps2 = (lambda _: 0.0), deceleration_mps2

    def step(self, name: str, actor: ActorTruth, now: Situation) -> Order:
        """The order for the next tick."""
        self._s_m = self._progress_m(actor)
        wanted_mps = self._speed(now)
        if self._stops_at_end:
            wanted_mps = min(wanted_mps, math.sqrt(2.0 * self._acceleration_mps2 * max(self.left_m, 0.0)))
        before_mps = speed_mps(actor) if self._now_mps is None else self._now_mps
        change_mps = self._acceleration_mps2 * now.step_s
        self._now_mps = min(max(wanted_mps, before_mps - change_mps), before_mps + change_mps)
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
