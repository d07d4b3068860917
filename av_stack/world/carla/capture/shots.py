"""Renders labelled pictures of a populated town for training and evaluation: traffic, people, cameras on many cars.

Everything here is in CARLA's world frame.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

import carla
import numpy as np

from av_core.errors import WorldError
from av_core.types import CameraModel, Float, Image
from av_stack.world.carla.actors import destroy, traffic_lights
from av_stack.world.carla.capture.labelled_signs import looks_at
from av_stack.world.carla.capture.population import Population
from av_stack.world.carla.capture.random_weather import random_weather
from av_stack.world.carla.capture.roadside import Roadside
from av_stack.world.carla.capture.speed_signs import redraw_speed_limits
from av_stack.world.carla.capture.things import FixedThings, MovingThings
from av_stack.world.carla.capture.views import View, mounted, somewhere, spawn_view
from av_stack.world.carla.sensors import take
from av_stack.world.carla.weather import weather_of
from perception.detection.labels import Label, Pinhole, Thing, label_things, label_unowned

STEP_S = 0.1
"""Simulated time of a tick."""

TICKS_BETWEEN_SHOTS = 10
WARM_TICKS = 30
"""Ticks after a change of scene before the first shot."""

PICTURE_TIMEOUT_S = 60.0
REACH_M = 150.0
"""Objects within this distance of a camera are labelled."""

RIG_CARRIER = "vehicle.lincoln.mkz_2020"
"""Vehicle that carries the cameras of a rig."""

CARRIER_CHOICE = 2
"""Carriers are drawn at random from this many times as many cars."""

SIGN_VARIANTS = 8
"""Number of variants of a map with other numbers on its signs; small, because the server keeps every map it built."""

LIGHT_CHANCES = {"Red": 0.2, "Yellow": 0.35, "Green": 0.25, "Off": 0.2}
"""Probability of each light state in scenes with random lights; states that are rare in a light's cycle get more."""


@dataclass(frozen=True, slots=True)
class CaptureSpec:
    """One episode of capturing.

    * `views`: number of cars that carry a camera each, or with a rig, all cameras of the rig.
    * `scenes`: number of scenes; each has its own weather and its own guests, and yields `shots` moments.
    * `guests`: people who walk near the cameras in a scene; they start within `guests_m` ahead of a camera.
    * `fov_deg`: fields of view from which each camera's own is drawn.
    * `redraw_limits`: changes the numbers on the map's speed limit signs.
    * `large_vehicles`: large vehicles and cycles that stand close ahead of the cameras in each scene.
    * `props`: props beside the road in each scene.
    """

    map_name: str
    seed: int
    width_px: int = 640
    height_px: int = 360
    fov_deg: tuple[float, ...] = (60.0,)
    views: int = 8
    scenes: int = 6
    shots: int = 6
    vehicles: int = 60
    walkers: int = 30
    guests: int = 18
    guests_m: tuple[float, float] = (10.0, 60.0)
    weathers: tuple[str, ...] = ()  # presets to take in turn; drawn at random if empty
    redraw_limits: bool = False
    large_vehicles: int = 0
    props: int = 0


@dataclass(frozen=True, slots=True)
class Shot:
    """One labelled picture.

    `weather` is a preset's name or "random". Of `camera`, only size, field of view and name are valid.
    """

    bgr: Image
    labels: tuple[Label, ...]
    weather: str
    camera: CameraModel


def capture(
    client: carla.Client, spec: CaptureSpec, presets: Sequence[str], rig: Sequence[CameraModel] = ()
) -> Generator[Shot, None, None]:
    """Load the map and yield its shots; what was spawned is destroyed at the end, even if the loop is left early.

    With a `rig`, each carrier is a car as the stack drives, with these cameras on it. Its shots follow one another in
    the order of the cameras, and the labels of one object have the same number in all of them.

    Raises WorldError where the map has no room for a single car.
    """
    with ExitStack() as cleanup:
        yield from _Capture(client, spec, presets, rig, cleanup).shots()


