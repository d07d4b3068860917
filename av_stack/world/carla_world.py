"""`World` over any CARLA 0.9.16 server. The only file of the stack that imports carla."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import carla
import numpy as np

from av_core.errors import ConfigError, WorldError
from av_core.suggest import similar
from av_core.types import (
    CollisionEvent,
    ControlCommand,
    LaneGraph,
    SensorFrame,
    Stamp,
    Truth,
    VehicleLights,
    VehicleParameters,
)
from av_stack.world.base import PictureWatch
from av_stack.world.carla_map import lane_graph
from av_stack.world.carla_other_clients import check_is_free, is_replaced, why_lost
from av_stack.world.carla_sensors import SensorRig
from av_stack.world.carla_traffic import ScriptedWalkers, Traffic
from av_stack.world.carla_truth import TruthReader, forward_speed_mps, rear_axle_x_m, vehicle_parameters
from av_stack.world.probe import check_server
from av_stack.world.spec import Address, WorldSpec

VERSION = "0.9.16"
CONNECT_TIMEOUT_S = 5.0
LOAD_TIMEOUT_S = 120.0
LOOP_TIMEOUT_S = 4.0
"""Time-out of calls while driving. The wheel's TrafficManager ends the process when a call of its own times out; until
then `ServerWatchdog` notices a frozen server (2.6 s at most) and the results are saved."""

FIRST_TICK_TIMEOUT_S = 30.0  # shaders and textures are made for the first picture, and no call is answered meanwhile
FIRST_PICTURES = 2
"""Ticks whose pictures are awaited before traffic is spawned."""

SETTLE_TICKS = 20  # the ego drops onto its wheels
DROP_M = 0.3
"""Height above the road from which the ego is dropped."""

RAIN_EVERY_TICKS = 20
"""Ticks between two readings of the rain sensor."""

RAIN_MIN_PERCENT = 5.0  # CARLA's precipitation from which the rain sensor responds; drizzle presets have 15 or more
MAP_MAX_BYTES = 64 * 1024 * 1024  # the limit of the embedded server


def weather_presets() -> tuple[str, ...]:
    """The names of CARLA's weather presets."""
    return tuple(name for name in dir(carla.WeatherParameters) if name[0].isupper())


def named_weathers() -> tuple[str, ...]:
    """CARLA's presets without `Default`, which stands for the map's own weather."""
    return tuple(name for name in weather_presets() if name != "Default")


