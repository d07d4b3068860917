"""RPC methods for version, maps, episode, settings, tick, weather and gravity."""

from __future__ import annotations

from typing import Any

from embedded_carla.blueprints import LIBRARY
from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec
from embedded_carla.wire.streaming import EPISODE_STREAM
from embedded_carla.world.environment import MapLayer

VERSION = "0.9.16"
"""The CARLA version whose protocol the server speaks."""

MAP_FOLDER = "Carla/Maps"
MOST_GRAVITY_MPS2 = 1000.0


@value("version")
def version(_simulation: Simulation) -> str:
    return VERSION


@value("get_available_maps")
def get_available_maps(simulation: Simulation) -> list[str]:
    return [f"/Game/{MAP_FOLDER}/{name}" for name in simulation.loader.names()]


@void("load_new_episode")
def load_new_episode(
    simulation: Simulation, name: str, reset_settings: bool = True, layers: int = int(MapLayer.ALL), *_more: Any
) -> None:
    simulation.load_map(name, bool(reset_settings))
    simulation.episode.environment.unload_layers(~codec.integer(layers, "map layers"))
    simulation.episode.renew_scenery()


@void("copy_opendrive_to_file")
def copy_opendrive_to_file(simulation: Simulation, xodr: str, *_parameters: Any) -> None:
    simulation.loader.keep_client_text(xodr, may_wait=not simulation.answers_later)


@value("get_episode_info")
def get_episode_info(simulation: Simulation) -> Any:
    """The episode and its stream. After a load a TrafficManager's client still hears of the episode it has left.

    CARLA loads after it has answered. The client then sees the new episode in a snapshot, and only that makes it read
    the new map into its TrafficManager.
    """
    left, simulation.left_episode_id = simulation.left_episode_id, None
    episode_id = simulation.episode.episode_id if left is None else left
    return (episode_id, (codec.token(EPISODE_STREAM, simulation.stream_port),))


@value("get_map_info")
def get_map_info(simulation: Simulation) -> Any:
    spawn_points = [codec.transform_to_wire(t) for t in simulation.map.scenery.spawn_points]
    return (f"{MAP_FOLDER}/{simulation.map.name}", spawn_points)


@value("get_map_data")
def get_map_data(simulation: Simulation) -> str:
    return simulation.map.xodr_text


@value("get_navigation_mesh")
def get_navigation_mesh(simulation: Simulation) -> bytes:
    """Navigation mesh of AI walkers; empty on a map without pavements."""
    return simulation.map.navigation


@value("get_required_files")
def get_required_files(simulation: Simulation, folder: str = "") -> list[str]:
    """The navigation mesh only; the client builds everything else from the map's text."""
    wanted = folder.strip("/") in ("", "Nav") and bool(simulation.map.navigation)
    return [_navigation_path(simulation)] if wanted else []


@value("request_file")
def request_file(simulation: Simulation, name: str) -> bytes:
    if name != _navigation_path(simulation) or not simulation.map.navigation:
        raise CommandError(f"there is no file {codec.shown(name)} to send")
    return simulation.map.navigation


def _navigation_path(simulation: Simulation) -> str:
    return f"{MAP_FOLDER}/Nav/{simulation.map.navigation_file}"


@value("get_episode_settings")
def get_episode_settings(simulation: Simulation) -> Any:
    return codec.settings_to_wire(simulation.settings)


@value("set_episode_settings")
def set_episode_settings(simulation: Simulation, settings: Any) -> int:
    simulation.settings = codec.settings_from_wire(settings)
    return simulation.frame


@value("tick_cue")
def tick_cue(simulation: Simulation) -> int:
    """The number of the next frame; the frame is made after this answer (in asynchronous mode, by itself)."""
    simulation.tick_requested = simulation.settings.synchronous_mode
    return simulation.frame + 1


@value("get_actor_definitions")
def get_actor_definitions(_simulation: Simulation) -> Any:
    return _DEFINITIONS


_DEFINITIONS = [
    (
        uid,
        blueprint.type_id,
        ",".join(blueprint.tags),
        [
            (
                a.name,
                codec.ATTRIBUTE_KINDS[a.kind],
                a.default,
                list(a.recommended),
                a.is_modifiable,
                a.restrict_to_recommended,
            )
            for a in blueprint.attributes
        ],
    )
    for uid, blueprint in enumerate(LIBRARY.values(), start=1)
]


@value("get_spectator")
def get_spectator(simulation: Simulation) -> Any:
    return simulation.episode.spectator.to_wire(simulation.stream_port)


@value("get_weather_parameters")
def get_weather_parameters(simulation: Simulation) -> Any:
    return codec.weather_to_wire(simulation.episode.weather)


@void("set_weather_parameters")
def set_weather_parameters(simulation: Simulation, weather: Any) -> None:
    simulation.episode.set_weather(codec.weather_from_wire(weather))


@value("get_imui_gravity")
def get_imui_gravity(simulation: Simulation) -> float:
    return simulation.episode.imu_gravity_mps2


@void("set_imui_gravity")
def set_imui_gravity(simulation: Simulation, gravity: Any) -> None:
    """Set the gravity that IMUs measure, m/s^2, until the next map is loaded; physics keeps its own gravity."""
    simulation.episode.imu_gravity_mps2 = codec.number(gravity, "IMU gravity", -MOST_GRAVITY_MPS2, MOST_GRAVITY_MPS2)
