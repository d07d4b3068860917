"""Detects other programs on the same CARLA server."""

from __future__ import annotations

import carla

from av_core.errors import WorldError
from av_stack.world.carla.actors import actors_in
from av_stack.world.spec import Address

WATCH_S = 2.5
"""Time to watch for another program's tick in a world that is already synchronous."""


def check_is_free(world: carla.World, address: Address) -> None:
    """Raise WorldError when another program drives there: the world is synchronous, and yet it advances.

    A synchronous world that stands still was left by a program that has ended, and may be taken over.
    """
    if not world.get_settings().synchronous_mode:
        return
    try:
        frame = world.wait_for_tick(WATCH_S).frame
    except RuntimeError:
        return
    vehicles = actors_in(world, "vehicle.*")
    heroes = [actor.id for actor in vehicles if actor.attributes.get("role_name") == "hero"]
    whose = f" with the ego {heroes[0]}" if heroes else ""
    raise WorldError(
        f"another program is driving{whose} on the CARLA server at {address} (it made frame {frame}): "
        "wait for its end, or use another server"
    )


def is_replaced(world: carla.World) -> bool:
    """Whether the server has loaded another world since this one."""
    return bool(world.get_snapshot().id != world.id)


def why_lost(world: carla.World, ego_id: int) -> str | None:
    """The harm that another program has done to this drive, in words; None if it has done none.

    It is judged by the client's copy of the last tick.
    """
    if is_replaced(world):
        return "another program loaded a new world, and the ego is gone"
    if not world.get_snapshot().has_actor(ego_id):
        return "another program destroyed the ego"
    return None
