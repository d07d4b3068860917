"""Where a picture's time goes, for benchmarks: off, a stage costs nothing; on, each one waits for the GL to be done."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stages:
    """Seconds by stage in `spent_s`, summed over pictures while `on`."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self.on = False
        self.spent_s: dict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count what is inside as `name`."""
        if not self.on:
            yield
            return
        began = time.perf_counter()
        yield
        self._ctx.finish()
        self.spent_s[name] += time.perf_counter() - began
