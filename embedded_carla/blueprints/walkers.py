"""Blueprints of walkers: all of CARLA's, adults and children of its generations 1 and 2."""

from __future__ import annotations

from embedded_carla.blueprints.attributes import choice, fixed, role_name
from embedded_carla.types import Attribute, Blueprint, BoundingBox

ADULT_HALF_SIZE_M = (0.188, 0.188, 0.93)
CHILD_HALF_SIZE_M = (0.25, 0.25, 0.55)
TALL_CHILD_HALF_SIZE_M = (0.188, 0.188, 0.65)
COUNT = 52
FIRST_OF_GENERATION_2 = 15

# CARLA's catalogue groups its walkers into models with clothing variants; the children are from there. It publishes
# neither which walkers are elderly nor their genders: both are this server's own choice, one for each model.
_CHILDREN = frozenset({9, 10, 11, 12, 13, 14, 48, 49})
_TALL_CHILDREN = frozenset({12, 13, 14})
_ELDERLY = frozenset({20, 21})
_FEMALE = frozenset({1, 5, 6, 7, 8, 9, 10, 11, 15, 19, 20, 21, 22, 23, 31, 33, 39, 40, 41, 42, 43, 44, 48, 52})


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
    """Blueprints of all walkers.

    The bounding box is centred on the origin: a walker's actor origin is at the middle of its body, as in CARLA.
    """
    found = []
    for number in range(1, COUNT + 1):
        age = "child" if number in _CHILDREN else "elderly" if number in _ELDERLY else "adult"
        gender = "female" if number in _FEMALE else "male"
        generation = 2 if number >= FIRST_OF_GENERATION_2 else 1
        type_id = f"walker.pedestrian.{number:04d}"
        child = TALL_CHILD_HALF_SIZE_M if number in _TALL_CHILDREN else CHILD_HALF_SIZE_M
        half = child if age == "child" else ADULT_HALF_SIZE_M
        box = BoundingBox((0.0, 0.0, 0.0), half)
        tags = ("walker", "pedestrian", f"{number:04d}")
        found.append(Blueprint(type_id, tags, _attributes(age, gender, generation), box))
    return found
