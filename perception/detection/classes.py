"""The detector's classes, and which labelled objects count in training and evaluation."""

from __future__ import annotations

from av_core.types import LightState, ObjectKind

SPEED_LIMITS_KMH = (30, 40, 50, 60, 70, 80, 90, 100, 120)
"""Speed limits on the signs of the embedded towns and of CARLA's towns, km/h."""

LIGHT_STATES = (LightState.RED, LightState.YELLOW, LightState.GREEN, LightState.OFF)
STOP_SIGN = "stop sign"

CLASSES: tuple[str, ...] = (
    *(kind.value for kind in ObjectKind),
    *(f"light {state.value}" for state in LIGHT_STATES),
    STOP_SIGN,
    *(f"speed limit {limit}" for limit in SPEED_LIMITS_KMH),
)
"""Class names in the order of the network's outputs; weights carry the same list, and the loader compares them."""

VEHICLES: tuple[str, ...] = tuple(kind.value for kind in ObjectKind if kind is not ObjectKind.PEDESTRIAN)

HEIGHT_MIN_PX = 8.0
VISIBLE_MIN = 0.4
"""Minimum height of the visible box and minimum visible fraction of an object that counts in training and evaluation.

Both occlusion and the picture's edge lower the visible fraction.
"""

FILL = {
    **{kind.value: 0.8 for kind in (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS)},
    ObjectKind.MOTORCYCLE.value: 0.5,
    ObjectKind.BICYCLE.value: 0.4,
    ObjectKind.PEDESTRIAN.value: 0.55,
}
"""Fraction of the hull of the projected box that an unoccluded object's silhouette fills; 1 for lights and signs."""


def light_class(state: LightState) -> str:
    """The class of a signal head that shows `state`; UNKNOWN maps to off."""
    return f"light {(state if state in LIGHT_STATES else LightState.OFF).value}"


def speed_limit_class(limit_kmh: float) -> str | None:
    """The class of a sign with this speed limit; None if there is no such class."""
    name = f"speed limit {limit_kmh:.0f}"
    return name if name in CLASSES else None


def light_state(name: str) -> LightState | None:
    """The light state that a class name stands for; None if the class is not a signal head."""
    return _STATES.get(name)


_STATES = {light_class(state): state for state in LIGHT_STATES}
