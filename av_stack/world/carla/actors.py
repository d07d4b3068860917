"""CARLA's actors with their types, which the wheel's stubs lose in lists and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import carla
from carla.command import DestroyActor, FutureActor, SetAutopilot, SpawnActor

T = TypeVar("T")


def read_unless_gone(read: Callable[[], T]) -> T | None:
    """The result of `read`, which reads an actor; None if the actor has been destroyed.

    CARLA's `is_alive` does not show this: it is also false for a moment after a spawn.
    """
    try:
        return read()
    except RuntimeError as error:
        if "destroyed actor" not in str(error):
            raise
        return None


def actors_in(world: carla.World, pattern: str = "*") -> Iterable[carla.Actor]:
    """The actors of the last tick whose type matches the pattern of fnmatch."""
    actors = world.get_actors()
    return cast("Iterable[carla.Actor]", actors if pattern == "*" else actors.filter(pattern))


def traffic_lights(world: carla.World) -> list[carla.TrafficLight]:
    """The traffic lights of the map."""
    return list(cast("Iterable[carla.TrafficLight]", world.get_actors().filter("traffic.traffic_light*")))


class SpawnOnAutopilot:
    """A batch of vehicles to spawn in one call, driven by the TrafficManager at `port`."""

    def __init__(self, port: int) -> None:
        self._autopilot = SetAutopilot(FutureActor, True, port)  # type: ignore[arg-type]  # forgotten in the stub
        self._commands: list[Any] = []

    def add(self, blueprint: carla.ActorBlueprint, place: carla.Transform) -> None:
        """Add a vehicle with the attributes that the blueprint has now."""
        self._commands.append(SpawnActor(blueprint, place).then(self._autopilot))

    def spawn(self, client: carla.Client, do_tick: bool) -> list[int]:
        """Spawn the batch; returns the ids of the vehicles whose places were free."""
        answers = client.apply_batch_sync(self._commands, do_tick)
        return [answer.actor_id for answer in answers if not answer.error]


def destroy(client: carla.Client, actor_ids: Iterable[int]) -> None:
    """Destroy these actors in one call; those that are gone already are ignored."""
    client.apply_batch_sync([DestroyActor(actor_id) for actor_id in actor_ids], False)
