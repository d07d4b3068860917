"""The table of RPC methods, and the dispatch of calls to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from embedded_carla.errors import CommandError, EmbeddedCarlaError
from embedded_carla.log import log, log_exception
from embedded_carla.maps.loader import StillBuilding
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec, rpc

Handler = Callable[..., Any]
_ANSWERS_VALUE, _ANSWERS_VOID, _ANSWERS_RAW = range(3)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Argument check derived from a handler's signature: how many arguments, and which must be int, bool or str."""

    fewest: int
    most: int | None  # None: any number
    plain: tuple[tuple[int, str, str], ...]  # (position, name, type)

    @staticmethod
    def of(handler: Handler) -> _Shape:
        parameters = list(inspect.signature(handler).parameters.values())[1:]
        named = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        has_rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        return _Shape(
            sum(p.default is p.empty for p in named), None if has_rest else len(named),
            tuple((i, p.name.strip("_"), p.annotation) for i, p in enumerate(named) if p.annotation in _PLAIN),
        )  # fmt: skip

    def check(self, args: Sequence[Any]) -> None:
        """Raise CommandError naming the argument that does not fit."""
        count = len(args)
        if count < self.fewest or (self.most is not None and count > self.most):
            most = "more" if self.most is None else f"{self.most}"
            allowed = most if most == f"{self.fewest}" else f"{self.fewest} to {most}"
            raise CommandError(f"expected {allowed} arguments, got {count}")
        for place, name, kind in self.plain:
            if place < count and type(args[place]) not in _PLAIN[kind]:
                raise CommandError(f"{name}: expected {kind}, got {codec.shown(args[place])}")


_PLAIN = {"int": (int,), "bool": (bool, int), "str": (str,)}


@dataclass(frozen=True, slots=True)
class Method:
    """A method's handler, whose first parameter is the simulation, and how its result is sent (_ANSWERS_...)."""

    handler: Handler
    answers: int


METHODS: dict[str, Method] = {}
"""The RPC methods by name; `value`, `void` and `raw` register them."""

_SHAPES: dict[Handler, _Shape] = {}


def _registrar(kind: int) -> Callable[[str], Callable[[Handler], Handler]]:
    def named(method: str) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            if method in METHODS:
                raise ValueError(f"RPC method {method} is registered twice")
            METHODS[method] = Method(handler, kind)
            _SHAPES.setdefault(handler, _Shape.of(handler))
            return handler

        return register

    return named


value = _registrar(_ANSWERS_VALUE)
"""Register `handler(simulation, *args) -> result` as a method that answers `Response<T>`."""

void = _registrar(_ANSWERS_VOID)
"""Register a method that answers `Response<void>`."""

raw = _registrar(_ANSWERS_RAW)
"""Register a method whose result is sent without a `Response` wrapper."""


def carry_out(handler: Handler, simulation: Simulation, args: Sequence[Any]) -> Any:
    """Call a registered handler with arguments from the wire. Raises CommandError when the arguments do not fit."""
    _SHAPES[handler].check(args)
    return handler(simulation, *args)


def answer(simulation: Simulation, call: rpc.Call) -> bytes:
    """Carry out one call. Every call gets an answer, even after an internal fault of the server.

    Raises StillBuilding when the simulation `answers_later`; the call then has to be carried out again.
    """
    method = METHODS.get(call.method)
    if method is None:
        return rpc.error_response(call.message_id, f"embedded_carla has no method {codec.shown(call.method)}")
    try:
        result = carry_out(method.handler, simulation, call.args)
        if method.answers == _ANSWERS_VALUE:
            return rpc.response(call.message_id, rpc.success(result))
        if method.answers == _ANSWERS_VOID:
            return rpc.response(call.message_id, rpc.VOID_SUCCESS)
        return rpc.response(call.message_id, result)
    except StillBuilding:
        raise
    except EmbeddedCarlaError as error:
        return failure(call, str(error))
    except Exception as error:  # noqa: BLE001 - one bad call must not end the server
        log(f"{call.method}: {type(error).__name__}: {error}")
        log_exception()
        return rpc.error_response(call.message_id, f"{call.method}: {type(error).__name__}: {error}")


def failure(call: rpc.Call, message: str) -> bytes:
    """The error answer to a call of a registered method, in the form that its client expects."""
    kind = METHODS[call.method].answers
    if kind == _ANSWERS_RAW:
        return rpc.error_response(call.message_id, message)
    failed = rpc.failure if kind == _ANSWERS_VALUE else rpc.void_failure
    return rpc.response(call.message_id, failed(message))


_told: set[str] = set()


def refusal(what: str) -> CommandError:
    """The error for a CARLA feature that this server does not have.

    The log reports it too, once per feature, because clients ignore the answers to calls that they do not wait for.
    """
    message = f"embedded_carla does not support {what}"
    if what not in _told:
        _told.add(what)
        log(message)
    return CommandError(message)


def unsupported(method: str, what: str, *, is_void: bool) -> None:
    """Register a CARLA method that this server does not have, so that it answers with what is missing and why."""

    def refuse(_simulation: Simulation, *_args: Any) -> Any:
        raise refusal(what)

    (void if is_void else value)(method)(refuse)
