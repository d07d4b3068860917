"""Backs the ego up when it is stuck: it drives a few metres back along the path on which it came.

The ego is stuck when it waits too close behind an obstacle that it wants to pass, or beside it in the oncoming lane. An
oncoming driver who has stopped in front of the ego cannot go on either. It is also stuck when it has waited long, too
close before a stream that it wants to cross.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from av_core.curve import ahead_and_left
from av_core.trajectory import Trajectory
from av_core.types import EgoState, Float, Prediction, Stamp, TrackedObject
from planning.local.occupancy import Body
from planning.traffic.run_up import RUN_UP_M

_STUCK_S, _AGAIN_S = 4.0, 6.0
"""The ego backs up after it has been stuck for the first time, and not again within the second. It also gives up
after it has stood for the first time on the way back: otherwise it would wait for others behind it while the path
ahead is free."""

_NEAR_M, _ROOM_M = 3.0, 7.0
"""Gap to the obstacle below which the ego cannot swing out; and the gap that it makes by backing up."""

_IN_LANE_M, _ALONG_RAD = 0.25, 0.08
"""The ego backs up until its offset from the lane's centre and its heading error are below these."""

_SHORTEST_M, _LONGEST_M = 1.0, 12.0
"""Shortest and longest distance for which the ego backs up."""

_POSE_M, _JUMP_M, _BACKWARDS_MPS = 0.2, 2.0, -0.05
"""Distance between two remembered poses; distance between poses that cannot belong to one drive; and the speed
below which the ego drives backwards."""

_MARGIN_M, _ASIDE_M = 1.2, 0.4
"""Distance kept to others behind the ego, and to those beside its way: a radar places them to 0.3 m."""

_COMING_MPS, _COMING_M = 0.7, 15.0
"""Speed and distance from which on a road user behind may be coming, so that the ego stands."""

_SEEN_M = 1.5
"""The radars see who stands so far behind the place to which the ego may back up; nearer ones they may lose."""

_TOP_MPS, _GAIN_MPS2, _BRAKE_MPS2 = 1.2, 0.6, 0.5
_STEP_S, _STEPS = 0.25, 17
_DONE_M = 0.1


@dataclass(frozen=True, slots=True)
class Where:
    """The ego's pose against its route (cross-track error, turn to the left), and the gap to the obstacle that it wants
    to pass.

    It `is_in_their_way` where it reaches into the oncoming lane. `run_up_m` is its room before a fast stream.
    """

    cross_track_m: float
    turn_rad: float
    room_m: float
    is_in_their_way: bool
    wants_to_pass: bool
    run_up_m: float = np.inf

    @property
    def is_stuck(self) -> bool:
        return self.lacks_run_up or (self.wants_to_pass and (self.room_m < _NEAR_M or self.is_in_their_way))

    @property
    def lacks_run_up(self) -> bool:
        return self.run_up_m < RUN_UP_M - _SHORTEST_M