class _Capture:
    def __init__(
        self,
        client: carla.Client,
        spec: CaptureSpec,
        presets: Sequence[str],
        rig: Sequence[CameraModel],
        cleanup: ExitStack,
    ) -> None:
        self._client, self._spec, self._presets, self._rig = client, spec, presets, rig
        self._rng = np.random.default_rng([spec.seed, 7])
        self._cleanup = cleanup
        self._world = self._load()
        self._take_over_time()
        self._population = self._populate()
        wants_roadside = spec.large_vehicles or spec.props
        self._roadside = Roadside(client, self._world, spec.seed, cleanup) if wants_roadside else None
        self._fixed, self._moving = FixedThings(self._world), MovingThings()
        self._views = [view for carrier in self._carriers() for view in self._spawn_views(carrier)]

    def shots(self) -> Iterator[Shot]:
        spec = self._spec
        for scene in range(spec.scenes):
            weather = self._set_weather(scene)
            self._set_lights()
            self._population.move_guests(spec.guests, [view.carrier for view in self._views], spec.guests_m)
            if self._roadside is not None:
                self._roadside.replace(spec.large_vehicles, spec.props, [view.carrier for view in self._views])
            self._tick(WARM_TICKS)
            for _ in range(spec.shots):
                yield from self._shoot(weather)
                self._tick(TICKS_BETWEEN_SHOTS - 1)

    # ------------------------------------------------------------ actors and cameras

    def _load(self) -> carla.World:
        world = self._client.load_world(self._spec.map_name)
        if not self._spec.redraw_limits:
            return world
        xodr = world.get_map().to_opendrive()
        redrawn = redraw_speed_limits(xodr, np.random.default_rng([self._spec.seed % SIGN_VARIANTS, 11]))
        return world if redrawn == xodr else cast("carla.World", self._client.generate_opendrive_world(redrawn))

    def _take_over_time(self) -> None:
        settings = self._world.get_settings()
        before = self._world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
        self._world.apply_settings(settings)
        self._cleanup.callback(self._world.apply_settings, before)

    def _populate(self) -> Population:
        spec = self._spec
        population = Population(self._client, self._world, spec.seed, self._rng, self._cleanup)
        population.spawn_traffic(spec.vehicles, self._model, CARRIER_CHOICE * spec.views)
        if not population.vehicles:
            raise WorldError(f"map {spec.map_name} has no room for a single car")
        population.spawn_crowd(spec.walkers)
        return population

    @property
    def _model(self) -> str | None:
        """The model of car that carries the cameras; None for any."""
        return RIG_CARRIER if self._rig else None

    def _carriers(self) -> list[carla.Vehicle]:
        """Cars that carry the cameras: drawn at random from the middle of the traffic."""
        return self._population.draw_vehicles(self._spec.views, CARRIER_CHOICE * self._spec.views, self._model)

    def _spawn_views(self, carrier: carla.Vehicle) -> list[View]:
        """The cameras of the rig on `carrier`, or one at a random place with a random field of view."""
        spec = self._spec
        if self._rig:
            where = [(camera, mounted(carrier, camera)) for camera in self._rig]
        else:
            at = somewhere(carrier, self._rng)
            fov_rad = float(np.radians(self._rng.choice(spec.fov_deg)))
            where = [(CameraModel("front", spec.width_px, spec.height_px, fov_rad, 0.0, 0.0, 0.0), at)]
        views = [spawn_view(self._world, carrier, camera, at) for camera, at in where]
        self._cleanup.callback(destroy, self._client, [sensor.id for view in views for sensor in view.sensors])
        return views

    # ------------------------------------------------------------ a scene

    def _set_weather(self, scene: int) -> str:
        spec = self._spec
        if spec.weathers:
            name = spec.weathers[scene % len(spec.weathers)]
        else:
            name = str(self._rng.choice(self._presets)) if self._rng.uniform() < 0.4 else "random"
        self._world.set_weather(weather_of(random_weather(self._rng) if name == "random" else name))
        return name

    def _set_lights(self) -> None:
        """In half of the scenes every light shows a random state, including off."""
        shown = [getattr(carla.TrafficLightState, name) for name in LIGHT_CHANCES]
        lights = traffic_lights(self._world)
        chance = self._rng.uniform() < 0.5
        for light in lights:
            if chance:
                light.set_state(shown[int(self._rng.choice(len(shown), p=list(LIGHT_CHANCES.values())))])
        if lights:
            lights[0].freeze(chance)
            if not chance:
                self._world.reset_all_traffic_lights()

    # ------------------------------------------------------------ a shot

    def _tick(self, count: int) -> int:
        frame = 0
        for _ in range(count):
            frame = int(self._world.tick())
        return frame

    def _shoot(self, weather: str) -> Iterator[Shot]:
        for view in self._views:
            for sensor, waiting in zip(view.sensors, view.waiting, strict=True):
                sensor.listen(waiting.put)
        frame = self._tick(1)
        snapshot = self._world.get_snapshot()
        deadline = time.monotonic() + PICTURE_TIMEOUT_S
        pairs = [[take("camera", waiting, frame, deadline) for waiting in view.waiting] for view in self._views]
        for view in self._views:
            for sensor in view.sensors:
                sensor.stop()
        there = self._population
        standing = self._roadside.vehicles if self._roadside is not None else []
        moving = self._moving.read(snapshot, [*there.vehicles, *there.crowd, *there.guests, *standing])
        fixed = self._fixed.read(first=len(moving))
        for view, (colour, marks) in zip(self._views, pairs, strict=True):
            yield _shot(view, colour, marks, moving, fixed, weather)


def _shot(
    view: View,
    colour: carla.Image,
    marks: carla.Image,
    moving: list[Thing],
    fixed: list[tuple[Thing, Float]],
    weather: str,
) -> Shot:
    size = (view.camera.height_px, view.camera.width_px, 4)
    bgr = np.frombuffer(colour.raw_data, np.uint8).reshape(size)[:, :, :3].copy()
    raw = np.frombuffer(marks.raw_data, np.uint8).reshape(size)
    tags, instances = raw[:, :, 2], raw[:, :, 1].astype(np.int32) + 256 * raw[:, :, 0].astype(np.int32)
    pose = np.array(colour.transform.get_matrix())
    camera = Pinhole(size[1], size[0], view.camera.fov_x_rad, pose, handed=-1)
    things = [thing for thing in moving if thing.instance != view.carrier.id & 0xFFFF]
    things += [thing for thing, face in fixed if looks_at(thing.pose[:2, 3], face, pose[:2, 3])]
    near = [t for t in things if np.hypot(*(t.pose[:2, 3] - pose[:2, 3])) < REACH_M]
    actors = {thing.instance for thing in moving if thing.instance is not None}
    labels = [*label_things(near, camera, instances, tags), *label_unowned(instances, tags, actors)]
    return Shot(bgr, tuple(labels), weather, view.camera)
