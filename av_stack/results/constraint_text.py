"""Puts into words what limits the planned speed, for people who watch a drive."""

from __future__ import annotations

from av_core.types import Constraint, ConstraintKind

_TEXTS = {
    ConstraintKind.CURVE: "curve {curvature_1pm:.2f} 1/m",
    ConstraintKind.LEADER: "vehicle {object_id} ahead {distance_m:.0f} m",
    ConstraintKind.OBSTACLE: "vehicle {object_id} ahead {distance_m:.0f} m",
    ConstraintKind.CROSSING_TRAFFIC: "giving way to vehicle {object_id} in {distance_m:.0f} m",
    ConstraintKind.MERGING_TRAFFIC: "letting vehicle {object_id} in",
    ConstraintKind.PEDESTRIAN: "walker {object_id} crossing in {distance_m:.0f} m",
    ConstraintKind.RED_LIGHT: "red light {object_id} in {distance_m:.0f} m",
    ConstraintKind.YELLOW_LIGHT: "yellow light {object_id} in {distance_m:.0f} m",
    ConstraintKind.UNSEEN_LIGHT: "unseen light {object_id} in {distance_m:.0f} m",
    ConstraintKind.LIGHT_OUT_OF_VIEW: "light {object_id} is out of view",
    ConstraintKind.LIGHT_NOT_SEEN: "light {object_id} is not seen",
    ConstraintKind.OFF_LIGHT: "light {object_id} is off",
    ConstraintKind.STOP_SIGN: "stop sign {object_id} in {distance_m:.0f} m",
    ConstraintKind.YIELD_SIGN: "yield sign {object_id}",
    ConstraintKind.CAMERA_CAUTION: "sensor {name}: slower",
    ConstraintKind.CAMERA_SLOW: "camera {name}: slowing down",
    ConstraintKind.CAMERA_STOP: "camera {name}: safe stop",
    ConstraintKind.POSITION_STOP: "{name}: safe stop",
    ConstraintKind.REQUESTED_STOP: "{name}",
    ConstraintKind.END_OF_ROUTE: "end of route in {distance_m:.0f} m",
    ConstraintKind.SPEED_LIMIT: "speed limit {limit_kmh:.0f} km/h",
}


def describe(constraint: Constraint | None) -> str:
    """What limits the speed in words, for example "red light 412 in 18 m"; empty for None."""
    if constraint is None:
        return ""
    text = _TEXTS.get(constraint.kind, constraint.kind.value)
    if not constraint.object_id:  # nobody in particular
        text = text.replace("vehicle {object_id}", "a vehicle").replace(" {object_id}", "")
    return text.format(
        object_id=constraint.object_id,
        distance_m=0.0 if constraint.distance_m is None else constraint.distance_m,
        name=constraint.name,
        curvature_1pm=abs(constraint.value),
        limit_kmh=3.6 * constraint.value,
    )
