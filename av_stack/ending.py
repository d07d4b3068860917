"""Ends a drive exactly once, although two threads may ask for it: the main thread, and the server's watchdog."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from av_core.errors import AgentError, AvStackError, WorldError
from av_stack.agents.names import STACK
from av_stack.results.drive_log import Outcome
from av_stack.server_process import ServerProcess
from av_stack.world.spec import Address

AGENT_ERROR = "agent error"
"""Reason for the end of a drive whose agent fails."""

Finish = Callable[[str, str | None, int], Outcome]
"""Closes the files of a drive and writes its result; arguments: how the drive ended, error, exit status."""


@dataclass(frozen=True, slots=True)
class Server:
    """The CARLA server of a drive, and its process where the drive started it itself."""

    address: Address
    own: ServerProcess | None = None

    def explain(self, error: str) -> str:
        """The error text; if our own server has ended, its last words are added, because they may give the reason."""
        ending = self.own.ending() if self.own is not None else ""
        return f"{error}; {ending}" if ending else error


class Ending:
    """The end of a drive on `server`. Until `begin` there is nothing to finish."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._finish: Finish | None = None
        self._outcome: Outcome | None = None

    def begin(self, finish: Finish) -> None:
        """Note that the drive begins; from now on, its end calls `finish` to write the result."""
        self._finish = finish

    def finish(self, end: str, error: str | None, status: int) -> Outcome:
        """Finish the drive, unless that was done already; returns its outcome."""
        with self._lock:
            assert self._finish is not None
            if self._outcome is None:
                self._outcome = self._finish(end, error, status)
            return self._outcome

    def has_lost_server(self) -> bool:
        """Whether our own server has ended, or, before the drive begins, reports that a sensor stays silent.

        The wheel would wait half a minute for such a sensor. False for a server that we did not start.
        """
        own = self._server.own
        return own is not None and (own.has_ended() or (self._finish is None and bool(own.ending())))

    def lose_server(self, abandon: Callable[[str, int], None]) -> None:
        """The server is lost: end the drive, the server if it is our own, and the process."""
        own = self._server.own
        what = "went away" if own is None or own.has_ended() or self._finish is not None else "cannot serve a drive"
        error = WorldError(self._server.explain(f"the CARLA server at {self._server.address} {what}"))
        self._break_off("error", error, abandon)

    def lose_stage(self, abandon: Callable[[str, int], None], stage: str) -> None:
        """A stage of the stack does not return: end the drive, the server if it is our own, and the process."""
        self._break_off(AGENT_ERROR, AgentError(f"agent {STACK}: stage {stage} does not return"), abandon)

    def _break_off(self, end: str, error: AvStackError, abandon: Callable[[str, int], None]) -> None:
        try:
            if self._finish is not None:
                self.finish(end, str(error), error.exit_status)
        finally:
            if self._server.own is not None:
                self._server.own.kill()  # the server may be frozen
            abandon(str(error), error.exit_status)
