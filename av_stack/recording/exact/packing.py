"""Packs values of the stack's dataclasses into bytes without loss, and reads them back, also with later fields.

The functions that pack a type follow from its type hints, so a new field needs no change here. The bytes are msgpack. A
dataclass is packed as the list of its fields; the schema holds their names and types. Floats keep all 64 bits, arrays
their type and shape. Two values are equal if and only if their bytes are.
"""

from __future__ import annotations

import json
import operator
import types
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgpack
import numpy as np

from av_core.errors import AvStackError

FORMAT = 1
"""Version of the format. Files of a later version are refused."""

NONE = type(None)

T = TypeVar("T")
Convert = Callable[[Any], Any]
Schema = Mapping[str, Mapping[str, str]]
"""For each dataclass the types of its fields by name, in the order in which they are packed."""


class PackingError(AvStackError):
    """Packed values cannot be read: they are damaged, or today's types differ from theirs."""


class Packer(Generic[T]):
    """Packs values of the dataclass `kind`. Raises TypeError for a type hint that no code is known for."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._schema: dict[str, dict[str, str]] = {}
        self._convert = self._writer(kind)

    @property
    def schema(self) -> bytes:
        """What `Unpacker` needs to read the values, as JSON."""
        content = {"format": FORMAT, "kind": self._kind.__name__, "types": self._schema}
        return json.dumps(content).encode()

    def pack(self, value: T) -> bytes:
        """The bytes of `value`."""
        data: bytes = msgpack.packb(self._convert(value))
        return data

    def _writer(self, hint: Any) -> Convert:
        """The function that converts a value of this type to types that msgpack can pack."""
        if hint in _PLAIN:
            return _PLAIN[hint]
        if is_dataclass(hint):
            return self._dataclass_writer(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return operator.attrgetter("value")
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is np.ndarray:
            return _write_array
        if origin in _UNIONS:
            return self._union_writer(hint)
        if origin is tuple and arguments[-1:] != (...,):
            writers = [self._writer(argument) for argument in arguments]
            return lambda value: [write(one) for write, one in zip(writers, value, strict=True)]
        if isinstance(origin, type) and issubclass(origin, Mapping):
            write_key, write_value = (self._writer(argument) for argument in arguments)
            return lambda value: [[write_key(key), write_value(one)] for key, one in value.items()]
        if isinstance(origin, type) and issubclass(origin, Set):
            write = self._writer(arguments[0])
            return lambda value: sorted(write(one) for one in value)
        if isinstance(origin, type) and issubclass(origin, Sequence):
            write = self._writer(arguments[0])
            return lambda value: [write(one) for one in value]
        raise TypeError(f"values of the type {hint} cannot be packed")

    def _union_writer(self, hint: Any) -> Convert:
        members = _members(hint)
        writers = {_runtime(member): self._writer(member) for member in members}
        if len(members) == 1:
            (write,) = writers.values()
            return lambda value: None if value is None else write(value)
        numbers = {kind: number for number, kind in enumerate(writers)}
        return lambda value: None if value is None else [numbers[type(value)], writers[type(value)](value)]

    def _dataclass_writer(self, kind: Any) -> Convert:
        hints = get_type_hints(kind)
        names = [each.name for each in _packed_fields(kind)]
        if self._schema.get(kind.__name__, told := {name: _text(hints[name]) for name in names}) != told:
            raise TypeError(f"two dataclasses have the name {kind.__name__}")
        self._schema[kind.__name__] = told
        steps = [(operator.attrgetter(name), self._writer(hints[name])) for name in names]
        return lambda value: [write(get(value)) for get, write in steps]


class Unpacker(Generic[T]):
    """Reads values of the dataclass `kind` that were packed with `schema`, maybe by an earlier version.

    A field that was added to the dataclass later gets its default; a field that was removed is ignored. Raises
    PackingError where a field without a default is missing or has another type, and for a later format.
    """

    def __init__(self, kind: type[T], schema: bytes) -> None:
        self._types = _read_schema(kind.__name__, schema)
        self._read = self._reader(kind)

    def unpack(self, data: bytes) -> T:
        """The value. Raises PackingError where the bytes are damaged."""
        try:
            value: T = self._read(msgpack.unpackb(data))
        except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
            raise PackingError(f"damaged values: {type(error).__name__}: {error}") from None
        return value

    def _reader(self, hint: Any) -> Convert:
        """The function that makes a value of this type from the unpacked msgpack value."""
        if hint in _PLAIN:
            return _checked(hint)
        if is_dataclass(hint):
            return self._dataclass_reader(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return hint
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is np.ndarray:
            return _read_array
        if origin in _UNIONS:
            return self._union_reader(hint)
        if origin is tuple and arguments[-1:] != (...,):
            readers = [self._reader(argument) for argument in arguments]
            return lambda value: tuple(read(one) for read, one in zip(readers, value, strict=True))
        if isinstance(origin, type) and issubclass(origin, Mapping):
            read_key, read_value = (self._reader(argument) for argument in arguments)
            return lambda value: {read_key(key): read_value(one) for key, one in value}
        read, make = self._reader(arguments[0]), frozenset if issubclass(origin, Set) else tuple
        return lambda value: make(read(one) for one in value)

    def _union_reader(self, hint: Any) -> Convert:
        readers = [self._reader(member) for member in _members(hint)]
        if len(readers) == 1:
            read = readers[0]
            return lambda value: None if value is None else read(value)
        return lambda value: None if value is None else readers[value[0]](value[1])

    def _dataclass_reader(self, kind: Any) -> Convert:
        hints, recorded = get_type_hints(kind), self._types.get(kind.__name__, {})
        places = {name: place for place, name in enumerate(recorded)}
        steps = []
        for each in _packed_fields(kind):
            if each.name in places:
                _check_type(kind, each.name, recorded[each.name], _text(hints[each.name]))
                steps.append((each.name, places[each.name], self._reader(hints[each.name])))
            elif not _has_default(each):
                raise PackingError(f"recorded by another version of av-stack: {kind.__name__} has no {each.name} there")
        count = len(recorded)

        def read(value: Any) -> Any:
            if len(value) != count:
                raise ValueError(f"{kind.__name__} has {len(value)} fields instead of {count}")
            return kind(**{name: read(value[place]) for name, place, read in steps})

        return read


@cache
def packer(kind: type[T]) -> Packer[T]:
    """The packer of a dataclass, made once."""
    return Packer(kind)


def _read_schema(kind: str, schema: bytes) -> Schema:
    try:
        content = json.loads(schema)
        version, name, told = int(content["format"]), content["kind"], content["types"]
    except (ValueError, LookupError, TypeError):
        raise PackingError(f"the schema of {kind} cannot be read") from None
    if version > FORMAT:
        raise PackingError(f"recorded by a newer av-stack, in format {version}; this one reads formats up to {FORMAT}")
    if name != kind or not isinstance(told, dict):
        raise PackingError(f"the schema is that of {name!r:.80}, not of {kind}")
    return told


def _check_type(kind: type, name: str, there: str, today: str) -> None:
    """Raise PackingError if the type of a field has changed; that None became allowed since does not count."""
    if there != today and f"{there} | None" != today:
        raise PackingError(
            f"recorded by another version of av-stack: {kind.__name__}.{name} is {there} there, {today} now"
        )


def _has_default(each: Field[Any]) -> bool:
    return each.default is not MISSING or each.default_factory is not MISSING


def _packed_fields(kind: Any) -> list[Field[Any]]:
    return [each for each in fields(kind) if each.init]


def _members(hint: Any) -> list[Any]:
    return [argument for argument in get_args(hint) if argument is not NONE]


def _runtime(hint: Any) -> Any:
    return get_origin(hint) or hint


def _text(hint: Any) -> str:
    """The type in words, the same in every version of Python."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is np.ndarray:
        return "array"
    if origin in _UNIONS:
        return " | ".join([*(_text(member) for member in _members(hint)), *["None"] * (NONE in arguments)])
    if origin is not None:
        return f"{origin.__name__}[{', '.join('...' if one is ... else _text(one) for one in arguments)}]"
    return str(getattr(hint, "__name__", hint))


def _write_array(value: Any) -> list[Any]:
    if value.dtype.hasobject:
        raise TypeError("an array of objects cannot be packed")
    return [value.dtype.str, list(value.shape), value.tobytes()]


def _read_array(value: Any) -> Any:
    kind, shape, data = value
    return np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()


def _checked(kind: type) -> Convert:
    """Reads a plain value, which must be of exactly that type."""

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{value!r:.40} is no {kind.__name__}")
        return value

    return read


_UNIONS = (Union, types.UnionType)
_PLAIN: dict[Any, Convert] = {
    bool: bool,
    int: operator.index,
    float: float,
    str: lambda value: value if type(value) is str else str.__str__(value),
    bytes: bytes,
}
