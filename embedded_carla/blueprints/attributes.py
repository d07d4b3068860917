"""Short ways to write blueprint attributes."""

from __future__ import annotations

from embedded_carla.types import Attribute


def fixed(name: str, kind: str, value: str) -> Attribute:
    """An attribute that scripts read but cannot set."""
    return Attribute(name, kind, value, (value,), is_modifiable=False)


def choice(name: str, kind: str, values: tuple[str, ...]) -> Attribute:
    """One of `values`; the first is the default."""
    return Attribute(name, kind, values[0], values, is_modifiable=True, restrict_to_recommended=True)


def free(name: str, kind: str, default: str) -> Attribute:
    """Any value; the default is the one recommended."""
    return Attribute(name, kind, default, (default,))


def role_name(default: str, *others: str) -> Attribute:
    return Attribute("role_name", "string", default, (default, *others))
