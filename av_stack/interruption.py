"""Handles Ctrl-C, SIGTERM and SIGHUP: a command ends in good order and within a bounded time."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

GRACE_S = 3.0
"""Time that a command has to release its resources after the first signal."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

INTERRUPTED_STATUS = 130

_terminal: list[int] = []  # the standard streams that are terminals; must be found out before a hang-up
_has_deadline = False
_is_ending = False
_is_held_back = False  # within `held_back`
_is_due = False  # a signal came within `held_back`
_is_stuck = False  # a thread never ends


def raise_on_signals() -> None:
    """Make each of SIGNALS raise KeyboardInterrupt in the main thread; ignored signals (`nohup`) stay ignored."""
    _terminal[:] = [descriptor for descriptor in range(3) if os.isatty(descriptor)]
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def set_deadline(give_up: Callable[[], None]) -> None:
    """Call `give_up`, which must end the process, if the process still runs `GRACE_S` after the first of SIGNALS.

    Later signals are ignored. A separate thread calls `give_up`, because Python handles no signal while the main thread
    waits in a library, and loading a map may take longer than `GRACE_S`. Calling this again does nothing.
    """
    global _has_deadline
    if _has_deadline:
        return
    _has_deadline = True
    told, teller = socket.socketpair()
    teller.setblocking(False)
    signal.set_wakeup_fd(teller.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_give_up_late, args=(told, teller, give_up), name="deadline", daemon=True).start()


def leave(status: int) -> NoReturn:
    """End the process with this exit status.

    After a signal and `set_deadline`, or after `end_without_unloading`, the libraries are not unloaded, which would
    take a second.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if _is_stuck or (_is_ending and _has_deadline):
        os._exit(status)
    sys.exit(status)


def end_without_unloading() -> None:
    """Make `leave` end the process without unloading libraries, because a thread that never ends still uses them."""
    global _is_stuck
    _is_stuck = True


def _give_up_late(told: socket.socket, _teller: socket.socket, give_up: Callable[[], None]) -> None:
    while told.recv(1)[0] not in SIGNALS:  # other signals have handlers of their own
        pass
    threading.Event().wait(GRACE_S)
    give_up()


def _interrupt(number: int, _frame: object) -> None:
    global _is_ending, _is_due
    if number == signal.SIGHUP:
        _let_go_of_terminal()
    if _is_ending and (_has_deadline or number != signal.SIGINT):  # a closed terminal sends SIGHUP more than once
        return
    _is_ending = True
    if _is_held_back:
        _is_due = True
        return
    raise KeyboardInterrupt


@contextmanager
def held_back() -> Iterator[None]:
    """Context of the main thread in which the KeyboardInterrupt of `raise_on_signals` is held back until its end.

    It is for short work that must not be interrupted. Contexts must not be nested.
    """
    global _is_held_back, _is_due
    _is_held_back = True
    try:
        yield
    finally:
        _is_held_back = False
    if _is_due:
        _is_due = False
        raise KeyboardInterrupt


def _let_go_of_terminal() -> None:
    """Send further output to /dev/null: after a hang-up every write to the terminal fails."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in _terminal:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def leave_at_once(*_: object) -> None:
    """Signal handler that prints one line and exits. Only for times when there is nothing to release."""
    os.write(2, b"av-stack: interrupted\n")
    os._exit(INTERRUPTED_STATUS)


@contextmanager
def importing() -> Iterator[None]:
    """Within this context each of SIGNALS ends the process with one line; ignored signals stay ignored.

    It is for imports: a KeyboardInterrupt in the middle of one can surface as another error from a compiled module.
    """
    numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave_at_once) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
