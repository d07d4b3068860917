"""Constructors for the common kinds of blueprint attributes."""

from __future__ import annotations

from embedded_carla.types import Attribute


def fixed(name: str, kind: str, value: str) -> Attribute:
    """A read-only attribute."""
    return Attribute(name, kind, value, (value,), is_modifiable=False)


def choice(name: str, kind: str, values: tuple[str, ...]) -> Attribute:
    """An attribute restricted to `values`; the first is the default."""
    return Attribute(name, kind, values[0], values, is_modifiable=True, restrict_to_recommended=True)


def free(name: str, kind: str, default: str) -> Attribute:
    """An attribute that takes any value; the default is the only recommended value."""
    return Attribute(name, kind, default, (default,))


def role_name(default: str, *others: str) -> Attribute:
    return Attribute("role_name", "string", default, (default, *others))
