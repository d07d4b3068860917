"""RPC methods for street lamps: state of each lamp, and the day-night cycle."""

from __future__ import annotations

from typing import Any

from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec
from embedded_carla.world.lamps import state_from_wire


@value("query_lights_state")
def query_lights_state(simulation: Simulation, _client: str) -> Any:
    lamps = simulation.episode.lamps
    lamps.asked()
    return lamps.rows()


@void("update_lights_state")
def update_lights_state(simulation: Simulation, _client: str, states: Any, _discard: bool = False) -> None:
    read = [state_from_wire(state) for state in codec.items(states, 0, "light states")]
    for state in read:
        simulation.episode.lamps.set(**state)


@void("update_day_night_cycle")
def update_day_night_cycle(simulation: Simulation, _client: str, follows: bool) -> None:
    simulation.episode.lamps.follow_sun(bool(follows))
