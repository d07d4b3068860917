"""Which values an actor's attributes may have: what every client can read, and what sensors can measure with."""

from __future__ import annotations

import math

from embedded_carla.codec import ATTRIBUTE_KINDS, ActorDescription, shown
from embedded_carla.errors import CommandError
from embedded_carla.types import Blueprint

LARGEST = 2.0**31 - 1.0
"""Largest size of a number: CARLA's clients keep whole numbers, noise seeds among them, in 32 bits with a sign."""

_BOOL, _INT, _FLOAT, _STRING, _COLOUR = (ATTRIBUTE_KINDS[k] for k in ("bool", "int", "float", "string", "color"))


def check_values(description: ActorDescription, blueprint: Blueprint) -> None:
    """Raises CommandError naming the first attribute that is not of its kind.

    A client's wheel throws on such a value while it lists the actors, whoever has spawned them.
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
    """A sensor's mode must be one that there is."""
    for attribute in blueprint.attributes:
        value = description.value(attribute.name, attribute.default)
        if attribute.restrict_to_recommended and value not in attribute.recommended:
            allowed = ", ".join(attribute.recommended)
            raise CommandError(
                f"{description.type_id}: attribute {attribute.name} is {shown(value)}; allowed are {allowed}"
            )
