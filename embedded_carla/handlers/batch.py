"""RPC method apply_batch: many commands in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from embedded_carla.errors import CommandError, EmbeddedCarlaError
from embedded_carla.handlers import ackermann, actors, lights, many, vehicles, walkers
from embedded_carla.handlers.registry import carry_out, raw, refusal
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec, rpc

FUTURE_ACTOR = 0
"""Placeholder actor id in a command that follows a spawn in the same batch."""

_SPAWN, _DESTROY, _WALKER_STATE, _CONSOLE = 0, 1, 7, 20


def _walker_state(simulation: Simulation, actor_id: Any, pose: Any, speed: Any) -> None:
    episode, place = simulation.episode, codec.transform_from_wire(pose)
    stride = np.array([codec.number(speed, "walker speed", -codec.FASTEST_WALKER_MPS, codec.FASTEST_WALKER_MPS)])
    actor = episode.walker(actor_id)
    where = np.array([actor.row], dtype=np.intp), np.array([actor.slot], dtype=np.intp)
    episode.place_walkers(where, np.array([place.location]), np.array([place.yaw_deg]), stride)


_BY_INDEX: dict[int, Callable[..., Any]] = {
    _DESTROY: actors.destroy_actor,
    2: vehicles.apply_control_to_vehicle,
    3: ackermann.apply_ackermann_control_to_vehicle,
    4: walkers.apply_control_to_walker,
    5: vehicles.apply_physics_control,
    6: actors.set_actor_transform,
    8: actors.set_actor_target_velocity,
    9: actors.set_actor_target_angular_velocity,
    10: actors.add_actor_impulse,
    11: actors.add_actor_force,
    12: actors.add_actor_angular_impulse,
    13: actors.add_actor_torque,
    14: actors.set_actor_simulate_physics,
    15: actors.set_actor_enable_gravity,
    16: vehicles.set_actor_autopilot,
    17: vehicles.show_vehicle_debug_telemetry,
    18: vehicles.set_vehicle_light_state,
    19: actors.set_actor_location,
    21: lights.set_traffic_light_state,
}


_MANY: dict[int, Callable[[Simulation, Sequence[Any]], bool]] = {2: many.control_vehicles, 7: many.place_walkers}
_FEWEST = 4  # fewest commands of one kind for which array processing pays
_DEEPEST = 8  # deepest nesting of spawns within spawns


@raw("apply_batch")
def apply_batch(simulation: Simulation, commands: Any, do_tick_cue: bool = False) -> Any:
    """Carry out commands; one `Response<u32>` for each. A command that fails does not stop the others."""
    answers: list[Any] = []
    for index, alike in _runs(codec.items(commands, 0, "batch")):
        if index in _MANY and len(alike) >= _FEWEST and _run_together(simulation, index, alike):
            answers += [rpc.success(command[0][1][0]) for command in alike]
        else:
            answers += [_run(simulation, command) for command in alike]
    if do_tick_cue and simulation.settings.synchronous_mode:
        simulation.tick_requested = True
    return answers


def _runs(commands: Sequence[Any]) -> list[tuple[int, Sequence[Any]]]:
    """Group consecutive commands of the same kind. Nearly always all commands of a batch are of one kind."""
    try:
        kinds = {command[0][0] for command in commands}
    except (TypeError, LookupError):
        kinds = set()
    if len(kinds) == 1:
        return [(_index(commands[0]), commands)]
    return [(index, list(group)) for index, group in groupby(commands, key=_index)]


def _index(command: Any) -> int:
    """The kind of a command; -1 for a malformed command."""
    try:
        index = command[0][0]
    except (TypeError, LookupError):
        return -1
    return index if isinstance(index, int) else -1


def _run_together(simulation: Simulation, index: int, commands: Sequence[Any]) -> bool:
    """Carry out all commands at once as arrays; False when this was not possible and none was carried out."""
    try:
        return _MANY[index](simulation, [command[0][1] for command in commands])
    except (TypeError, ValueError, LookupError):  # one is malformed: running them one by one names it
        return False


def _run(simulation: Simulation, command: Any, depth: int = 0) -> Any:
    try:
        index, fields = command[0]
        if index == _SPAWN:
            if depth > _DEEPEST:
                raise CommandError(f"more than {_DEEPEST} spawns within one another")
            return rpc.success(_spawn(simulation, fields, depth))
        if index == _CONSOLE:
            raise refusal("console commands: they are for Unreal's console")
        if index == _WALKER_STATE:
            _walker_state(simulation, *codec.items(fields, 3, "walker state")[:3])
        else:
            handler = _BY_INDEX.get(index)
            if handler is None:
                raise CommandError(f"embedded_carla does not support command {index} in a batch")
            carry_out(handler, simulation, codec.items(fields, 1, "command"))
        return rpc.success(fields[0])
    except EmbeddedCarlaError as error:
        return rpc.failure(str(error))
    except (TypeError, ValueError, LookupError) as error:
        return rpc.failure(f"bad command {codec.shown(command)}: {error}")


def _spawn(simulation: Simulation, fields: Any, depth: int) -> int:
    """Spawn an actor.

    The attachment to a parent is always rigid, as in CARLA: the client leaves that field uninitialised.
    """
    description, pose, parent, _attachment, _socket, do_after = codec.items(fields, 6, "spawn command")[:6]
    parent_id = codec.optional_from_wire(parent, "parent")
    actor = actors.spawn(simulation, description, pose, parent_id)
    for command in codec.items(do_after, 0, "commands after a spawn"):
        _run(simulation, _meant_for(command, actor.actor_id), depth + 1)
    return actor.actor_id


def _meant_for(command: Any, actor_id: int) -> Any:
    """Replace FUTURE_ACTOR in a command after a spawn by the new actor's id; a malformed command stays as it is."""
    try:
        index, rest = command[0]
        if index == _SPAWN and rest[2] == [True, FUTURE_ACTOR]:
            return [[index, [*rest[:2], [True, actor_id], *rest[3:]]]]
        if index != _SPAWN and rest[0] == FUTURE_ACTOR:
            return [[index, [actor_id, *rest[1:]]]]
    except (TypeError, ValueError, LookupError):
        pass  # carrying it out reports the error
    return command
