"""Translates the class names of a data set into the groups that are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import field_validator

from av_core.config import Strict, load, named
from av_core.errors import ConfigError
from perception.detection.classes import CLASSES, VEHICLES, light_state

FOLDER = Path(__file__).parent / "class_maps"
GROUPS = ("vehicle", "pedestrian", "light")
"""The groups that are measured. A vehicle counts as found if its kind is wrong, and a light if its state is wrong."""

IGNORE = "ignore"
"""Meaning of boxes that are not scored; detections inside them are not scored either."""

BACKGROUND = "background"
"""Meaning of boxes that are dropped: a detection there is false."""

MEANINGS = (*CLASSES, "vehicle", "light", IGNORE, BACKGROUND)


class ClassMap(Strict):
    """The meaning of each class name of a data set.

    * `classes`: one of `MEANINGS` for each name.
    * `others`: the meaning of all other names; if it is None, another name is an error.
    * `unlabelled`: groups whose objects are in the pictures but not in the labels; these groups are not measured.
    """

    classes: dict[str, str]
    others: Literal["ignore", "background"] | None = None
    unlabelled: tuple[str, ...] = ()

    @field_validator("classes")
    @classmethod
    def _known_meanings(cls, classes: dict[str, str]) -> dict[str, str]:
        for name, meaning in classes.items():
            if meaning not in MEANINGS:
                raise ValueError(f"{name} means {meaning!r}; allowed are {', '.join(MEANINGS)}")
        return {name.casefold(): meaning for name, meaning in classes.items()}

    @field_validator("unlabelled")
    @classmethod
    def _known_groups(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        for group in groups:
            if group not in GROUPS:
                raise ValueError(f"unknown group {group!r}; allowed are {', '.join(GROUPS)}")
        return groups

    def meaning(self, name: str) -> str:
        """The meaning of a class name. Raises ConfigError for a name that the map does not know."""
        meaning = self.classes.get(name.casefold(), self.others)
        if meaning is None:
            raise ConfigError(
                f"the class map has no meaning for {name}: give --classes FILE.yaml with `classes: {{{name}: ...}}`; "
                f"allowed meanings are {', '.join(MEANINGS)}"
            )
        return meaning


def load_class_map(name: str) -> ClassMap:
    """Load `class_maps/NAME.yaml` or a YAML file. Raises ConfigError if it is unknown or malformed."""
    return load(named(FOLDER, name, "class map"), ClassMap)


def group_of(meaning: str) -> str | None:
    """The group of a meaning or of a detection's class; None for classes that are not measured (signs)."""
    if meaning in VEHICLES or meaning == "vehicle":
        return "vehicle"
    if meaning == "light" or light_state(meaning) is not None:
        return "light"
    return meaning if meaning in GROUPS else None