def read_lane_graph(path: Path) -> LaneGraph:
    """The lane graph of an OpenDRIVE file, in the file's own frame; `planning.find_route` can search it offline.

    Raises ConfigError where the file cannot be read, is larger than `MAP_MAX_BYTES`, or is no map with lanes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAP_MAX_BYTES + 1)
        if len(data) > MAP_MAX_BYTES:
            raise ConfigError(f"{path}: larger than {MAP_MAX_BYTES >> 20} MiB, the most that is allowed")
        return lane_graph(carla.Map(path.stem, data.decode("utf-8-sig")))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not text in UTF-8") from None
    except (RuntimeError, WorldError) as error:
        raise ConfigError(f"{path}: not a usable OpenDRIVE map: {_first_line(error)}") from None


def connect(address: Address, timeout_s: float = LOAD_TIMEOUT_S) -> tuple[Any, Any]:
    """(the carla module, a client) for programs that set up everything themselves. WorldError if no server answers."""
    check_server(address)
    try:
        client = carla.Client(address.host, address.port)
        client.set_timeout(timeout_s)
        client.get_server_version()
    except RuntimeError as error:
        raise WorldError(f"no CARLA server answers at {address}: {_first_line(error)}") from None
    return carla, client


class CarlaWorld:
    """A synchronous CARLA episode with one ego; see `World` for the order of use.

    Raises WorldError when the server cannot be reached, has another version, lacks the map, or stops answering;
    ConfigError for a blueprint or weather that does not exist.
    """

    silence_max_s = LOOP_TIMEOUT_S
    """A server that does not answer for this long counts as lost."""

    _api: Any = carla  # for subclasses in other files, which do not import carla

    def __init__(self, address: Address, spec: WorldSpec) -> None:
        self._address = address
        self._spec = spec
        self._is_alive = True
        self._cleanup = ExitStack()
        self._collisions: tuple[CollisionEvent, ...] = ()
        self._ego: Any = None
        self._lights = VehicleLights()
        self._is_raining = False
        self._traffic: Traffic | None = None
        self._sensors: SensorRig
        self._stamp = Stamp(0, 0.0)
        self._first_frame = 0
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------ World

    @property
    def lane_graph(self) -> LaneGraph:
        return self._lane_graph

    @property
    def vehicle(self) -> VehicleParameters:
        return self._vehicle

    @property
    def server_version(self) -> str:
        return self._server_version

    def show_pictures(self, watch: PictureWatch) -> None:
        self._sensors.show_pictures(watch)

    def tick(self) -> SensorFrame:
        self._check_is_ours()
        with self._answering("tick"):
            at = self._ego.get_location()
            self._walkers.step((at.x, at.y))
            frame = self._world.tick(self.silence_max_s)
        self._check_is_ours()
        try:
            sensed = self._sensors.read(frame, self._stamp_of(frame), forward_speed_mps(self._ego), self.silence_max_s)
        except WorldError:
            self._check_is_ours()
            self._is_alive = False
            raise
        self._stamp = sensed.stamp
        self._collisions = self._sensors.collisions(self._stamp_of)
        if self._stamp.frame % RAIN_EVERY_TICKS == 1:
            self._is_raining = self._feel_rain()
        return replace(sensed, is_raining=self._is_raining)

    def apply(self, command: ControlCommand) -> None:
        control = carla.VehicleControl(
            throttle=float(command.throttle), steer=-float(command.steer), brake=float(command.brake)
        )
        with self._answering("control of the ego"):
            self._ego.apply_control(control)
            if command.lights != self._lights:  # calling this every tick would cost a round trip
                self._lights = command.lights
                self._ego.set_light_state(light_state_of(command.lights))

    def truth(self) -> Truth:
        with self._answering("truth"):
            return self._truth.read(self._stamp, self._collisions)

    def close(self) -> None:
        if self._ego is not None and is_replaced(self._world):
            self._is_alive = False  # another program's world must not be cleaned up
        self._cleanup.close()

    def _feel_rain(self) -> bool:
        """The rain sensor. CARLA has none, so it is derived from the weather's precipitation alone."""
        with self._answering("weather"):
            return bool(self._world.get_weather().precipitation >= RAIN_MIN_PERCENT)

    def _stamp_of(self, frame: int) -> Stamp:
        """Frame and time since the episode was ready; the server's own count depends on how long it has run."""
        return Stamp(frame - self._first_frame, (frame - self._first_frame) * self._spec.step_s)

    # ------------------------------------------------------------ building

    def _build(self) -> None:
        spec = self._spec
        self._connect()
        self._load_map()
        self._settle_settings()
        rng = np.random.default_rng(spec.seed)
        with self._answering("reading the map"):
            carla_map = self._world.get_map()
            self._lane_graph = lane_graph(carla_map)
            self._world.set_weather(weather_of(spec.weather))
        with self._answering("spawning the ego"):
            self._ego = self._spawn_ego(carla_map)
            self._world.tick(FIRST_TICK_TIMEOUT_S)
            rear_m, _ = rear_axle_x_m(self._ego)
            self._vehicle = vehicle_parameters(self._ego)
            self._truth = TruthReader(self._world, self._ego, rear_m)
        with self._answering("spawning the sensors"):
            self._sensors = SensorRig(carla, self._world, self._ego, spec.rig, rear_axle_x_m=rear_m, seed=spec.seed)
            self._cleanup.callback(self._destroy, [sensor.id for sensor in self._sensors.actors])
            self._cleanup.callback(self._sensors.stop)
        # The first pictures take a server long, and how long depends on its caches. The TrafficManager must not wait
        # for them, and the lights start after them; otherwise a run would depend on the caches too.
        self._tick_sensors(FIRST_PICTURES)
        with self._answering("spawning traffic"):
            self._world.reset_all_traffic_lights()
            self._spawn_others(rng)
        self._tick_sensors(SETTLE_TICKS)
        self._client.set_timeout(self.silence_max_s)

    def _connect(self) -> None:
        check_server(self._address)
        try:
            self._client = carla.Client(self._address.host, self._address.port)
            self._client.set_timeout(CONNECT_TIMEOUT_S)
            self._server_version = str(self._client.get_server_version())
        except RuntimeError as error:
            self._is_alive = False
            raise WorldError(f"no CARLA server answers at {self._address}: {_first_line(error)}") from None
        if self._server_version.split("-")[0] != VERSION:
            raise WorldError(f"the server at {self._address} is CARLA {self._server_version}; needed is {VERSION}")

    def _load_map(self) -> None:
        """Start a fresh episode, even if the map is already loaded, so that lights and actors always start the same."""
        with self._answering("looking for other programs"):
            check_is_free(self._client.get_world(), self._address)
        with self._answering("loading the map"):
            available = {name.rsplit("/", 1)[-1]: name for name in self._client.get_available_maps()}
            self._client.set_timeout(LOAD_TIMEOUT_S)
            wanted = self._spec.map_name
            chosen = next((name for name in (wanted, f"{wanted}_Opt") if name in available), None)
            if chosen is not None:
                self._world = self._client.load_world(available[chosen])
            elif self._spec.xodr is not None:
                # By default CARLA puts a wall of 1 m along every road, which hides kerbs and pavements from the camera.
                bare = carla.OpendriveGenerationParameters(wall_height=0.0)
                self._world = self._client.generate_opendrive_world(self._spec.xodr.read_text(), bare)
            else:
                names = ", ".join(sorted(available))
                raise WorldError(f"the server at {self._address} has no map {wanted}; it has {names}")

    def _settle_settings(self) -> None:
        with self._answering("setting the step"):
            before = self._world.get_settings()
            settings = self._world.get_settings()
            settings.synchronous_mode = True
            settings.fixed_delta_seconds = self._spec.step_s
            settings.no_rendering_mode = not self._spec.rig.cameras
            self._cleanup.callback(self._give_back_settings, before)
            self._world.apply_settings(settings)
            self._client.set_timeout(FIRST_TICK_TIMEOUT_S)

    def _spawn_ego(self, carla_map: Any) -> Any:
        blueprint = self._find_blueprint(self._spec.blueprint)
        blueprint.set_attribute("role_name", "hero")
        x, y = self._spec.start
        place = carla_map.get_waypoint(carla.Location(x=x, y=y)).transform
        place.location.z += DROP_M
        ego = self._world.try_spawn_actor(blueprint, place)
        if ego is None:
            raise WorldError(f"map {self._spec.map_name}: the ego's start ({x:.1f}, {y:.1f}) is taken")
        self._cleanup.callback(self._destroy, [ego.id])
        ego.apply_control(carla.VehicleControl(brake=1.0))
        return ego

    def _find_blueprint(self, name: str) -> Any:
        vehicles = {blueprint.id: blueprint for blueprint in self._world.get_blueprint_library().filter("vehicle.*")}
        if name not in vehicles:
            near = similar(name, vehicles, limit=3)
            hint = f"similar are {', '.join(near)}" if near else f"it has {', '.join(sorted(vehicles))}"
            raise ConfigError(f"the server has no vehicle blueprint {name}; {hint}")
        return vehicles[name]

    def _spawn_others(self, rng: np.random.Generator) -> None:
        self._walkers = ScriptedWalkers(carla, self._world, self._spec.walkers, rng)
        self._cleanup.callback(self._destroy, [walker.id for walker in self._walkers.actors])
        if self._spec.traffic_vehicles > 0:
            traffic = self._traffic = Traffic(self._client, self._spec.seed)
            self._cleanup.callback(self._destroy, traffic.actor_ids)
            self._cleanup.callback(self._if_alive, traffic.close)
            traffic.spawn(carla, self._client, self._world, self._spec, rng)

    def _tick_sensors(self, ticks: int) -> None:
        """Tick, then wait for the data of every sensor in the last of the ticks.

        The sensors' streams need some time to connect, and the ego drops onto its wheels.
        """
        with self._answering("first ticks"):
            for _ in range(ticks):
                self._first_frame = self._world.tick(FIRST_TICK_TIMEOUT_S)
            speed_mps = forward_speed_mps(self._ego)
            self._sensors.read(self._first_frame, self._stamp_of(self._first_frame), speed_mps, FIRST_TICK_TIMEOUT_S)
            self._sensors.collisions(self._stamp_of)  # discard contacts from a rough landing

    # ------------------------------------------------------------ errors and the end

    def _check_is_ours(self) -> None:
        """Raise WorldError when another program took the server or the ego."""
        lost = why_lost(self._world, self._ego.id)
        if lost is not None:
            raise WorldError(f"the CARLA server at {self._address} is lost: {lost}")

    @contextmanager
    def _answering(self, what: str) -> Iterator[None]:
        """Turn the wheel's RuntimeError into a WorldError, and remember when the server is lost."""
        try:
            yield
        except RuntimeError as error:
            if "time-out" in str(error) or "not ready" in str(error):
                self._is_alive = False
                raise WorldError(f"the CARLA server at {self._address} went away ({what})") from None
            raise WorldError(f"the CARLA server at {self._address} refuses {what}: {_first_line(error)}") from None

    def _if_alive(self, action: Any, *arguments: Any) -> None:
        """Run a clean-up action unless the server is lost, since each call would then wait for its time-out."""
        if not self._is_alive:
            return
        with self._answering("cleaning up"):
            action(*arguments)

    def _destroy(self, actor_ids: list[int]) -> None:
        batch = [carla.command.DestroyActor(actor_id) for actor_id in actor_ids]
        self._if_alive(self._client.apply_batch_sync, batch, False)

    def _give_back_settings(self, settings: Any) -> None:
        self._if_alive(self._world.apply_settings, settings)


def light_state_of(lights: VehicleLights) -> Any:
    """carla.VehicleLightState for the lights that are on."""
    state = carla.VehicleLightState
    flags = (
        (lights.position, state.Position),
        (lights.low_beam, state.LowBeam),
        (lights.brake, state.Brake),
        (lights.left_indicator or lights.hazard, state.LeftBlinker),
        (lights.right_indicator or lights.hazard, state.RightBlinker),
    )
    return state(sum(int(flag) for is_on, flag in flags if is_on))


def weather_of(weather: Any) -> Any:
    """carla.WeatherParameters from a preset's name or from parameters by name; ConfigError for an unknown name."""
    if isinstance(weather, str):
        if weather not in weather_presets():
            raise ConfigError(f"no weather preset {weather}; CARLA's are {', '.join(weather_presets())}")
        return getattr(carla.WeatherParameters, weather)
    return carla.WeatherParameters(**weather)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