class BackingUp:
    """Remembers the path on which the ego came, and since when it is stuck. Call `update` in every step."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._poses: list[tuple[float, float, float]] = []
        self._beside: list[float] = []
        self._stuck_since_s: float | None = None
        self._not_before_s = -np.inf
        self._left_m: float | None = None
        self._until_m = np.inf  # the way back to the last one that was seen standing there
        self._stands_since_s = 0.0
        self._last: tuple[float, float] | None = None

    def update(self, ego: EgoState, stamp: Stamp, where: Where, prediction: Prediction) -> Trajectory | None:
        """The trajectory backwards, for an ego that is stuck or backs up already; else None."""
        time_s, here = stamp.time_s, (ego.x_m, ego.y_m)
        moved_m = float(np.hypot(here[0] - self._last[0], here[1] - self._last[1])) if self._last else 0.0
        self._last = here
        self._until_m += moved_m if self._left_m is None else -moved_m
        if self._left_m is not None:
            self._left_m -= moved_m
            while len(self._poses) > 1 and self._is_ahead(ego, self._poses[-1]):
                self._poses.pop()
                self._beside.pop()
            if ego.speed_mps < _BACKWARDS_MPS:
                self._stands_since_s = time_s
            has_time = time_s - self._stands_since_s < _STUCK_S
            if has_time and self._left_m > _DONE_M and len(self._poses) > 1:
                return self._back(ego, prediction)
            self._left_m, self._stuck_since_s, self._not_before_s = None, None, time_s + _AGAIN_S
            return None
        self._remember(ego, max(abs(where.cross_track_m) / _IN_LANE_M, abs(where.turn_rad) / _ALONG_RAD))
        if not where.is_stuck or abs(ego.speed_mps) > 0.1:
            self._stuck_since_s = None
            return None
        if self._stuck_since_s is None:
            self._stuck_since_s = time_s
        if time_s - self._stuck_since_s < _STUCK_S or time_s < self._not_before_s:
            return None
        way_m = self._wanted_m(where)
        free_m = min(self._free_m(prediction, way_m), self._to_standing_m(prediction, way_m))
        if min(way_m, free_m) < _SHORTEST_M or self._someone_comes(ego, prediction):
            return None
        self._left_m, self._stands_since_s = way_m, time_s
        return self._back(ego, prediction)

    def _to_standing_m(self, prediction: Prediction, way_m: float) -> float:
        """How far back along this distance nobody stands; one that was lost near the ego still stands there."""
        standing = tuple(one for one in prediction.objects if one.item.speed_mps < _COMING_MPS)
        free_m = self._free_m(replace(prediction, objects=standing), way_m)
        if free_m < way_m - _POSE_M:
            self._until_m = free_m
        elif self._until_m > _SEEN_M:
            self._until_m = np.inf
        return self._until_m

    def _remember(self, ego: EgoState, beside: float) -> None:
        """Note a pose; below 1, `beside` says that it is along the ego's lane."""
        if self._poses:
            moved_m = float(np.hypot(ego.x_m - self._poses[-1][0], ego.y_m - self._poses[-1][1]))
            if moved_m < _POSE_M or ego.speed_mps < _BACKWARDS_MPS:
                return
            if moved_m > _JUMP_M:
                self._poses, self._beside = [], []
        self._poses.append((ego.x_m, ego.y_m, ego.yaw_rad))
        self._beside.append(beside)
        most = round(2.0 * _LONGEST_M / _POSE_M)
        self._poses, self._beside = self._poses[-most:], self._beside[-most:]

    @staticmethod
    def _is_ahead(ego: EgoState, pose: tuple[float, float, float]) -> bool:
        """Whether a remembered pose is where the ego is, or ahead of it."""
        ahead_m, _ = ahead_and_left(pose[0] - ego.x_m, pose[1] - ego.y_m, ego.yaw_rad)
        return float(ahead_m) > -_DONE_M

    def _wanted_m(self, where: Where) -> float:
        """The way back to a pose in the lane with room ahead, or to a run-up."""
        way_m = _along(self._poses)
        if where.lacks_run_up:
            return min(RUN_UP_M - where.run_up_m, float(way_m[-1]), _LONGEST_M)
        beside = np.array(self._beside[::-1])
        in_lane = np.flatnonzero(beside < 1.0)
        back_m = float(way_m[in_lane[0] if len(in_lane) else int(np.argmin(beside))])
        return min(max(back_m, _ROOM_M - max(where.room_m, 0.0)), float(way_m[-1]), _LONGEST_M)

    def _free_m(self, prediction: Prediction, way_m: float) -> float:
        """How far back along this distance the ego neither touches nor comes near a road user, at their present
        positions."""
        along_m = _along(self._poses)
        poses = np.array(self._poses[::-1])
        reached = np.flatnonzero(along_m <= way_m + _POSE_M)
        taken = np.zeros(len(reached), dtype=bool)
        for one in prediction.objects:
            taken |= self._is_near(poses[reached], one.item)
        rows = np.flatnonzero(taken)
        return float(along_m[reached[max(rows[0] - 1, 0)]]) if len(rows) else float(along_m[reached[-1]])

    def _is_near(self, poses: Float, item: TrackedObject) -> np.ndarray:
        """At which poses (N, 3) the ego's rear half touches a road user, or comes nearer behind it than the margin."""
        half_m = 0.5 * self._body.width_m
        along = np.linspace(-self._body.rear_m - _MARGIN_M, 0.0, 6)
        x = poses[:, :1] + along * np.cos(poses[:, 2:])
        y = poses[:, 1:2] + along * np.sin(poses[:, 2:])
        ahead, left = ahead_and_left(x - item.x_m, y - item.y_m, item.yaw_rad)
        reach_l, reach_w = 0.5 * item.length_m + half_m, 0.5 * item.width_m + half_m + _ASIDE_M
        return np.asarray(((np.abs(ahead) < reach_l) & (np.abs(left) < reach_w)).any(axis=1))

    def _someone_comes(self, ego: EgoState, prediction: Prediction) -> bool:
        """Whether somebody moves right behind the ego."""
        for one in prediction.objects:
            ahead, left = ahead_and_left(one.item.x_m - ego.x_m, one.item.y_m - ego.y_m, ego.yaw_rad)
            if one.item.speed_mps > _COMING_MPS and -_COMING_M < float(ahead) < 0.0 and abs(float(left)) < 2.0:
                return True
        return False

    def _back(self, ego: EgoState, prediction: Prediction) -> Trajectory:
        """The motion along the remembered way, as far as it is free; it ends at rest."""
        assert self._left_m is not None
        free_m = 0.0 if self._someone_comes(ego, prediction) else self._free_m(prediction, self._left_m)
        poses = np.array([(ego.x_m, ego.y_m, self._poses[-1][2]), *self._poses[::-1]])
        poses[:, 2] = np.unwrap(poses[:, 2])
        along_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(poses[:, :2], axis=0).T))])
        along_m += np.arange(len(along_m)) * 1e-6  # two equal poses are none
        curvature = -np.gradient(poses[:, 2], along_m) if len(poses) > 2 else np.zeros(len(poses))
        end_m = min(self._left_m, free_m, self._to_standing_m(prediction, self._left_m), float(along_m[-1]))
        s_m, speed_mps = np.zeros(_STEPS), np.zeros(_STEPS)
        speed_mps[0] = max(-ego.speed_mps, 0.0)
        for row in range(1, _STEPS):
            left_m = max(end_m - float(s_m[row - 1]), 0.0)
            most_mps = min(_TOP_MPS, float(np.sqrt(2.0 * _BRAKE_MPS2 * left_m)))
            speed_mps[row] = min(float(speed_mps[row - 1]) + _GAIN_MPS2 * _STEP_S, most_mps)
            s_m[row] = s_m[row - 1] + 0.5 * (speed_mps[row] + speed_mps[row - 1]) * _STEP_S
        x, y, yaw, bend = (np.interp(s_m, along_m, column) for column in (*poses.T, curvature))
        times_s = np.arange(_STEPS, dtype=np.float64) * _STEP_S
        accel_mps2 = np.asarray(np.gradient(speed_mps, times_s))
        return Trajectory.through((x, y, yaw), bend, speed_mps, accel_mps2, times_s)


def _along(poses: list[tuple[float, float, float]]) -> Float:
    """The way from the last of the poses back to each of them, last first."""
    places = np.array(poses)[::-1, :2]
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))])
