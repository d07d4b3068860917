"""Validation of actor attributes, so that every client can read them and sensors can measure with them."""

from __future__ import annotations

import math

from embedded_carla.errors import CommandError
from embedded_carla.types import Blueprint
from embedded_carla.wire.codec import ATTRIBUTE_KINDS, ActorDescription, shown

LARGEST = 2.0**31 - 1.0
"""Largest magnitude of a number: CARLA's clients keep whole numbers, even noise seeds, as signed 32-bit integers."""

_BOOL, _INT, _FLOAT, _STRING, _COLOUR = (ATTRIBUTE_KINDS[k] for k in ("bool", "int", "float", "string", "color"))


def check_values(description: ActorDescription, blueprint: Blueprint) -> None:
    """Raise CommandError naming the first attribute whose value does not fit its kind.

    A client's wheel throws on such a value while it lists the actors, whichever client spawned them.
    """
    for name, kind, value in description.attributes:
        if kind == _BOOL:
            good, expected = value.lower() in ("true", "false"), "true or false"
        elif kind in (_INT, _FLOAT):
            good, expected = _is_number(value), f"a number of at most {LARGEST:.0f}"
        elif kind == _COLOUR:
            good, expected = _is_colour(value), "r,g,b of 0 to 255"
        else:
            good, expected = kind == _STRING, f"one of the kinds {_BOOL} to {_COLOUR}"
        if not good:
            raise CommandError(f"{description.type_id}: attribute {name} is {shown(value)}; it must be {expected}")
    if description.type_id.startswith("sensor."):
        _check_choices(description, blueprint)


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value)) and abs(float(value)) <= LARGEST
    except ValueError:
        return False


def _is_colour(value: str) -> bool:
    parts = [part.strip() for part in value.split(",")]
    return len(parts) == 3 and all(p.isascii() and p.isdecimal() and len(p) < 4 and int(p) <= 255 for p in parts)


def _check_choices(description: ActorDescription, blueprint: Blueprint) -> None:
    """Raise CommandError if a restricted attribute of a sensor, such as a mode, has none of its allowed values."""
    for attribute in blueprint.attributes:
        value = description.value(attribute.name, attribute.default)
        if attribute.restrict_to_recommended and value not in attribute.recommended:
            allowed = ", ".join(attribute.recommended)
            raise CommandError(
                f"{description.type_id}: attribute {attribute.name} is {shown(value)}; allowed are {allowed}"
            )
