"""Ctrl-C, SIGTERM and SIGHUP end a command in order, and within a bounded time."""

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
"""Time that a command has to give back what it holds after the first signal."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

INTERRUPTED_STATUS = 130

_terminal: list[int] = []  # the standard streams that are one: after a hang-up nobody can tell any more
_has_deadline = False
_is_ending = False


def raise_on_signals() -> None:
    """Let each of SIGNALS raise KeyboardInterrupt in the main thread; one that is ignored (`nohup`) stays ignored."""
    _terminal[:] = [descriptor for descriptor in range(3) if os.isatty(descriptor)]
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def set_deadline(give_up: Callable[[], None]) -> None:
    """Call `give_up`, which must end the process, if it still runs `GRACE_S` after the first of SIGNALS.

    Later signals are ignored. A thread of its own calls `give_up`: Python handles no signal while the main thread waits
    in a library, and loading a map may take longer than `GRACE_S`. Does nothing when called again.
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
    """End the process; after a signal, where `set_deadline` was called, without the second that libraries take to
    unload."""
    sys.stdout.flush()
    sys.stderr.flush()
    if _is_ending and _has_deadline:
        os._exit(status)
    sys.exit(status)


def _give_up_late(told: socket.socket, _teller: socket.socket, give_up: Callable[[], None]) -> None:
    while told.recv(1)[0] not in SIGNALS:  # other signals have handlers of their own
        pass
    threading.Event().wait(GRACE_S)
    give_up()


def _interrupt(number: int, _frame: object) -> None:
    global _is_ending
    if number == signal.SIGHUP:
        _let_go_of_terminal()
    if _is_ending and (_has_deadline or number != signal.SIGINT):  # a closed terminal sends SIGHUP more than once
        return
    _is_ending = True
    raise KeyboardInterrupt


def _let_go_of_terminal() -> None:
    """After a hang-up every write to the terminal fails; what is still said then goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in _terminal:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def leave_at_once(*_: object) -> None:
    """Signal handler: one line and the end. Only for times when there is nothing to give back."""
    os.write(2, b"av-stack: interrupted\n")
    os._exit(INTERRUPTED_STATUS)


@contextmanager
def importing() -> Iterator[None]:
    """Within it each of SIGNALS ends the process with one line; one that is ignored stays ignored.

    A KeyboardInterrupt in the middle of an import can surface as another error of a compiled module.
    """
    numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave_at_once) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
