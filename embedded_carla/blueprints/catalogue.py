"""The blueprint library as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from embedded_carla.types import Attribute, Blueprint

_HEAD = """# Blueprints

Every blueprint of the server, made from the library by `python -m embedded_carla.blueprints`. Ids and attributes are
those of CARLA 0.9.16. Sizes are length, width and height of the bounding box in metres.
"""


def markdown(library: Mapping[str, Blueprint]) -> str:
    """The whole Markdown page of `library`."""
    of = {
        start: [b for i, b in library.items() if i.startswith(start)]
        for start in ("vehicle.", "walker.", "static.prop.")
    }
    rest = [b for i, b in library.items() if not i.startswith(tuple(of))]
    sections = (
        _HEAD,
        "## Vehicles\n\nAll have `role_name`, `color`, `driver_id`, `sticky_control`, `terramechanics`,"
        " `object_type`.\n",
        _table(("id", "base_type", "special_type", "generation", "wheels", "doors", "lights", "size m", "mass kg"),
               (_vehicle(b) for b in of["vehicle."])),
        "## Walkers\n\nAll have `role_name`, `is_invincible`, `can_use_wheelchair` and `use_wheelchair`;"
        " `speed` recommends standing, walking and running.\n",
        _table(("id", "age", "gender", "generation", "speed m/s", "size m"), (_walker(b) for b in of["walker."])),
        "## Props\n\nAll have `role_name` and `size`.\n",
        _table(("id", "size", "size m"), (_prop(b) for b in of["static.prop."])),
        "## Sensors, triggers and others\n\nAttributes with their defaults.\n",
        _table(("id", "attributes"), ((f"`{b.type_id}`", _defaults(b.attributes)) for b in rest)),
    )  # fmt: skip
    return "\n".join(sections)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _value(blueprint: Blueprint, name: str) -> str:
    return next((a.default for a in blueprint.attributes if a.name == name), "")


def _size(blueprint: Blueprint) -> str:
    return " x ".join(f"{2 * half:.2f}" for half in blueprint.box.extent)


def _yes(value: str) -> str:
    return "yes" if value == "true" else ""


def _vehicle(b: Blueprint) -> Sequence[str]:
    mass = "" if b.vehicle is None else f"{b.vehicle.mass_kg:g}"
    kinds = (_value(b, name) for name in ("base_type", "special_type", "generation", "number_of_wheels"))
    return (
        f"`{b.type_id}`",
        *kinds,
        _yes(_value(b, "has_dynamic_doors")),
        _yes(_value(b, "has_lights")),
        _size(b),
        mass,
    )


def _walker(b: Blueprint) -> Sequence[str]:
    speeds = next((", ".join(a.recommended) for a in b.attributes if a.name == "speed"), "")
    return (f"`{b.type_id}`", *(_value(b, name) for name in ("age", "gender", "generation")), speeds, _size(b))


def _prop(b: Blueprint) -> Sequence[str]:
    return (f"`{b.type_id}`", _value(b, "size"), _size(b))


def _defaults(attributes: Iterable[Attribute]) -> str:
    return ", ".join(f"{a.name} {a.default}".strip() for a in attributes if a.name != "role_name")
