"""What the detector tells apart, and which objects count: the one place for both."""

from __future__ import annotations

from av_stack.types import LightState, ObjectKind

SPEED_LIMITS_KMH = (30, 40, 50, 60, 70, 80, 90, 100, 120)
"""Numbers on the signs of the embedded towns and of CARLA's."""

LIGHT_STATES = (LightState.RED, LightState.YELLOW, LightState.GREEN, LightState.OFF)
STOP_SIGN = "stop sign"

CLASSES: tuple[str, ...] = (
    *(kind.value for kind in ObjectKind),
    *(f"light {state.value}" for state in LIGHT_STATES),
    STOP_SIGN,
    *(f"speed limit {limit}" for limit in SPEED_LIMITS_KMH),
)
"""Names in the order of the network's outputs; weights carry the same list, and a loader compares them."""

VEHICLES: tuple[str, ...] = tuple(kind.value for kind in ObjectKind if kind is not ObjectKind.PEDESTRIAN)

HEIGHT_MIN_PX = 8.0
VISIBLE_MIN = 0.4
"""An object counts, in training and in every figure, when the box around what is seen of it is at least this high and
at least this share of it is seen: neither hidden behind something nor outside the picture."""

FILL = {
    **{kind.value: 0.8 for kind in (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS)},
    ObjectKind.MOTORCYCLE.value: 0.5,
    ObjectKind.BICYCLE.value: 0.4,
    ObjectKind.PEDESTRIAN.value: 0.55,
}
"""Share of the hull of an object's projected box that its silhouette fills when nothing hides it. Lights and signs fill
theirs."""


def light_class(state: LightState) -> str:
    """The class of a signal head that shows `state`; UNKNOWN counts as off."""
    return f"light {(state if state in LIGHT_STATES else LightState.OFF).value}"


def speed_limit_class(limit_kmh: float) -> str | None:
    """The class of a sign with this number; None for a number that no town has."""
    name = f"speed limit {limit_kmh:.0f}"
    return name if name in CLASSES else None


def light_state(name: str) -> LightState | None:
    """The state that a class name stands for; None for all that is no signal head."""
    return _STATES.get(name)


_STATES = {light_class(state): state for state in LIGHT_STATES}
