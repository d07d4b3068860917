"""RPC methods for traffic lights."""

from __future__ import annotations

from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import value, void
from embedded_carla.scene import Placement
from embedded_carla.simulation import Simulation
from embedded_carla.types import SignalColour, Vector3
from embedded_carla.wire import codec
from embedded_carla.world.actors import Actor, ActorKind

LONGEST_PHASE_S = 1.0e6


def _light(simulation: Simulation, actor_id: int) -> Actor:
    return simulation.episode.actors.get(actor_id, ActorKind.TRAFFIC_LIGHT)


@void("set_traffic_light_state")
def set_traffic_light_state(simulation: Simulation, actor_id: int, state: int) -> None:
    light = _light(simulation, actor_id)
    try:
        colour = SignalColour(state)
    except ValueError as error:
        raise CommandError(f"traffic light state {state!r}: allowed are 0 to {len(SignalColour) - 1}") from error
    simulation.episode.roadside.lights.set_state(light.signal_id, colour)
    simulation.episode.roadside.refresh()


def _set_time(simulation: Simulation, actor_id: int, **times: float) -> None:
    roadside = simulation.episode.roadside
    roadside.lights.set_times(_light(simulation, actor_id).signal_id, **times)
    roadside.refresh()


@void("set_traffic_light_green_time")
def set_traffic_light_green_time(simulation: Simulation, actor_id: int, seconds: Any) -> None:
    _set_time(simulation, actor_id, green_s=codec.number(seconds, "green time", 0.0, LONGEST_PHASE_S))


@void("set_traffic_light_yellow_time")
def set_traffic_light_yellow_time(simulation: Simulation, actor_id: int, seconds: Any) -> None:
    _set_time(simulation, actor_id, yellow_s=codec.number(seconds, "yellow time", 0.0, LONGEST_PHASE_S))


@void("set_traffic_light_red_time")
def set_traffic_light_red_time(simulation: Simulation, actor_id: int, seconds: Any) -> None:
    _set_time(simulation, actor_id, red_s=codec.number(seconds, "red time", 0.0, LONGEST_PHASE_S))


@void("freeze_traffic_light")
def freeze_traffic_light(simulation: Simulation, actor_id: int, frozen: bool) -> None:
    simulation.episode.roadside.lights.freeze(_light(simulation, actor_id).signal_id, bool(frozen))
    simulation.episode.roadside.refresh()


@void("freeze_all_traffic_lights")
def freeze_all_traffic_lights(simulation: Simulation, frozen: bool) -> None:
    simulation.episode.roadside.lights.freeze_all(bool(frozen))
    simulation.episode.roadside.refresh()


@void("reset_traffic_light_group")
def reset_traffic_light_group(simulation: Simulation, actor_id: int) -> None:
    simulation.episode.roadside.lights.reset_group(_light(simulation, actor_id).signal_id)
    simulation.episode.roadside.refresh()


@void("reset_all_traffic_lights")
def reset_all_traffic_lights(simulation: Simulation) -> None:
    simulation.episode.roadside.lights.reset_all()
    simulation.episode.roadside.refresh()


@value("get_group_traffic_lights")
def get_group_traffic_lights(simulation: Simulation, actor_id: int) -> list[int]:
    roadside = simulation.episode.roadside
    group = roadside.lights.group(_light(simulation, actor_id).signal_id)
    return [roadside.actor_of(signal_id).actor_id for signal_id in group]


@value("get_light_boxes")
def get_light_boxes(simulation: Simulation, actor_id: int) -> Any:
    """World bounding boxes of the light's signal heads, where they are drawn."""
    signal_id = _light(simulation, actor_id).signal_id
    heads = [p for p in simulation.map.scenery.placements if p.signal_id == signal_id]
    return [(_middle(head), tuple(0.5 * size for size in head.size_m), _rotation(head), actor_id) for head in heads]


def _middle(head: Placement) -> Vector3:
    x, y, z = head.transform.location
    return (x, y, z + 0.5 * head.size_m[2])


def _rotation(head: Placement) -> Vector3:
    pose = head.transform
    return (pose.pitch_deg, pose.yaw_deg, pose.roll_deg)
