"""Serializes plain data of this package: dataclasses, named tuples, containers, numbers, text and arrays.

Reading only creates objects of this package's own classes and sets their fields, so a file cannot run code. The
structure is msgpack; the arrays follow in their memory layout.
"""

from __future__ import annotations

import importlib
import struct
import zlib
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

MAGIC = b"ECMAP\x00\x00\x01"
PACKAGE = "embedded_carla."
_HEADER = struct.Struct("<8sIQ")  # magic, checksum of all that follows, size of the structure
_ALIGNMENT = 64
_TUPLE, _LIST, _DICT, _ARRAY, _OBJECT, _NAMED, _ENUM, _NUMBER = range(8)


class PackingError(ValueError):
    """The bytes are not a packed value, or a value cannot be packed."""


def pack(value: Any) -> list[bytes | memoryview]:
    """Serialize `value` to the contents of a file, in pieces. Raises PackingError for anything but plain data."""
    writer = _Writer()
    structure = msgpack.packb((writer.encode(value), list(writer.classes)))
    start = _HEADER.size + len(structure)
    pieces: list[bytes | memoryview] = [structure, bytes(-start % _ALIGNMENT), *writer.pieces]
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    return [_HEADER.pack(MAGIC, checksum, len(structure)), *pieces]


def unpack(data: NDArray[np.uint8]) -> Any:
    """Restore a packed value; its arrays are views of `data`. Raises PackingError if `data` is cut or damaged."""
    if len(data) < _HEADER.size:
        raise PackingError("it is cut short")
    magic, checksum, size = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if magic != MAGIC or zlib.crc32(data[_HEADER.size :].data) != checksum:
        raise PackingError("it is damaged or cut short")
    start = _HEADER.size + size
    try:
        tree, classes = msgpack.unpackb(data[_HEADER.size : start].data, use_list=False)
        return _Reader(data[start + -start % _ALIGNMENT :], [_class(path) for path in classes]).decode(tree)
    except (ValueError, TypeError, LookupError, AttributeError, ImportError) as error:
        raise PackingError(f"{type(error).__name__}: {error}") from error


@lru_cache(maxsize=256)
def _class(path: str) -> type:
    module, _, name = path.partition(":")
    found = getattr(importlib.import_module(module), name) if module.startswith(PACKAGE) else None
    if not isinstance(found, type) or found.__module__ != module:
        raise PackingError(f"{path} is not a class of this package")
    return found


def _field_names(cls: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else None


class _Writer:
    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self.pieces: list[bytes | memoryview] = []
        self._size = 0
        self._arrays: dict[int, tuple[Any, ...]] = {}
        self._keep: list[Any] = []  # keeps arrays alive: an id is unique only among living objects

    def encode(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str, bytes):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Enum):
            return (_ENUM, self._number(type(value)), value.value)
        if isinstance(value, np.generic):
            return (_NUMBER, value.dtype.str, value.tobytes())
        if isinstance(value, tuple) and type(value) is not tuple:
            return (_NAMED, self._number(type(value)), tuple(map(self.encode, value)))
        if isinstance(value, tuple):
            return (_TUPLE, tuple(map(self.encode, value)))
        if type(value) is list:
            return (_LIST, tuple(map(self.encode, value)))
        if type(value) is dict:
            return (_DICT, tuple((self.encode(k), self.encode(v)) for k, v in value.items()))
        return self._object(value)

    def _object(self, value: Any) -> Any:
        names = _field_names(type(value))
        if names is None and not hasattr(value, "__dict__"):
            raise PackingError(f"a {type(value).__name__} is not plain data")
        state = {name: getattr(value, name) for name in names} if names is not None else vars(value)
        number = self._number(type(value))
        return (_OBJECT, number, tuple(state), tuple(self.encode(v) for v in state.values()))

    def _number(self, cls: type) -> int:
        path = f"{cls.__module__}:{cls.__qualname__}"
        if path not in self.classes:
            _class(path)
        return self.classes.setdefault(path, len(self.classes))

    def _array(self, array: NDArray[Any]) -> Any:
        if id(array) not in self._arrays:
            if array.dtype.hasobject or array.dtype.fields is not None:
                raise PackingError(f"an array of {array.dtype} is not plain data")
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            self._arrays[id(array)] = (_ARRAY, array.dtype.str, array.shape, self._size)
            self._keep.append(array)
            self.pieces += [data, bytes(-len(data) % _ALIGNMENT)]
            self._size += len(data) + -len(data) % _ALIGNMENT
        return self._arrays[id(array)]


class _Reader:
    def __init__(self, data: NDArray[np.uint8], classes: list[type]) -> None:
        self._data = data
        self._classes = classes
        self._arrays: dict[tuple[Any, ...], NDArray[Any]] = {}

    def decode(self, tree: Any) -> Any:
        if type(tree) is not tuple:
            return tree
        kind = tree[0]
        if kind == _OBJECT:
            _, number, names, values = tree
            return self._object(self._classes[number], names, values)
        if kind == _TUPLE:
            return tuple(map(self.decode, tree[1]))
        if kind == _ARRAY:
            return self._array(tree)
        if kind == _ENUM:
            return self._classes[tree[1]](tree[2])
        if kind == _NAMED:
            return self._classes[tree[1]](*map(self.decode, tree[2]))
        if kind == _LIST:
            return [self.decode(item) for item in tree[1]]
        if kind == _DICT:
            return {self.decode(k): self.decode(v) for k, v in tree[1]}
        if kind == _NUMBER:
            return np.frombuffer(tree[2], np.dtype(tree[1]))[0]
        raise PackingError(f"unknown mark {kind!r}")

    def _object(self, cls: type, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
        made: Any = object.__new__(cls)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(made, name, self.decode(value))
        return made

    def _array(self, tree: tuple[Any, ...]) -> NDArray[Any]:
        if tree not in self._arrays:
            _, kind, shape, start = tree
            dtype = np.dtype(kind)
            end = start + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            if end > len(self._data):
                raise PackingError("an array lies outside the file")
            self._arrays[tree] = self._data[start:end].view(dtype).reshape(shape)
        return self._arrays[tree]
