"""Renders labelled pictures of a populated town for training and evaluation: traffic, people, cameras on many cars.

Does not import carla: the caller passes the module as `api`. Everything here is in CARLA's world frame.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from av_core.errors import WorldError
from av_core.types import CameraModel, Float, Image, LightState
from av_stack.world.carla_crowd import Crowd
from av_stack.world.carla_sensors import take
from av_stack.world.carla_traffic import free_port
from av_stack.world.carla_truth import object_kind
from av_stack.world.carla_views import View, mounted, somewhere, spawn_view
from av_stack.world.labelled_signs import (
    SIGN_COLUMN_M,
    SIGN_FACE_M,
    SIGN_FOOT_M,
    TAG_LIGHT,
    TAG_SIGN,
    is_labelled,
    looks_at,
    sign_class,
)
from av_stack.world.random_weather import random_weather
from av_stack.world.speed_signs import redraw_speed_limits
from perception.detection.classes import light_class
from perception.detection.labels import Label, Pinhole, Thing, label_things

STEP_S = 0.1
"""Simulated time of a tick."""

TICKS_BETWEEN_SHOTS = 10
WARM_TICKS = 30
"""Ticks after a change of scene before the first shot."""

PICTURE_TIMEOUT_S = 60.0
REACH_M = 150.0
"""Objects within this distance of a camera are labelled."""

WEIGHTS = {"motorcycle": 2.5, "bicycle": 2.5, "truck": 2.0, "van": 1.5, "bus": 4.0}
"""How much more often than a car each base type is drawn, per blueprint, so that rare kinds are learned too."""

CROSSING_SHARE = 0.3
"""Share of the walkers that may cross the road."""

NEAR_LIGHTS = 0.6
"""Share of the episodes whose traffic gathers round a traffic light or sign, if the map has any."""

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

    `views` cameras (with a rig, `views` sets of them) ride on as many cars. Each of `scenes` has its own weather and
    its own `guests`, people who walk near the cameras and start within `guests_m` ahead of them, and yields `shots`
    moments. Each camera's field of view is drawn from `fov_deg`. `redraw_limits` changes the numbers on the map's speed
    limit signs.
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


@dataclass(frozen=True, slots=True)
class Shot:
    """One labelled picture.

    `weather` is a preset's name or "random". Of `camera`, only size, field of view and name are valid.
    """

    bgr: Image
    labels: tuple[Label, ...]
    weather: str
    camera: CameraModel


_Body = tuple[str, Float, tuple[float, float, float]]
"""An actor's class, the pose of its box in its own frame, and half the sizes of the box."""


def capture(
    api: Any, client: Any, spec: CaptureSpec, presets: Sequence[str], rig: Sequence[CameraModel] = ()
) -> Iterator[Shot]:
    """Load the map and yield its shots; what was spawned is destroyed at the end, even if the loop is left early.

    With a `rig`, each carrier is a car as the stack drives, with these cameras on it. Its shots follow one another in
    the order of the cameras, and the labels of one object have the same number in all of them.

    Raises WorldError where the map has no room for a single car.
    """
    with ExitStack() as cleanup:
        yield from _Capture(api, client, spec, presets, rig, cleanup).shots()


