"""Typed configuration from YAML; an error is one line that names the file, the key and what is allowed."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from av_core.yaml_text import read_yaml


class Strict(BaseModel):
    """Base model that refuses unknown keys, and numbers that are infinite, NaN or booleans.

    The unit of every number is part of its key.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth_for_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse a boolean for a number.

        YAML reads yes, no, on and off as booleans, and pydantic converts booleans to 1 and 0.
        """
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, bool) for part in parts):
            annotation = cls.model_fields[str(info.field_name)].annotation
            if annotation is not bool:
                raise PydanticCustomError("truth_value", "a truth value")
        return value


M = TypeVar("M", bound=BaseModel)


def load(path: Path, model: type[M]) -> M:
    """Read the YAML file at `path` as `model`. Raises ConfigError where it cannot be read or does not fit."""
    values = read_yaml(path)
    return validate(values if values is not None else {}, model, str(path))


def validate(values: Any, model: type[M], where: str) -> M:
    """Check `values` against `model`. Raises ConfigError that names `where`, the key and what is allowed."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_explain(error, model)}") from None


def named(folder: Path, name: str, what: str) -> Path:
    """Path of `name`.yaml in `folder` or below, or of `name` itself if that is a YAML file.

    ConfigError lists the known names.
    """
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    known = names_in(folder)
    if name not in known:
        shown = shortened(name)
        raise ConfigError(
            f"unknown {what} {shown}{did_you_mean(name, known)}; there are {', '.join(known)}, or name a .yaml file"
        )
    return next(folder.rglob(f"{name}.yaml"))


def names_in(folder: Path) -> list[str]:
    """The names of the YAML files in `folder` and below, sorted."""
    return sorted(entry.stem for entry in folder.rglob("*.yaml"))


def shortened(value: Any) -> str:
    """`value` for an error message, cut to a readable length; identifiers are not quoted."""
    if isinstance(value, str) and value.isidentifier() and len(value) <= 60:
        return value
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return _TOO_MANY_DIGITS
    try:
        return _REPR.repr(value)
    except ValueError:  # a list or a mapping that contains such an integer
        return _TOO_MANY_DIGITS


_MOST_BITS = 14_000
"""Python refuses to write integers of more than 4300 digits (from 3.10.7 on)."""

_TOO_MANY_DIGITS = "a number with too many digits"


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60
_REPR.maxlevel, _REPR.maxlist, _REPR.maxdict = 2, 4, 3

_EXPECTED = {
    "float_parsing": "a number (the unit stands in the key, not in the value)",
    "float_type": "a number",
    "int_parsing": "a whole number (the unit stands in the key, not in the value)",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 18 digits",
    "finite_number": "a finite number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "truth_value": "allowed here (YAML reads yes, no, on and off as true and false)",
    "string_type": "text (put quotes around it)",
    "string_unicode": "text without halves of surrogate pairs",
    "tuple_type": "a list",
    "dict_type": "a mapping",
}
"""What a key needs, by the type of pydantic's error."""

_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    found = error.errors()
    unknown = [entry for entry in found if entry["type"] == "extra_forbidden"]
    first = [*unknown, *found][0]  # a misspelt key also makes one missing: naming the misspelling helps more
    location, kind = first["loc"], first["type"]
    if kind == "extra_forbidden":
        allowed = _keys_at(model, location[:-1])
        hint = did_you_mean(str(location[-1]), allowed)
        return f"unknown key {_key(location)}{hint}; allowed are {', '.join(allowed)}"
    if kind == "missing":
        return _explain_missing(location, model)
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        needed = f"a mapping with keys of {', '.join(_keys_at(model, location))}"
        return f"{_key(location)} is {_kind_of(first['input'])}, but has to be {needed}"
    if kind == "invalid_key":
        return f"key {_key(location)} is not text"
    if not location and first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"{_key(location)}: {_explain_value(first)}"


def _explain_missing(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    if isinstance(location[-1], int):
        return f"{_key(location[:-1])}: a value is missing at place {location[-1] + 1} of the list"
    return f"key {_key(location)} is missing; allowed are {', '.join(_keys_at(model, location[:-1]))}"


def _explain_value(error: ErrorDetails) -> str:
    kind, shown, context = error["type"], shortened(error["input"]), error.get("ctx", {})
    if kind in _EXPECTED:
        return f"{shown} is not {_EXPECTED[kind]}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{shown} is not allowed; expected {words} {context[name]}"
    if kind in ("too_long", "too_short"):
        least, most = context.get("min_length"), context.get("max_length")
        needed = f"at least {least}" if least is not None else f"at most {most}"
        return f"{context['actual_length']} entries are not allowed; expected {needed}"
    if kind in ("string_too_short", "string_too_long"):
        return f"{shown} is not allowed; expected text of 1 to {context.get('max_length', 100)} characters"
    if kind == "value_error":
        return f"{shown}: {context['error']}"
    return f"{shown} is not allowed: {error['msg']}"


def _key(location: tuple[int | str, ...]) -> str:
    """The dotted key; entries of a list count from 0, as in tools for YAML."""
    if not location:
        return "the file"
    return ".".join(part if isinstance(part, str) and part.isidentifier() else shortened(part) for part in location)


def _kind_of(value: Any) -> str:
    kinds = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "empty" if value is None else kinds.get(type(value), f"a {type(value).__name__}")


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys of the model at `location` below `model`."""
    current: Any = model
    for part in location:
        if isinstance(part, str) and _is_model(current) and part in current.model_fields:
            current = current.model_fields[part].annotation
        current = _model_in(current)
        if current is None:
            return []
    return sorted(current.model_fields)


def _model_in(kind: Any) -> type[BaseModel] | None:
    """The model class in a type annotation, at any depth; None if there is none.

    Of several models it is the last one, which in a mapping is the model of the values.
    """
    if _is_model(kind):
        return cast(type[BaseModel], kind)
    return next((model for inner in reversed(get_args(kind)) if (model := _model_in(inner)) is not None), None)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
