"""Traffic lights."""

from __future__ import annotations

from typing import Any

from embedded_carla import codec
from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.types import SignalColour
from embedded_carla.world.actors import Actor, ActorKind


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
    _set_time(simulation, actor_id, green_s=codec.number(seconds, "green time"))


@void("set_traffic_light_yellow_time")
def set_traffic_light_yellow_time(simulation: Simulation, actor_id: int, seconds: Any) -> None:
    _set_time(simulation, actor_id, yellow_s=codec.number(seconds, "yellow time"))


@void("set_traffic_light_red_time")
def set_traffic_light_red_time(simulation: Simulation, actor_id: int, seconds: Any) -> None:
    _set_time(simulation, actor_id, red_s=codec.number(seconds, "red time"))


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
    """World boxes of the light's heads: one, at the actor's pose, 0.4 m wide and 0.9 m high."""
    pose = _light(simulation, actor_id).pose
    return [(pose.location, (0.2, 0.2, 0.45), (pose.pitch_deg, pose.yaw_deg, pose.roll_deg), actor_id)]
