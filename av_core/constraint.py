"""What can limit the planned speed, as data; `av_stack.results.constraint_text` puts it into words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ConstraintKind(str, Enum):
    """Reasons that can limit the planned speed.

    `ACCELERATION` is the ego's own acceleration limit: nothing else limits the speed. `LEADER` is a vehicle ahead that
    moves, `OBSTACLE` one that stands. `UNSEEN_LIGHT` is a light whose state is not known. Statistics count each of
    the detailed kinds after `END_OF_ROUTE` as one of the kinds before it (`counted_as`).
    """

    SPEED_LIMIT = "speed limit"
    ACCELERATION = "acceleration"
    CURVE = "curve"
    LEADER = "moving vehicle ahead"
    OBSTACLE = "standing vehicle ahead"
    CROSSING_TRAFFIC = "giving way to a vehicle"
    PEDESTRIAN = "pedestrian"
    RED_LIGHT = "red light"
    UNSEEN_LIGHT = "unseen light"
    OFF_LIGHT = "light that is off"
    STOP_SIGN = "stop sign"
    YIELD_SIGN = "yield sign"
    CAMERA = "camera fault"
    REQUESTED_STOP = "requested stop"
    END_OF_ROUTE = "end of route"

    YELLOW_LIGHT = "yellow light"
    LIGHT_OUT_OF_VIEW = "light out of view"
    LIGHT_NOT_SEEN = "light that was not seen"
    MERGING_TRAFFIC = "letting a vehicle in"
    CAMERA_CAUTION = "camera fault: slower"
    CAMERA_SLOW = "camera fault: slowing down"
    CAMERA_STOP = "camera fault: safe stop"
    POSITION_STOP = "position uncertain: safe stop"

    @property
    def counted_as(self) -> ConstraintKind:
        """The kind under which statistics count this one."""
        return _COUNTED_AS.get(self, self)


_COUNTED_AS = {
    ConstraintKind.YELLOW_LIGHT: ConstraintKind.RED_LIGHT,
    ConstraintKind.LIGHT_OUT_OF_VIEW: ConstraintKind.UNSEEN_LIGHT,
    ConstraintKind.LIGHT_NOT_SEEN: ConstraintKind.UNSEEN_LIGHT,
    ConstraintKind.MERGING_TRAFFIC: ConstraintKind.CROSSING_TRAFFIC,
    ConstraintKind.CAMERA_CAUTION: ConstraintKind.CAMERA,
    ConstraintKind.CAMERA_SLOW: ConstraintKind.CAMERA,
    ConstraintKind.CAMERA_STOP: ConstraintKind.CAMERA,
    ConstraintKind.POSITION_STOP: ConstraintKind.CAMERA,
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """What limits the planned speed.

    `object_id` is the track or signal id; empty if there is none. `distance_m` is the distance from the ego's front
    bumper to the vehicle ahead, or the distance that the ego still drives to where it has to stop or be slow. `value`
    is the limit in m/s of `SPEED_LIMIT` and the curvature in 1/m of `CURVE`; `name` tells which camera has which fault.
    """

    kind: ConstraintKind
    object_id: str = ""
    distance_m: float | None = None
    value: float = 0.0
    name: str = ""

    @property
    def counted(self) -> Constraint:
        """This constraint as statistics count it: of a main kind, with object and distance."""
        return Constraint(self.kind.counted_as, self.object_id, self.distance_m)
