"""Detects a synchronous world that no client is left to tick."""

from __future__ import annotations

from collections.abc import Collection

from embedded_carla.clients import Client
from embedded_carla.log import log

GRACE_S = 5.0
"""Time, s, that a synchronous world without clients waits before it returns to asynchronous mode.

One program may set the mode and leave, and the next one may connect a few seconds later.
"""


class AbandonmentWatch:
    """Tracks the client that keeps the world synchronous. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._keeper: Client | None = None  # the client that switched the mode on
        self._alone_since_s: float | None = None

    def on_settings(self, client: Client, is_synchronous: bool) -> None:
        """Note that `client` has set the episode settings."""
        self._keeper = client if is_synchronous else None

    def is_abandoned(self, clients: Collection[Client], is_synchronous: bool, now_s: float) -> bool:
        """Whether the world should return to asynchronous mode: no client has been connected for GRACE_S."""
        if not is_synchronous:
            self._keeper = self._alone_since_s = None
            return False
        if self._keeper is not None and self._keeper not in clients:
            self._keeper = None
            end = "another client ticks it" if clients else f"a client comes, or for {GRACE_S:g} s"
            log(f"the client that set synchronous mode has left: the world stands still until {end}")
        if clients:
            self._alone_since_s = None
        elif self._alone_since_s is None:
            self._alone_since_s = now_s
        if self._alone_since_s is None or now_s - self._alone_since_s < GRACE_S:
            return False
        log(f"no client has been connected for {GRACE_S:g} s: the world returns to asynchronous mode")
        self._alone_since_s = None
        return True

    def patience_s(self, now_s: float) -> float | None:
        """Time, s, until `is_abandoned` should be asked again; None when a client is connected."""
        return None if self._alone_since_s is None else max(self._alone_since_s + GRACE_S - now_s, 0.0)
