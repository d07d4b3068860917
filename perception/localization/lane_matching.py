"""Matches a detected lane line to a lane boundary of the map and gives the measurement of the ego's pose from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import LaneLine, MarkingColour, MarkingKind, Pose2D
from perception.localization.ekf import STATE_SIZE, YAW, X, Y
from perception.map_index import BoundaryCrossing, MapIndex

Float = NDArray[np.float64]

MATCH_X_M = 7.0
"""Distance ahead, m, at which lines are compared: the nearest that a level front camera sees, where a pitch error does
least harm."""

REACH_M = 8.0
"""Maximum lateral distance of a line that is matched, m."""

GATE = 9.0
"""Maximum squared Mahalanobis distance of a match (3 sigma)."""

AMBIGUITY_MARGIN = 9.0
"""Minimum gap in squared Mahalanobis distance between the best and the second match; else the line is not used."""


@dataclass(frozen=True, slots=True)
class LineMeasurement:
    """A detected line matched to the map: `innovation_m` (1,) with Jacobian (1, 7) and covariance (1, 1)."""

    innovation_m: Float
    jacobian: Float
    covariance_m2: Float


def match_line(
    line: LaneLine, index: MapIndex, pose: Pose2D, state_covariance: Float, sigma_m: float
) -> LineMeasurement | None:
    """The lateral measurement from `line` at `pose`; None where the association is ambiguous or out of range.

    `sigma_m` is the line's standard deviation at the distance of comparison. A line of another colour than the map's
    boundary does not match it; nor does a kerb match paint.
    """
    x_m = float(np.clip(MATCH_X_M, line.x_min_m, line.x_max_m))
    measured = float(line.y_at(x_m))
    if not abs(measured) <= REACH_M:
        return None
    noise = np.array([[sigma_m**2]])
    rated: list[tuple[float, LineMeasurement]] = []
    for crossing in index.boundaries_at(pose, x_m, REACH_M):
        jacobian = _jacobian(pose.yaw_rad, x_m, crossing)
        innovation = np.array([measured - crossing.y_m])
        spread = float((jacobian @ state_covariance @ jacobian.T + noise)[0, 0])
        cost = float(innovation[0] ** 2) / spread
        if not _looks_alike(line, crossing):
            cost = max(cost, GATE * 4.0)
        rated.append((cost, LineMeasurement(innovation, jacobian, noise)))
    rated.sort(key=lambda pair: pair[0])
    if not rated or rated[0][0] > GATE:
        return None
    if len(rated) > 1 and rated[1][0] - rated[0][0] < AMBIGUITY_MARGIN:
        return None
    return rated[0][1]


def _looks_alike(line: LaneLine, crossing: BoundaryCrossing) -> bool:
    unknown_colour = MarkingColour.UNKNOWN in (line.colour, crossing.colour)
    if not unknown_colour and line.colour is not crossing.colour:
        return False
    return (line.kind is MarkingKind.KERB) == (crossing.kind is MarkingKind.KERB)


def _jacobian(yaw_rad: float, x_m: float, crossing: BoundaryCrossing) -> Float:
    """d(y of the boundary at x_m in the vehicle frame) / d(state).

    Moving the ego by (dx, dy) in the vehicle frame moves the crossing by slope * dx - dy. Turning left by d turns the
    world right and moves the crossing by -(x + slope * y) * d.
    """
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    row = np.zeros((1, STATE_SIZE))
    row[0, X] = crossing.slope * c + s
    row[0, Y] = crossing.slope * s - c
    row[0, YAW] = -(x_m + crossing.slope * crossing.y_m)
    return row
