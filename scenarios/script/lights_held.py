"""The traffic lights that a script holds in one state, and until when."""

from __future__ import annotations

import math
from collections.abc import Iterator

from av_core.orders import Order, SetSignal
from scenarios.script.actions import ReleaseTable, SignalTable


class HeldLights:
    """Holds traffic lights in a state, and releases them when their time is over."""

    def __init__(self) -> None:
        self._until_s: dict[str, float] = {}

    def hold(self, table: SignalTable, time_s: float) -> Iterator[Order]:
        """Hold the lights of `table` in its state from now on."""
        for signal_id in table.ids:
            yield SetSignal(signal_id, table.state)
            self._until_s[signal_id] = time_s + table.for_s if table.for_s is not None else math.inf

    def release(self, table: ReleaseTable) -> Iterator[Order]:
        """Release the lights of `table`; lights that are not held are ignored."""
        yield from (self._let_go(signal_id) for signal_id in table.ids if signal_id in self._until_s)

    def step(self, time_s: float) -> Iterator[Order]:
        """Release the lights whose time is over."""
        over = [signal_id for signal_id, until_s in self._until_s.items() if time_s >= until_s]
        yield from (self._let_go(signal_id) for signal_id in over)

    def _let_go(self, signal_id: str) -> Order:
        del self._until_s[signal_id]
        return SetSignal(signal_id, None)
