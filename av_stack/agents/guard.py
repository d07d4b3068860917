"""Calls an agent's code with a time limit, and turns every exception from it into an error of one line."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from av_core.errors import AgentError, AvStackError
from av_stack.interruption import end_without_unloading

T = TypeVar("T")

SETUP_LIMIT_S = 120.0
"""Longest time that an agent may take until it can drive: it may load a network."""

STEP_LIMIT_S = 10.0
"""Longest time for a step, unless another is given."""

_Call = Callable[[], None]


class Guard:
    """Makes the calls of the agent `name` in a thread of its own, one after the other.

    If a call raises, or has not returned after `limit_s`, AgentError names the call and the place in the code. Errors
    of the stack itself (AvStackError) pass unchanged. The thread of a call that never returns cannot be ended. Then no
    more calls are made, and the process has to end without waiting for the thread.
    """

    def __init__(self, name: str, limit_s: float) -> None:
        self._name, self._limit_s = name, limit_s
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._is_stuck = False
        threading.Thread(target=self._work, name=f"agent {name}", daemon=True).start()

    def call(self, what: str, function: Callable[..., T], *arguments: Any, limit_s: float | None = None) -> T:
        """The result of `function`; `what` names the call in an error."""
        limit_s = limit_s or self._limit_s
        answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

        def answer() -> None:
            try:
                answers.put((function(*arguments), None))
            except BaseException as error:  # noqa: BLE001 - an agent may also call sys.exit
                answers.put((None, error))

        self._calls.put(answer)
        try:
            result, error = answers.get(timeout=limit_s)
        except queue.Empty:
            self._is_stuck = True
            end_without_unloading()
            raise AgentError(f"agent {self._name}: {what} did not return within {limit_s:g} s") from None
        if isinstance(error, AvStackError):
            raise error
        if error is not None:
            raise AgentError(f"agent {self._name}: {what} raised {told(error)}") from error
        return result  # type: ignore[return-value]  # None only where the function returns it

    @property
    def is_stuck(self) -> bool:
        """Whether a call never returned."""
        return self._is_stuck

    def close(self) -> None:
        """End the thread once its last call has returned."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def told(error: BaseException) -> str:
    """Kind, first line and place of an error."""
    words = str(error).strip().splitlines()
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without `Guard.call` itself
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{': ' + words[0] if words else ''}{place}"
