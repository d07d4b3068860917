"""RPC method for walker control. Walkers' bones are in skeletons.py."""

from __future__ import annotations

from typing import Any

from embedded_carla.handlers.registry import void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec


@void("apply_control_to_walker")
def apply_control_to_walker(simulation: Simulation, actor_id: int, control: Any) -> None:
    episode = simulation.episode
    episode.control_walker(episode.walker(actor_id), codec.walker_control_from_wire(control))
