"""RPC methods for debug shapes, which are kept for their lifetime and drawn by cameras."""

from __future__ import annotations

from typing import Any

from embedded_carla.handlers.registry import void
from embedded_carla.simulation import Simulation
from embedded_carla.world.debug import shape_from_wire


@void("draw_debug_shape")
def draw_debug_shape(simulation: Simulation, shape: Any) -> None:
    episode = simulation.episode
    episode.debug.add(*shape_from_wire(shape), episode.time_s)


@void("clear_debug_shape")
def clear_debug_shape(simulation: Simulation) -> None:
    """Remove lines, points, arrows and boxes; text stays, as in CARLA."""
    simulation.episode.debug.clear()


@void("clear_debug_string")
def clear_debug_string(simulation: Simulation) -> None:
    simulation.episode.debug.clear_texts()
