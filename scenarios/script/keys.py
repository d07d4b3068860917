"""Tables of a script of which exactly one key is given: its name is the kind, its value the details."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from av_core.config import Strict

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Seconds = Annotated[float, Field(ge=0.0, le=3600.0)]
Metres = Annotated[float, Field(ge=0.0, le=100_000.0)]
Mps = Annotated[float, Field(ge=0.0, le=100.0)]


def given(table: Strict) -> list[str]:
    """The keys of a table that have a value."""
    return [key for key in type(table).model_fields if getattr(table, key) is not None]


class OneKey(Strict):
    """A table with exactly one of its keys. `kind` is that key."""

    @model_validator(mode="after")
    def _check_one(self) -> OneKey:
        if len(given(self)) != 1:
            raise ValueError(f"exactly one key is needed of {', '.join(sorted(type(self).model_fields))}")
        return self

    @property
    def kind(self) -> str:
        return given(self)[0]

    @property
    def value(self) -> object:
        """The details."""
        return getattr(self, self.kind)
