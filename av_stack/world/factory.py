"""Chooses the world of a drive by where it comes from; to add a transport, add a case to `open_world`."""

from __future__ import annotations

from av_core.types import LaneGraph
from av_stack.world.base import World
from av_stack.world.spec import Address, WorldSpec


def open_world(source: Address, spec: WorldSpec) -> World:
    """The world that `spec` describes, on the CARLA server at `source`; the caller closes it.

    Raises WorldError and ConfigError as `CarlaWorld` does.
    """
    from av_stack.world.carla.world import CarlaWorld

    return CarlaWorld(source, spec)


def served_lane_graph(source: Address, town: str) -> LaneGraph:
    """The lanes of a town that the CARLA server at `source` has; it loads the town. Raises WorldError."""
    from av_stack.world.carla.episode import read_served_map

    return read_served_map(source, town)
