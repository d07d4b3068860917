"""The names of the fields of a result, which `--ignore` and `--tolerance` take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from av_core.types import StepResult


def check_fields(option: str, names: Iterable[str]) -> None:
    """Raise ConfigError for a name that is no field of a result."""
    known = field_names()
    for name in names:
        if name not in known:
            raise ConfigError(
                f"{option}: no field {name!r:.80}{did_you_mean(name, known)} in a result; there are, for example, "
                "scene.objects.x_m, plan.trajectory and command"
            )


@cache
def field_names() -> tuple[str, ...]:
    """Every field of `StepResult`, those of its dataclasses after a dot: `scene.objects.x_m`."""
    return tuple(_names(StepResult, ""))


def _names(hint: Any, prefix: str) -> Iterator[str]:
    if is_dataclass(hint):
        for name, inner in get_type_hints(hint).items():
            if name in {each.name for each in fields(hint)}:
                yield prefix + name
                yield from _names(inner, f"{prefix}{name}.")
    else:
        for argument in get_args(hint):
            yield from _names(argument, prefix)
