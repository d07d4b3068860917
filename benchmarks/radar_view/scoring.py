"""How long before the conflict the other car was tracked, and how well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from av_core.types import EgoState, Pose2D, TrackedObject, Truth
from benchmarks.radar_view.manoeuvres import in_ego_frame

POSITION_MAX_M, SPEED_MAX_MPS = 2.0, 2.0
"""Largest errors of a track that counts, of the middle and of the velocity."""

GAP_MAX_TICKS = 2
"""Ticks without a good track that a tracking survives."""


@dataclass(frozen=True, slots=True)
class Match:
    """The track nearest to the other car at one time before the conflict, in the ego's axes; infinite without one."""

    time_s: float
    position_m: float
    velocity_mps: float

    @property
    def is_good(self) -> bool:
        return self.position_m < POSITION_MAX_M and self.velocity_mps < SPEED_MAX_MPS


def match(time_s: float, tracks: Sequence[TrackedObject], ego: EgoState, truth: Truth, other: TrackedObject) -> Match:
    """Compare the tracks with the true place of `other`, both relative to where the ego is or believes to be."""
    believed, true = Pose2D(ego.x_m, ego.y_m, ego.yaw_rad), truth.ego
    there = in_ego_frame(np.array([other.x_m - true.x_m, other.y_m - true.y_m]), true)
    moves = in_ego_frame(np.array(other.velocity_mps), true)
    best = Match(time_s, np.inf, np.inf)
    for track in tracks:
        at = in_ego_frame(np.array([track.x_m - ego.x_m, track.y_m - ego.y_m]), believed)
        velocity = in_ego_frame(np.array(track.velocity_mps), believed)
        one = Match(time_s, float(np.hypot(*(at - there))), float(np.hypot(*(velocity - moves))))
        if one.position_m < best.position_m:
            best = one
    return best


def lead_s(matches: Sequence[Match]) -> float:
    """For how long, s before the conflict, the car has been tracked well without a break; 0 if it is not at the end."""
    lead, missed = 0.0, 0
    for one in reversed(matches):
        if one.is_good:
            lead, missed = -one.time_s, 0
            continue
        missed += 1
        if missed > GAP_MAX_TICKS:
            break
    return lead
