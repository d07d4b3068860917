"""Packed values come back equal in every bit, whatever dataclass they are of; and what later versions read of them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from av_core.types import LaneGraph, SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.packing import Packer, PackingError, Unpacker
from av_stack.recording.exact.setup import DriveSetup


class Colour(str, Enum):
    RED = "red"
    GREEN = "green"


class Number(Enum):
    ONE = 1
    TWO = 2


DTYPES = ("<f8", "<f4", "<i8", "|u1", "|b1", "<c16")
PLAIN = (
    (float, st.floats()),
    (int, st.integers(-(2**63), 2**64 - 1)),
    (bool, st.booleans()),
    (str, st.text(max_size=4)),
    (bytes, st.binary(max_size=4)),
    (Colour, st.sampled_from(Colour)),
    (Number, st.sampled_from(Number)),
)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """An array of any shape and type, with any bits in it."""
    kind = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    size = math.prod(shape) * kind.itemsize
    data = draw(st.binary(min_size=size, max_size=size))
    if kind.kind == "b":
        data = bytes(byte & 1 for byte in data)
    array = np.frombuffer(data, kind).reshape(shape)
    return array.T if draw(st.booleans()) else array


Typed = tuple[Any, st.SearchStrategy[Any]]
"""A type hint, and its values."""


def made_of(generic: Any, *arguments: Any) -> Any:
    """A generic type with these arguments."""
    return generic[arguments if len(arguments) > 1 else arguments[0]]


def typed(depth: int) -> st.SearchStrategy[Typed]:
    """Type hints with their values; of dataclasses and containers, down to `depth`."""
    simple = st.sampled_from(PLAIN) | st.just((NDArray[np.float64], arrays()))
    if depth == 0:
        return simple
    inner = typed(depth - 1)
    return st.one_of(
        simple,
        inner.map(lambda one: (one[0] | None, st.none() | one[1])),
        inner.map(lambda one: (made_of(tuple, one[0], ...), st.lists(one[1], max_size=3).map(tuple))),
        inner.map(lambda one: (made_of(Sequence, one[0]), st.lists(one[1], max_size=3).map(tuple))),
        st.tuples(inner, inner).map(
            lambda two: (made_of(tuple, two[0][0], two[1][0]), st.tuples(two[0][1], two[1][1]))
        ),
        st.tuples(st.sampled_from([(str, st.text(max_size=4)), (int, st.integers(0, 9))]), inner).map(
            lambda two: (made_of(Mapping, two[0][0], two[1][0]), st.dictionaries(two[0][1], two[1][1], max_size=3))
        ),
        st.just((frozenset[int], st.frozensets(st.integers(-9, 9), max_size=4))),
        dataclasses(depth - 1),
    )


NAMES = iter(range(10**9))


@st.composite
def dataclasses(draw: st.DrawFn, depth: int) -> Typed:
    members = draw(st.lists(typed(depth), max_size=4))
    kind = make_dataclass(f"Made{next(NAMES)}", [(f"f{i}", hint) for i, (hint, _) in enumerate(members)], frozen=True)
    return kind, st.tuples(*(values for _, values in members)).map(lambda values: kind(*values))


@st.composite
def values(draw: st.DrawFn) -> tuple[type, Any]:
    kind, of_kind = draw(dataclasses(2))
    return kind, draw(of_kind)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are of the same types and equal in every bit."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(is_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
    if isinstance(one, dict):
        return list(one) == list(other) and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float):
        return math.isnan(one) == math.isnan(other) and (
            math.isnan(one) or struct.pack("d", one) == struct.pack("d", other)
        )
    return bool(one == other)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(values())
def test_any_value_of_any_dataclass_comes_back_in_every_bit(made: tuple[type, Any]) -> None:
    kind, value = made
    packer: Packer[Any] = Packer(kind)
    back: Any = Unpacker(kind, packer.schema).unpack(packer.pack(value))
    assert is_same(back, value)
    assert packer.pack(back) == packer.pack(value)


@pytest.mark.parametrize("kind", [SensorFrame, AgentStep, Truth, LaneGraph, DriveSetup])
def test_every_type_that_a_recording_holds_can_be_packed(kind: type) -> None:
    schema = Packer(kind).schema
    Unpacker(kind, schema)
    assert set(json.loads(schema)["types"][kind.__name__]) == {each.name for each in fields(kind)}


@dataclass(frozen=True)
class Inner:
    a: float
    b: int


@dataclass(frozen=True)
class Outer:
    inner: Inner
    gone: str
    kind: Colour


def later(name: str, *members: Any, of: Callable[[Any], None] = lambda _: None) -> type:
    made = make_dataclass(name, members, frozen=True)
    of(made)
    return made


OLD = Outer(Inner(0.1, 2), "text", Colour.GREEN)


def test_a_later_version_gives_new_fields_their_default_and_leaves_old_ones_out() -> None:
    packer = Packer(Outer)
    inner = later("Inner", ("new", float, field(default=7.0)), ("b", int, field(default=0)), ("a", float | None, None))
    outer = later("Outer", ("kind", Colour), ("inner", inner), ("more", tuple[int, ...], ()))
    back: Any = Unpacker(outer, packer.schema).unpack(packer.pack(OLD))
    assert back == outer(kind=Colour.GREEN, inner=inner(new=7.0, b=2, a=0.1), more=())


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("inner", Inner), ("added", float)], "another version of av-stack: Outer has no added there"),
        ([("inner", Inner), ("gone", int)], "another version of av-stack: Outer.gone is str there, int now"),
        ([("inner", tuple[float, ...])], r"Outer.inner is Inner there, tuple\[float, ...\] now"),
    ],
)
def test_what_a_later_version_cannot_read_is_named(members: list[Any], message: str) -> None:
    with pytest.raises(PackingError, match=message):
        Unpacker(later("Outer", *members), Packer(Outer).schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (b"no json", "the schema of Outer cannot be read"),
        (b"[]", "the schema of Outer cannot be read"),
        (
            b'{"format": 2, "kind": "Outer", "types": {}}',
            "a newer av-stack, in format 2; this one reads formats up to 1",
        ),
        (b'{"format": 1, "kind": "Other", "types": {}}', "the schema is that of 'Other', not of Outer"),
    ],
)
def test_a_schema_of_something_else_is_refused(schema: bytes, message: str) -> None:
    with pytest.raises(PackingError, match=message):
        Unpacker(Outer, schema)


@given(st.integers(0, 60), st.binary(min_size=1, max_size=3))
def test_damaged_bytes_are_told_or_read(at: int, junk: bytes) -> None:
    """Whatever is in them, nothing but a value or a PackingError comes of it."""
    packer = Packer(Outer)
    whole = packer.pack(OLD)
    damaged = whole[:at] + junk + whole[at + len(junk) :]
    with suppress(PackingError):
        assert isinstance(Unpacker(Outer, packer.schema).unpack(damaged), Outer)


def test_a_type_without_code_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"values of the type typing\.Any cannot be packed"):
        Packer(later("Odd", ("anything", Any)))


def test_what_is_no_number_is_not_packed_as_one() -> None:
    with pytest.raises(TypeError):
        Packer(Inner).pack(Inner(None, 1))  # type: ignore[arg-type]
