"""Walkers: adults and children of CARLA's generations 1 and 2."""

from __future__ import annotations

from embedded_carla.blueprints.attributes import choice, fixed, role_name
from embedded_carla.types import Attribute, Blueprint, BoundingBox

ADULT_HALF_SIZE_M = (0.188, 0.188, 0.93)
CHILD_HALF_SIZE_M = (0.25, 0.25, 0.60)

_WALKERS = tuple(
    (number, age, gender, generation)
    for number, age, gender, generation in (
        (1, "adult", "female", 1),
        (2, "adult", "male", 1),
        (3, "adult", "male", 1),
        (4, "adult", "female", 1),
        (9, "child", "female", 1),
        (12, "child", "male", 1),
        (15, "adult", "female", 2),
        (16, "adult", "female", 2),
        (17, "adult", "male", 2),
        (18, "adult", "male", 2),
        (19, "adult", "male", 2),
        (20, "elderly", "female", 2),
        (21, "elderly", "male", 2),
        (48, "child", "female", 2),
        (49, "child", "male", 2),
    )
)


def _attributes(age: str, gender: str, generation: int) -> tuple[Attribute, ...]:
    speeds = ("0.0", "1.1", "1.8") if age == "child" else ("0.0", "1.0", "1.6") if age == "elderly" else (
        "0.0", "1.4", "2.8")  # fmt: skip
    return (
        fixed("gender", "string", gender),
        fixed("age", "string", age),
        fixed("generation", "int", str(generation)),
        Attribute("speed", "float", speeds[1], speeds),
        choice("is_invincible", "bool", ("true", "false")),
        choice("can_use_wheelchair", "bool", ("false", "true")),
        choice("use_wheelchair", "bool", ("false", "true")),
        role_name("pedestrian"),
    )


def walker_blueprints() -> list[Blueprint]:
    """The box is centred on the origin: a walker's actor origin is at the middle of its body, as in CARLA."""
    found = []
    for number, age, gender, generation in _WALKERS:
        type_id = f"walker.pedestrian.{number:04d}"
        half = CHILD_HALF_SIZE_M if age == "child" else ADULT_HALF_SIZE_M
        box = BoundingBox((0.0, 0.0, 0.0), half)
        tags = ("walker", "pedestrian", f"{number:04d}")
        found.append(Blueprint(type_id, tags, _attributes(age, gender, generation), box))
    return found
