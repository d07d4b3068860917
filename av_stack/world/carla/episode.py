"""A fresh, synchronous episode with one ego on a CARLA server, which only this program steps."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import cast

import carla

from av_core.errors import ConfigError, WorldError
from av_core.suggest import similar
from av_core.types import LaneGraph
from av_stack.world.carla.client import LOAD_TIMEOUT_S, Session
from av_stack.world.carla.map import lane_graph
from av_stack.world.carla.map.start import waypoint_of_start
from av_stack.world.carla.other_clients import check_is_free, is_replaced, why_lost
from av_stack.world.carla.weather import weather_of
from av_stack.world.spec import Address, WorldSpec

FIRST_TICK_TIMEOUT_S = 30.0  # shaders and textures are made for the first picture, and no call is answered meanwhile

DROP_M = 0.3
"""Height above the road from which the ego is dropped."""


class Episode:
    """The map of `spec` with its weather, and the ego, one tick after it was dropped onto its start.

    `world`, `map` and `ego` are CARLA's own objects, for the modules of this folder. What they spawn they register with
    `cleanup`, which runs last in, first out. Raises WorldError when the server lacks the map, another program drives
    there, or the start is taken; ConfigError for a blueprint or weather that does not exist.
    """

    def __init__(self, session: Session, spec: WorldSpec) -> None:
        self.session, self.spec = session, spec
        self.cleanup = ExitStack()
        self.world = _load_world(session, spec.map_name, spec.xodr)
        try:
            self._take_over_time()
            with session.answering("reading the map"):
                self.map = self.world.get_map()
                self.lane_graph = lane_graph(self.map)
                self.world.set_weather(weather_of(spec.weather))
            with session.answering("spawning the ego"):
                self.ego = self._spawn_ego()
                self.world.tick(FIRST_TICK_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def check_is_ours(self) -> None:
        """Raise WorldError when another program took the server or the ego."""
        lost = why_lost(self.world, self.ego.id)
        if lost is not None:
            raise WorldError(f"the CARLA server at {self.session.address} is lost: {lost}")

    def close(self) -> None:
        """Destroy what was spawned and give the settings back. Safe to call twice."""
        if is_replaced(self.world):
            self.session.give_up(is_silent=False)  # another program's world must not be cleaned up
        self.cleanup.close()

    def _take_over_time(self) -> None:
        """Make the server wait for our ticks, until `close`."""
        with self.session.answering("setting the step"):
            before = self.world.get_settings()
            settings = self.world.get_settings()
            settings.synchronous_mode = True
            settings.fixed_delta_seconds = self.spec.step_s
            settings.no_rendering_mode = not (self.spec.rig.cameras or self.spec.rig.radars)
            self.cleanup.callback(self.session.clean_up, self.world.apply_settings, before)
            self.world.apply_settings(settings)
            self.session.client.set_timeout(FIRST_TICK_TIMEOUT_S)

    def _spawn_ego(self) -> carla.Vehicle:
        blueprint = self._find_blueprint(self.spec.blueprint)
        blueprint.set_attribute("role_name", "hero")
        x, y = self.spec.start
        place = waypoint_of_start(self.map, self.lane_graph, x, y).transform
        place.location.z += DROP_M
        ego = self.world.try_spawn_actor(blueprint, place)
        if ego is None:
            raise WorldError(f"map {self.spec.map_name}: the ego's start ({x:.1f}, {y:.1f}) is taken")
        self.cleanup.callback(self.session.destroy, [ego.id])
        vehicle = cast("carla.Vehicle", ego)
        vehicle.apply_control(carla.VehicleControl(brake=1.0))
        return vehicle

    def _find_blueprint(self, name: str) -> carla.ActorBlueprint:
        vehicles = {blueprint.id: blueprint for blueprint in self.world.get_blueprint_library().filter("vehicle.*")}
        if name not in vehicles:
            near = similar(name, vehicles, limit=3)
            hint = f"similar are {', '.join(near)}" if near else f"it has {', '.join(sorted(vehicles))}"
            raise ConfigError(f"the server has no vehicle blueprint {name}; {hint}")
        return vehicles[name]


def read_served_map(address: Address, town: str) -> LaneGraph:
    """The lanes of a town that the server has; it loads the town. Raises WorldError where it does not have it."""
    session = Session(address)
    world = _load_world(session, town, None)
    with session.answering("reading the map"):
        return lane_graph(world.get_map())


def _load_world(session: Session, map_name: str, xodr: Path | None) -> carla.World:
    """Start a fresh episode, even if the map is already loaded, so that lights and actors always start the same."""
    client = session.client
    with session.answering("looking for other programs"):
        check_is_free(client.get_world(), session.address)
    with session.answering("loading the map"):
        available = {name.rsplit("/", 1)[-1]: name for name in client.get_available_maps()}
        client.set_timeout(LOAD_TIMEOUT_S)
        chosen = next((name for name in (map_name, f"{map_name}_Opt") if name in available), None)
        if chosen is not None:
            return client.load_world(available[chosen])
        if xodr is None:
            names = ", ".join(sorted(available))
            raise WorldError(f"the server at {session.address} has no map {map_name}; it has {names}")
        # By default CARLA puts a wall of 1 m along every road, which hides kerbs and pavements from the camera.
        bare = carla.OpendriveGenerationParameters(wall_height=0.0)
        return cast("carla.World", client.generate_opendrive_world(xodr.read_text(), bare))
