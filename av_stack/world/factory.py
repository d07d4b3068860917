"""Chooses the world of a drive by where it comes from; to add a transport, add a case to `open_world`."""

from __future__ import annotations

from av_stack.world.base import World
from av_stack.world.spec import Address, WorldSpec


def open_world(source: Address, spec: WorldSpec) -> World:
    """The world that `spec` describes, on the CARLA server at `source`; the caller closes it.

    Raises WorldError and ConfigError as `CarlaWorld` does.
    """
    from av_stack.world.carla.world import CarlaWorld

    return CarlaWorld(source, spec)
