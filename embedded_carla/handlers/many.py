"""Array processing of equal commands in a batch, as TrafficManager and AI walkers send for all actors each tick.

Each function takes the commands' fields. It carries out all of them and returns True, or carries out none and returns
False when one is irregular (an unknown actor, a number out of range, a bad shape); the caller then runs them one by
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from embedded_carla.simulation import Simulation
from embedded_carla.types import Float
from embedded_carla.wire import codec
from embedded_carla.world.actors import ActorKind

_LOWEST = np.array([0.0, -1.0, 0.0, 0.0, 0.0, 0.0, -codec.MOST_GEAR])  # fields of a vehicle control, in wire order
_HIGHEST = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, codec.MOST_GEAR])
_FARTHEST = np.array([codec.FARTHEST_M] * 3 + [codec.MOST_DEG] * 3 + [codec.FASTEST_WALKER_MPS])
_NUMBERS = {float, int, bool}


def control_vehicles(simulation: Simulation, commands: Sequence[Any]) -> bool:
    """Apply all of the [id, control] commands; False when none was carried out."""
    ids = [command[0] for command in commands]
    where = simulation.episode.rows_of(ActorKind.VEHICLE, ids)
    values = _array([value for _, control in commands for value in control[:7]], len(ids))
    if where is None or values is None or not ((values >= _LOWEST) & (values <= _HIGHEST)).all():
        return False
    simulation.episode.control_vehicles(ids, where, values)
    return True


def place_walkers(simulation: Simulation, commands: Sequence[Any]) -> bool:
    """Apply all of the [id, transform, speed] commands; False when none was carried out."""
    ids = [command[0] for command in commands]
    where = simulation.episode.rows_of(ActorKind.WALKER, ids)
    values = _array([value for _, pose, speed in commands for value in (*pose[0], *pose[1], speed)], len(ids))
    if where is None or values is None or not (np.abs(values) <= _FARTHEST).all():
        return False
    simulation.episode.place_walkers(where, values[:, :3], values[:, 4], values[:, 6])
    return True


def _array(values: list[Any], count: int) -> Float | None:
    """The values as (count, 7) float64; None when their number is wrong or one is not a number."""
    if len(values) != 7 * count or not set(map(type, values)) <= _NUMBERS:
        return None
    return np.array(values, dtype=np.float64).reshape(count, 7)
