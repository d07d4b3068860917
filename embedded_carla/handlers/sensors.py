"""RPC methods for sensors: stream addresses, V2X messages, ignored vehicles."""

from __future__ import annotations

from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import refusal, value, void
from embedded_carla.sensing.radio import CUSTOM_TYPE
from embedded_carla.sensing.suite import why_unsupported
from embedded_carla.sensors.settings import check_attributes
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec
from embedded_carla.wire.streaming import EPISODE_STREAM
from embedded_carla.world.actors import ActorKind

MOST_IGNORED = 1024


@value("get_sensor_token")
def get_sensor_token(simulation: Simulation, stream_id: int) -> Any:
    """The stream address of a sensor.

    `listen()` calls this, so a sensor that the server cannot measure is refused here.
    """
    if stream_id != EPISODE_STREAM:
        sensors = simulation.episode.actors.of_kind(ActorKind.SENSOR)
        sensor = next((s for s in sensors if s.stream_id == stream_id), None)
        if sensor is None:
            raise CommandError(f"there is no sensor with stream {stream_id}")
        reason = why_unsupported(sensor.type_id)
        if reason:
            raise CommandError(reason)
        check_attributes(sensor)
        simulation.expect_listener(stream_id)
    return (codec.token(stream_id, simulation.stream_port),)


@void("send")
def send(simulation: Simulation, actor_id: int, text: str) -> None:
    """Send `text` from a custom V2X sensor with the next tick."""
    sensor = simulation.episode.actors.get(actor_id, ActorKind.SENSOR)
    if sensor.type_id != CUSTOM_TYPE:
        raise CommandError(f"actor {actor_id} ({sensor.type_id}) cannot send; only {CUSTOM_TYPE} can")
    simulation.sensors.radio.say(sensor, codec.text(text, "V2X message"))


@void("enable_sensor_for_ros")
def enable_sensor_for_ros(_simulation: Simulation, _stream_id: int) -> None:
    raise refusal("ROS")


@void("disable_sensor_for_ros")
def disable_sensor_for_ros(_simulation: Simulation, _stream_id: int) -> None:
    """Do nothing: ROS is never enabled."""


@value("is_sensor_enabled_for_ros")
def is_sensor_enabled_for_ros(_simulation: Simulation, _stream_id: int) -> bool:
    return False


@value("are_gbuffers_enabled")
def are_gbuffers_enabled(_simulation: Simulation, _actor_id: int) -> bool:
    return False


@void("set_ignored_vehicles")
def set_ignored_vehicles(simulation: Simulation, actor_id: int, ids: Any) -> None:
    """Hide these actors from the sensor (cameras, LiDARs and radars)."""
    sensor = simulation.episode.actors.get(actor_id, ActorKind.SENSOR)
    read = (codec.integer(i, "ignored vehicle") for i in codec.items(ids, 0, "ignored vehicles", MOST_IGNORED))
    sensor.ignored_vehicles = frozenset(read)


@void("set_annotations_traverse_translucency")
def set_annotations_traverse_translucency(_simulation: Simulation, _enabled: bool) -> None:
    """Do nothing: nothing in the scenery is translucent."""
