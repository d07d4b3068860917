"""Timing of a picture's stages, for benchmarks; costs nothing when off."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any


class Stages:
    """Seconds by stage, summed over pictures while `on`.

    `spent_s` is this thread's time, `gl_s` the GL's own time. A stage named in `awaited` lasts until the GL is done;
    only such stages have `gl_s`.
    """

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        self._query: Any = None
        self.on = False
        self.awaited: Container[str] = ()
        self.spent_s: dict[str, float] = defaultdict(float)
        self.gl_s: dict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Time the enclosed code as stage `name`."""
        if not self.on:
            yield
            return
        if self._query is None:
            self._query = self._ctx.query(time=True)
        began = time.perf_counter()
        if name not in self.awaited:
            yield
            self.spent_s[name] += time.perf_counter() - began
            return
        with self._query:
            yield
        self._ctx.finish()
        self.spent_s[name] += time.perf_counter() - began
        self.gl_s[name] += 1e-9 * self._query.elapsed
