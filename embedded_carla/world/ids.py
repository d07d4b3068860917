"""Allocation of actor ids."""

from __future__ import annotations

_LONGEST_LEAP = 1_000_000


class ActorIds:
    """Actor ids that are never reused: clients cache actors by id for ever."""

    def __init__(self) -> None:
        self._next = 1

    def __iter__(self) -> ActorIds:
        return self

    def __next__(self) -> int:
        given, self._next = self._next, self._next + 1
        return given

    def claim(self, wanted: int) -> int:
        """Return `wanted` if it was never given and is less than `_LONGEST_LEAP` ahead, else the next number."""
        if self._next <= wanted < self._next + _LONGEST_LEAP:
            self._next = wanted
        return next(self)
