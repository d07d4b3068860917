"""Assigns each drawn actor a seed for its appearance and a number in label images."""

from __future__ import annotations

import zlib

from embedded_carla.scene import MOST_INSTANCES


class Looks:
    """Seeds and numbers of one episode's living actors."""

    def __init__(self) -> None:
        self._places: dict[str, set[int]] = {}
        self._by_actor: dict[int, tuple[str, int, int]] = {}  # actor id -> type, place among its type, number
        self._numbers: set[int] = set()

    def give(self, actor_id: int, type_id: str) -> tuple[int, int]:
        """Return (seed, number) of a new actor.

        The seed depends on the type and the actor's place among those of its type. Ids rise from load to load, so a
        seed from the id would change the shapes that sensors measure. The number is the id where that fits and is free.
        """
        places = self._places.setdefault(type_id, set())
        place = next(i for i in range(len(places) + 1) if i not in places)
        number = max(actor_id & MOST_INSTANCES, 1)
        if len(self._numbers) < MOST_INSTANCES:
            while number in self._numbers:
                number = number % MOST_INSTANCES + 1
        places.add(place)
        self._numbers.add(number)
        self._by_actor[actor_id] = (type_id, place, number)
        return zlib.crc32(f"{type_id} {place}".encode()) & 0xFFFF, number

    def release(self, actor_id: int) -> None:
        """Free the place and the number of a destroyed actor."""
        type_id, place, number = self._by_actor.pop(actor_id)
        self._places[type_id].discard(place)
        self._numbers.discard(number)
