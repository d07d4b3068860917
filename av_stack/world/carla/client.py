"""Connections to a CARLA server: the version is checked, errors are translated, and a lost server is asked no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import carla

from av_core.errors import WorldError
from av_stack.world.carla.actors import destroy
from av_stack.world.probe import check_server
from av_stack.world.spec import Address

VERSION = "0.9.16"
CONNECT_TIMEOUT_S = 5.0
LOAD_TIMEOUT_S = 120.0
WORKER_THREADS = 1
"""Threads of the client that read the streams.

A single thread handles messages in the order of their arrival, so the contacts of a tick come before the measurements
of the next tick. With several threads, a contact would sometimes come a tick late."""
LISTEN_TRY_S = 1.0
LISTEN_PAUSE_S = 0.2
"""Pause between two tries to listen, in which `ServerWatchdog` can notice that the server is lost."""


def connect(address: Address, timeout_s: float = LOAD_TIMEOUT_S) -> carla.Client:
    """A client for programs that set up everything themselves. Raises WorldError if no server answers."""
    check_server(address)
    try:
        client = carla.Client(address.host, address.port, WORKER_THREADS)
        client.set_timeout(timeout_s)
        client.get_server_version()
    except RuntimeError as error:
        raise WorldError(f"no CARLA server answers at {address}: {first_line(error)}") from None
    return client


class Session:
    """A connection to the server at `address` for one drive; it remembers whether the server is lost.

    Raises WorldError when no server answers, or one of another version than `VERSION`.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.client = connect(address, CONNECT_TIMEOUT_S)
        self.server_version = str(self.client.get_server_version())
        self._is_lost = self._is_silent = False
        if self.server_version.split("-")[0] != VERSION:
            raise WorldError(f"the server at {address} is CARLA {self.server_version}; expected {VERSION}")

    @contextmanager
    def answering(self, what: str) -> Iterator[None]:
        """Turn the wheel's RuntimeError into a WorldError that names `what`, and remember when the server is lost."""
        try:
            yield
        except RuntimeError as error:
            if "time-out" in str(error) or "not ready" in str(error):
                self.give_up(is_silent=True)
                raise WorldError(f"the CARLA server at {self.address} went away ({what})") from None
            raise WorldError(f"the CARLA server at {self.address} refuses {what}: {first_line(error)}") from None

    def listen(self, sensor: carla.Sensor, callback: Callable[[Any], None], timeout_s: float) -> None:
        """Call `sensor.listen(callback)`; the time-out of later calls is `timeout_s` too.

        In this call the wheel asks the server while it holds Python's global lock, so that no other thread runs. It is
        therefore tried for `LISTEN_TRY_S` at a time. Raises RuntimeError when the server does not answer in time.
        """
        deadline_s = time.monotonic() + timeout_s
        self.client.set_timeout(LISTEN_TRY_S)
        try:
            while True:
                try:
                    return sensor.listen(callback)
                except RuntimeError as error:
                    if "time-out" not in str(error) or time.monotonic() > deadline_s:
                        raise
                time.sleep(LISTEN_PAUSE_S)
        finally:
            self.client.set_timeout(timeout_s)

    def give_up(self, *, is_silent: bool) -> None:
        """Send no more calls to the server, because it is silent (`is_silent`) or another program uses it."""
        self._is_lost = True
        self._is_silent = self._is_silent or is_silent

    def clean_up(self, action: Callable[..., object], *arguments: Any) -> None:
        """Run a clean-up action unless the server is lost, since each call would then wait for its time-out."""
        if self._is_lost:
            return
        with self.answering("cleaning up"):
            action(*arguments)

    def release(self, action: Callable[[], object]) -> None:
        """Run `action`, which releases objects of this process. Skipped only when the server is silent."""
        if not self._is_silent:
            with self.answering("cleaning up"):
                action()

    def destroy(self, actor_ids: Sequence[int]) -> None:
        """Destroy these actors as a clean-up action."""
        self.clean_up(destroy, self.client, actor_ids)


def first_line(error: Exception) -> str:
    """First line of an error's message, or the error's kind where it has none."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
