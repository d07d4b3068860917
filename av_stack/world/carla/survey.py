"""A drive to measure perception with: CARLA's TrafficManager drives the ego, and every picture comes with its truth."""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass
from typing import cast

import carla
import numpy as np
from numpy.typing import NDArray

from av_core.types import CameraModel, Image, LightState, SensorFrame, Truth
from av_stack.world.carla.actors import actors_in
from av_stack.world.carla.boxes import box_of
from av_stack.world.carla.road_users.crowd import Crowd
from av_stack.world.carla.road_users.traffic import Traffic
from av_stack.world.carla.sensors import camera_attributes, camera_transform, take
from av_stack.world.carla.stage import SILENCE_MAX_S, Stage
from av_stack.world.carla.truth import object_kind, rear_axle_x_m
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address, WorldSpec
from perception.detection.labels import Label, Pinhole, Thing, label_things

REACH_M = 90.0
"""Road users within this distance are labelled."""

TAG_ROADS = (1, 24)
"""Semantic tags of CARLA 0.9.16 for the road and for the lines on it."""

DEPTH_RANGE_M = 1000.0
"""Depth that CARLA's depth camera encodes as its largest value."""


@dataclass(frozen=True, slots=True)
class SurveyFrame:
    """One tick: the sensors' measurements and the ground truth.

    `depth_m` (H, W) along the view and `is_road` (H, W) belong to the first camera. `labels` holds (actor id, label) of
    every road user with at least one visible pixel.
    """

    sensors: SensorFrame
    truth: Truth
    depth_m: NDArray[np.float32]
    is_road: NDArray[np.bool_]
    labels: tuple[tuple[int, Label], ...]


class Survey:
    """A world whose ego drives by itself and in which `people` wander; `world` and `stage` give access to it.

    Call `look` for each frame, set the `stage` between frames, and `close` once. `rng` draws the people; without it
    there are none. Raises as `CarlaWorld` does.
    """

    def __init__(
        self, address: Address, spec: WorldSpec, people: int = 0, rng: np.random.Generator | None = None
    ) -> None:
        self.world = CarlaWorld(address, spec, SILENCE_MAX_S)
        self._episode = self.world.episode
        self.stage = Stage(self._episode)
        self._camera = spec.rig.cameras[0]
        try:
            self._pilot().drive(self._episode.ego)
            self.stage.show_lights({}, LightState.GREEN)  # at a red light every picture would be the same
            self._waiting = [self._attach(kind) for kind in ("depth", "instance_segmentation")]
            self.look()
            if rng is not None:
                self._add_people(people, rng)
        except BaseException:
            self.close()
            raise

    def look(self) -> SurveyFrame:
        """Advance one step and return its measurements with the truth."""
        sensors = self.world.tick()
        frame = self.world.server_frame(sensors.stamp)
        deadline = time.monotonic() + SILENCE_MAX_S
        depth, marks = (take("truth camera", waiting, frame, deadline) for waiting in self._waiting)
        raw = _pixels(depth, self._camera)
        value = raw[:, :, 0] + 256.0 * raw[:, :, 1] + 65536.0 * raw[:, :, 2]
        tags, instances = _pixels(marks, self._camera)[:, :, 0], _instances(_pixels(marks, self._camera))
        return SurveyFrame(
            sensors,
            self.world.truth(),
            (DEPTH_RANGE_M / (2.0**24 - 1.0) * value).astype(np.float32),
            np.isin(tags, TAG_ROADS),
            self._labels(depth, tags, instances),
        )

    def close(self) -> None:
        self.world.close()

    def _pilot(self) -> Traffic:
        """The TrafficManager of the traffic, or one for the ego alone."""
        if self.world.traffic is not None:
            return self.world.traffic
        session = self._episode.session
        pilot = Traffic(session.client, self._episode.spec.seed)
        self._episode.cleanup.callback(session.release, pilot.close)
        return pilot

    def _add_people(self, people: int, rng: np.random.Generator) -> None:
        episode, session = self._episode, self._episode.session
        with session.answering("people"):
            episode.world.set_pedestrians_seed(episode.spec.seed)
            crowd = Crowd(session.client, episode.world, people, rng)
            episode.cleanup.callback(session.clean_up, crowd.close)
        self.look()
        with session.answering("people"):
            crowd.start()

    def _attach(self, kind: str) -> queue.SimpleQueue[carla.Image]:
        episode = self._episode
        blueprint = episode.world.get_blueprint_library().find(f"sensor.camera.{kind}")
        for name, value in camera_attributes(self._camera).items():
            blueprint.set_attribute(name, value)
        at = camera_transform(self._camera, rear_axle_x_m(episode.ego)[0])
        sensor = cast("carla.Sensor", episode.world.spawn_actor(blueprint, at, attach_to=episode.ego))
        waiting: queue.SimpleQueue[carla.Image] = queue.SimpleQueue()
        sensor.listen(waiting.put)
        episode.cleanup.callback(episode.session.destroy, [sensor.id])
        episode.cleanup.callback(sensor.stop)
        return waiting

    def _labels(
        self, image: carla.Image, tags: NDArray[np.uint8], instances: NDArray[np.int32]
    ) -> tuple[tuple[int, Label], ...]:
        camera = self._camera
        eye = np.array(image.transform.get_matrix())
        pinhole = Pinhole(camera.width_px, camera.height_px, camera.fov_x_rad, eye, handed=-1)
        shown = set(np.unique(instances).tolist())
        found: list[tuple[int, Label]] = []
        for actor in actors_in(self._episode.world):
            kind = object_kind(actor)
            if kind is None or actor.id == self._episode.ego.id or actor.id & 0xFFFF not in shown:
                continue
            offset, extent = box_of(actor)
            pose = np.array(actor.get_transform().get_matrix()) @ offset
            if np.hypot(*(pose[:2, 3] - eye[:2, 3])) > REACH_M:
                continue
            thing = Thing(kind.value, pose, extent, 0, instance=actor.id & 0xFFFF)
            found += [(actor.id, label) for label in label_things([thing], pinhole, instances, tags)]
        return tuple(found)


def _pixels(image: carla.Image, camera: CameraModel) -> Image:
    """(H, W, 3) uint8, red channel first."""
    raw = np.frombuffer(image.raw_data, dtype=np.uint8).reshape(camera.height_px, camera.width_px, 4)
    return raw[:, :, 2::-1]


def _instances(pixels: Image) -> NDArray[np.int32]:
    return pixels[:, :, 1].astype(np.int32) + 256 * pixels[:, :, 2].astype(np.int32)