class _Capture:
    def __init__(
        self,
        api: Any,
        client: Any,
        spec: CaptureSpec,
        presets: Sequence[str],
        rig: Sequence[CameraModel],
        cleanup: ExitStack,
    ) -> None:
        self._api, self._client, self._spec, self._presets, self._rig = api, client, spec, presets, rig
        self._rng = np.random.default_rng([spec.seed, 7])
        self._cleanup = cleanup
        self._world = self._load()
        self._map = self._world.get_map()
        self._synchronise()
        self._library = self._world.get_blueprint_library()
        self._vehicles = self._spawn_traffic()
        self._crowd = self._spawn_crowd()
        self._guests: list[Any] = []
        self._bodies: dict[int, _Body] = {}
        cleanup.callback(lambda: self._destroy(self._guests))
        self._fixed = self._fixed_things()
        self._views = [view for carrier in self._carriers() for view in self._spawn_views(carrier)]

    def shots(self) -> Iterator[Shot]:
        for scene in range(self._spec.scenes):
            weather = self._set_weather(scene)
            self._set_lights()
            self._move_guests()
            self._tick(WARM_TICKS)
            for _ in range(self._spec.shots):
                yield from self._shoot(weather)
                self._tick(TICKS_BETWEEN_SHOTS - 1)

    # ------------------------------------------------------------ what there is

    def _load(self) -> Any:
        world = self._client.load_world(self._spec.map_name)
        if not self._spec.redraw_limits:
            return world
        xodr = world.get_map().to_opendrive()
        redrawn = redraw_speed_limits(xodr, np.random.default_rng([self._spec.seed % SIGN_VARIANTS, 11]))
        return world if redrawn == xodr else self._client.generate_opendrive_world(redrawn)

    def _synchronise(self) -> None:
        settings = self._world.get_settings()
        before = self._world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
        self._world.apply_settings(settings)
        self._cleanup.callback(self._world.apply_settings, before)

    def _spawn_traffic(self) -> list[Any]:
        manager = self._client.get_trafficmanager(free_port())
        manager.set_synchronous_mode(True)
        self._cleanup.callback(manager.shut_down)
        self._cleanup.callback(manager.set_synchronous_mode, False)
        manager.set_random_device_seed(self._spec.seed)
        blueprints = sorted(self._library.filter("vehicle.*"), key=lambda b: str(b.id))
        weights = np.array([WEIGHTS.get(_attribute(b, "base_type"), 1.0) for b in blueprints])
        batch = []
        for number, point in enumerate(self._spawn_points()[: self._spec.vehicles]):
            blueprint = blueprints[int(self._rng.choice(len(blueprints), p=weights / weights.sum()))]
            if self._rig and number < CARRIER_CHOICE * self._spec.views:
                blueprint = self._library.find(RIG_CARRIER)
            self._vary(blueprint)
            autopilot = self._api.command.SetAutopilot(self._api.command.FutureActor, True, manager.get_port())
            batch.append(self._api.command.SpawnActor(blueprint, point).then(autopilot))
        ids = [answer.actor_id for answer in self._client.apply_batch_sync(batch, True) if not answer.error]
        vehicles = list(self._world.get_actors(ids))
        self._cleanup.callback(lambda: self._destroy(vehicles))
        if not vehicles:
            raise WorldError(f"map {self._spec.map_name} has no room for a single car")
        for vehicle in vehicles:
            manager.update_vehicle_lights(vehicle, True)
        return vehicles

    def _spawn_points(self) -> list[Any]:
        """The map's spawn points, nearest first to a random place, so that traffic is dense there."""
        points = self._map.get_spawn_points()
        if not points:
            return []
        xy = np.array([(p.location.x, p.location.y) for p in points])
        told = [a.get_location() for a in self._world.get_actors().filter("traffic.*") if is_labelled(a.type_id)]
        places = xy
        if told and self._rng.uniform() < NEAR_LIGHTS:
            places = np.array([(at.x, at.y) for at in told])
        centre = places[int(self._rng.integers(len(places)))]
        return [points[i] for i in np.argsort(np.hypot(*(xy - centre).T), kind="stable")]

    def _spawn_crowd(self) -> list[Any]:
        """Spawn walkers under CARLA's own navigation, if the map has a mesh for it."""
        crowd = Crowd(self._api, self._client, self._world, self._spec.walkers, self._rng)
        self._cleanup.callback(crowd.close)
        self._world.set_pedestrians_cross_factor(CROSSING_SHARE)
        self._world.tick()
        crowd.start()
        return crowd.walkers

    def _carriers(self) -> list[Any]:
        """Cars that carry the cameras: drawn at random from the middle of the traffic."""
        cars = [v for v in self._vehicles if v.attributes.get("base_type") == "car"] or self._vehicles
        if self._rig:
            cars = [v for v in self._vehicles if v.type_id == RIG_CARRIER] or cars
        order = self._rng.permutation(min(len(cars), CARRIER_CHOICE * self._spec.views))
        return [cars[i] for i in order[: self._spec.views]]

    def _spawn_views(self, carrier: Any) -> list[View]:
        """The cameras of the rig on `carrier`, or one at a random place with a random field of view."""
        spec = self._spec
        if self._rig:
            where = [(camera, mounted(self._api, carrier, camera)) for camera in self._rig]
        else:
            at = somewhere(self._api, carrier, self._rng)
            fov_rad = float(np.radians(self._rng.choice(spec.fov_deg)))
            where = [(CameraModel("front", spec.width_px, spec.height_px, fov_rad, 0.0, 0.0, 0.0), at)]
        views = [spawn_view(self._world, carrier, camera, at) for camera, at in where]
        self._cleanup.callback(lambda: self._destroy([sensor for view in views for sensor in view.sensors]))
        return views

    def _fixed_things(self) -> list[tuple[Thing, Any, Float]]:
        """Signal heads and signs: the thing (a light as if off), its actor, and the direction that it faces."""
        out = []
        for light in self._world.get_actors().filter("traffic.traffic_light"):
            stops = light.get_stop_waypoints()
            if not stops:
                continue
            forward = stops[0].transform.get_forward_vector()
            for box in light.get_light_boxes():
                pose = np.array(self._api.Transform(box.location, box.rotation).get_matrix())
                half = (box.extent.x + 0.05, box.extent.y + 0.05, box.extent.z + 0.05)
                thing = Thing(light_class(LightState.OFF), pose, half, TAG_LIGHT)
                out.append((thing, light, -np.array([forward.x, forward.y])))
        for sign in self._world.get_actors().filter("traffic.*"):
            name = sign_class(sign.type_id)
            if name is None:
                continue
            pose = np.array(sign.get_transform().get_matrix())
            face = np.radians(sign.get_transform().rotation.yaw + 90.0)
            pose[2, 3] += SIGN_FOOT_M + SIGN_COLUMN_M[2]
            thing = Thing(name, pose, SIGN_COLUMN_M, TAG_SIGN, face_m=SIGN_FACE_M)
            out.append((thing, None, np.array([np.cos(face), np.sin(face)])))
        return out

    # ------------------------------------------------------------ a scene

    def _set_weather(self, scene: int) -> str:
        spec = self._spec
        if spec.weathers:
            name = spec.weathers[scene % len(spec.weathers)]
        else:
            name = str(self._rng.choice(self._presets)) if self._rng.uniform() < 0.4 else "random"
        if name == "random":
            self._world.set_weather(self._api.WeatherParameters(**random_weather(self._rng)))
        else:
            self._world.set_weather(getattr(self._api.WeatherParameters, name))
        return name

    def _set_lights(self) -> None:
        """In half of the scenes every light shows a random state, including off."""
        shown = [getattr(self._api.TrafficLightState, name) for name in LIGHT_CHANCES]
        lights = list(self._world.get_actors().filter("traffic.traffic_light"))
        chance = self._rng.uniform() < 0.5
        for light in lights:
            if chance:
                light.set_state(shown[int(self._rng.choice(len(shown), p=list(LIGHT_CHANCES.values())))])
        if lights:
            lights[0].freeze(chance)
            if not chance:
                self._world.reset_all_traffic_lights()

    def _move_guests(self) -> None:
        """Spawn new guests on and beside the road ahead of the cameras, walking in random directions."""
        self._destroy(self._guests)
        self._guests.clear()
        rng = self._rng
        for number in range(self._spec.guests):
            here = self._map.get_waypoint(self._views[number % len(self._views)].carrier.get_location())
            ahead = here.next(float(rng.uniform(*self._spec.guests_m)))
            if not ahead:
                continue
            pose = ahead[0].transform
            right = pose.get_right_vector()
            out_m = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.0, 8.0))
            place = self._api.Location(
                pose.location.x + out_m * right.x, pose.location.y + out_m * right.y, pose.location.z + 1.2
            )
            yaw_deg = float(rng.uniform(-180.0, 180.0))
            where = self._api.Transform(place, self._api.Rotation(yaw=yaw_deg))
            guest = self._world.try_spawn_actor(self._walker_blueprint(), where)
            if guest is None:
                continue
            way = self._api.Vector3D(float(np.cos(np.radians(yaw_deg))), float(np.sin(np.radians(yaw_deg))), 0.0)
            guest.apply_control(self._api.WalkerControl(way, float(rng.choice([0.0, 0.6, 1.2, 1.6])), False))
            self._guests.append(guest)

    def _walker_blueprint(self) -> Any:
        blueprints = sorted(self._library.filter("walker.pedestrian.*"), key=lambda b: str(b.id))
        return blueprints[int(self._rng.integers(len(blueprints)))]

    def _vary(self, blueprint: Any) -> None:
        if blueprint.has_attribute("color"):
            colours = blueprint.get_attribute("color").recommended_values
            blueprint.set_attribute("color", colours[int(self._rng.integers(len(colours)))])

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
        pairs = [tuple(take("camera", waiting, frame, deadline) for waiting in view.waiting) for view in self._views]
        for view in self._views:
            for sensor in view.sensors:
                sensor.stop()
        moving = self._moving_things(snapshot)
        fixed = self._fixed_now(len(moving))
        for view, (colour, marks) in zip(self._views, pairs, strict=True):
            yield self._shot(view, colour, marks, moving, fixed, weather)

    def _shot(
        self, view: View, colour: Any, marks: Any, moving: list[Thing], fixed: list[tuple[Thing, Float]], weather: str
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
        return Shot(bgr, tuple(label_things(near, camera, instances, tags)), weather, view.camera)

    def _moving_things(self, snapshot: Any) -> list[Thing]:
        out: list[Thing] = []
        for actor in [*self._vehicles, *self._crowd, *self._guests]:
            state = snapshot.find(actor.id)
            if state is None:
                continue
            kind, offset, half = self._body(actor)
            pose = np.array(state.get_transform().get_matrix()) @ offset
            out.append(Thing(kind, pose, half, 0, instance=actor.id & 0xFFFF, number=len(out)))
        return out

    def _body(self, actor: Any) -> _Body:
        """Constant properties of an actor, cached because every access to a bounding box calls the server."""
        if actor.id not in self._bodies:
            kind, box = object_kind(actor), actor.bounding_box
            assert kind is not None
            offset = np.array(self._api.Transform(box.location, box.rotation).get_matrix())
            self._bodies[actor.id] = (kind.value, offset, (box.extent.x, box.extent.y, box.extent.z))
        return self._bodies[actor.id]

    def _fixed_now(self, first: int) -> list[tuple[Thing, Float]]:
        """The fixed things with their current light states, numbered from `first`."""
        out: list[tuple[Thing, Float]] = []
        for number, (thing, light, face) in enumerate(self._fixed, first):
            if light is not None:
                state = _STATES.get(str(light.get_state()).rsplit(".", 1)[-1], LightState.OFF)
                thing = replace(thing, name=light_class(state))
            out.append((replace(thing, number=number), face))
        return out

    def _destroy(self, actors: Sequence[Any]) -> None:
        self._client.apply_batch_sync([self._api.command.DestroyActor(actor.id) for actor in actors], False)


_STATES = {"Red": LightState.RED, "Yellow": LightState.YELLOW, "Green": LightState.GREEN}


def _attribute(blueprint: Any, name: str) -> str:
    return str(blueprint.get_attribute(name).as_str()) if blueprint.has_attribute(name) else ""
