"""Spring arm attachment: a camera follows its vehicle softly, and comes closer when something is in the way.

This reproduces what CARLA sets on Unreal's spring arm, and what that component does with it. The arm starts at the
parent's origin and reaches to the child's position; its end looks back along the arm, and the child's own rotation is
added. Only the parent's yaw is followed, with a lag of speed 8 in sub-steps of 1/60 s; the position has no lag.
`SpringArm` starts 0.3 m above the origin and is shortened by what a probe of 12 cm radius meets (here: five rays
through the probe); `SpringArmGhost` does neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from embedded_carla.scene import F64
from embedded_carla.types import Transform, wrapped_deg

ROTATION_LAG_SPEED = 8.0
LAG_STEP_S = 1.0 / 60.0
PROBE_RADIUS_M = 0.12
LIFT_M = 0.3

Probe = Callable[[F64, F64], float]
"""Returns the free share of the way from the first point to the second; 1 if all of it is free."""


class Attachment(IntEnum):
    """CARLA's attachment types."""

    RIGID = 0
    SPRING_ARM = 1
    SPRING_ARM_GHOST = 2


@dataclass(slots=True)
class SpringArm:
    """One spring arm.

    `pitch_deg`, `yaw_deg` are its direction relative to the parent, pointing towards the parent. `followed_deg` is the
    present world yaw of its end, None before the first step.
    """

    length_m: float
    pitch_deg: float
    yaw_deg: float
    collides: bool
    followed_deg: float | None = None

    @staticmethod
    def to(child: Transform, attachment: Attachment) -> SpringArm:
        """The arm that holds a child at this pose relative to its parent."""
        x, y, z = (-v for v in child.location)
        level = math.hypot(x, y)
        return SpringArm(
            math.hypot(level, z), math.degrees(math.atan2(z, level)), math.degrees(math.atan2(y, x)) if level else 0.0,
            attachment is Attachment.SPRING_ARM,
        )  # fmt: skip

    def end(self, parent: Transform, dt_s: float, probe: Probe) -> Transform:
        """World pose of the arm's end after it has followed for `dt_s` more."""
        turned = parent @ Transform(pitch_deg=self.pitch_deg, yaw_deg=self.yaw_deg)
        self.followed_deg = _followed(self.followed_deg, turned.yaw_deg, dt_s)
        pose = Transform(pitch_deg=self.pitch_deg, yaw_deg=self.followed_deg)
        start = np.array(parent.location) + np.array([0.0, 0.0, LIFT_M if self.collides else 0.0])
        end = start - self.length_m * pose.matrix()[:3, 0]
        if self.collides and self.length_m > 0.0:
            end = start + probe(start, end) * (end - start)
        x, y, z = end.tolist()
        return Transform(x, y, z, self.pitch_deg, self.followed_deg)


def _followed(now_deg: float | None, wanted_deg: float, dt_s: float) -> float:
    """The yaw after following for `dt_s`, while the target moves evenly to `wanted_deg`."""
    if now_deg is None:
        return wanted_deg
    gap = wrapped_deg(wanted_deg - now_deg)
    if dt_s <= 0.0:
        return now_deg
    target, left = now_deg, dt_s
    while left > 1e-6:
        step = min(LAG_STEP_S, left)
        left -= step
        target += gap * step / dt_s
        now_deg += wrapped_deg(target - now_deg) * min(ROTATION_LAG_SPEED * step, 1.0)
    return wrapped_deg(now_deg)


def probe_rays(start: F64, end: F64) -> list[tuple[F64, F64]]:
    """The centre line of the probe's way and four lines on the probe's surface."""
    way = (end - start) / np.linalg.norm(end - start)
    side = np.cross(way, (0.0, 0.0, 1.0) if abs(way[2]) < 0.9 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    up = np.cross(side, way)
    shifts = [np.zeros(3), *(PROBE_RADIUS_M * s for s in (side, -side, up, -up))]
    return [(start + shift, end + shift) for shift in shifts]
