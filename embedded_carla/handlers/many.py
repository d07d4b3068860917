"""Runs of alike commands in a batch, as arrays: what TrafficManager and AI walkers send for everyone each tick.

Each function takes the commands' fields and carries all of them out, or, when one of them is out of the ordinary (an
unknown actor, a number out of range, a bad shape), none of them and says so: then they go one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from embedded_carla import codec
from embedded_carla.simulation import Simulation
from embedded_carla.types import Float, VehicleControl
from embedded_carla.world.actors import Actor, ActorKind

_LOWEST = np.array([0.0, -1.0, 0.0])  # throttle, steer, brake
_FARTHEST = np.array([codec.FARTHEST_M] * 3 + [codec.MOST_DEG] * 3 + [codec.FASTEST_WALKER_MPS])


def control_vehicles(simulation: Simulation, commands: Sequence[Any]) -> bool:
    """Whether all of the [id, control] were carried out."""
    actors = _actors(simulation, commands, ActorKind.VEHICLE)
    values = _array([control[:7] for _, control in commands], 7)
    if actors is None or values is None or not np.all((values[:, :3] >= _LOWEST) & (values[:, :3] <= 1.0)):
        return False
    if np.abs(values[:, 6]).max() > codec.MOST_GEAR:
        return False
    controls = [
        VehicleControl(throttle, steer, brake, bool(hand_brake), bool(reverse), bool(manual), int(gear))
        for throttle, steer, brake, hand_brake, reverse, manual, gear in values.tolist()
    ]
    simulation.episode.control_vehicles(actors, controls, values)
    return True


def place_walkers(simulation: Simulation, commands: Sequence[Any]) -> bool:
    """Whether all of the [id, transform, speed] were carried out."""
    actors = _actors(simulation, commands, ActorKind.WALKER)
    values = _array([(*pose[0], *pose[1], speed) for _, pose, speed in commands], 7)
    if actors is None or values is None or not np.all(np.abs(values) <= _FARTHEST):
        return False
    simulation.episode.place_walkers(actors, values[:, :3], values[:, 4], values[:, 6])
    return True


def _actors(simulation: Simulation, commands: Sequence[Any], kind: ActorKind) -> list[Actor] | None:
    """The commands' actors; None when one does not exist, is of another kind or is named twice."""
    find = simulation.episode.actors.find
    actors = [actor for command in commands if (actor := find(command[0])) is not None and actor.kind is kind]
    return actors if len(set(map(id, actors))) == len(commands) else None


def _array(rows: Sequence[Sequence[Any]], width: int) -> Float | None:
    """(n, width) finite numbers, None when they are anything else."""
    values = np.array(rows)
    if values.shape != (len(rows), width) or values.dtype.kind not in "fi":
        return None
    return values.astype(np.float64, copy=False) if np.isfinite(values).all() else None
