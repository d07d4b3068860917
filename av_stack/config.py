"""Typed configuration from YAML: whatever is wrong becomes one line that names file, key and what is allowed."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from av_stack.errors import ConfigError


class Strict(BaseModel):
    """A model whose unknown keys are errors; every number's unit stands in its key."""

    model_config = ConfigDict(extra="forbid", frozen=True)


M = TypeVar("M", bound=BaseModel)


def load(path: Path, model: type[M]) -> M:
    """The YAML file at `path` as `model`; ConfigError where it cannot be read or does not fit."""
    try:
        values = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f" line {place.line + 1}" if place is not None else ""
        raise ConfigError(f"{path}:{line} is not YAML: {getattr(error, 'problem', error)}") from None
    return validate(values if values is not None else {}, model, str(path))


def validate(values: Any, model: type[M], where: str) -> M:
    """`values` as `model`; ConfigError names `where`, the key and what is allowed."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_explain(error, model)}") from None


def named(folder: Path, name: str, what: str) -> Path:
    """`folder`/`name`.yaml, or `name` itself where it is a file; ConfigError lists what there is."""
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = sorted(entry.stem for entry in folder.glob("*.yaml"))
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise ConfigError(f"unknown {what} {name}{hint}; there are {', '.join(known)}")
    return path


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors()[0]
    location = first["loc"]
    key = ".".join(str(part) for part in location) or "the file"
    if first["type"] == "extra_forbidden":
        allowed = _allowed(model, location[:-1])
        near = difflib.get_close_matches(str(location[-1]), allowed, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"unknown key {key}{hint}; allowed are {', '.join(allowed)}"
    if first["type"] in ("float_parsing", "int_parsing", "float_type", "int_type"):
        return f"{key}: {first['input']!r} is no number (the unit stands in the key, not in the value)"
    return f"{key}: {first['msg']}, not {first['input']!r}"


def _allowed(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys of the model that lies at `location` below `model`."""
    current: Any = model
    for part in location:
        if isinstance(part, str) and _is_model(current) and part in current.model_fields:
            current = current.model_fields[part].annotation
        while not _is_model(current):
            inner = [a for a in get_args(current) if a is not type(None) and a is not Ellipsis]
            if not inner:
                return []
            current = inner[-1]
    return sorted(current.model_fields)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
