"""A drive to measure perception with: CARLA's TrafficManager drives the ego, and every picture comes with its truth.

Does not import carla: `CarlaWorld` provides the module.
"""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from av_core.types import CameraModel, Image, LightState, SensorFrame, Truth
from av_stack.world.carla_crowd import Crowd
from av_stack.world.carla_sensors import camera_attributes, camera_transform, take
from av_stack.world.carla_staged import StagedWorld
from av_stack.world.carla_traffic import Traffic
from av_stack.world.carla_truth import object_kind, rear_axle_x_m
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


class Survey(StagedWorld):
    """A world whose ego drives by itself and in which `people` wander.

    Call `look` for each frame, `set_weather` between frames, and `close` once. `rng` draws the people; without it there
    are none.
    """

    def __init__(
        self, address: Address, spec: WorldSpec, people: int = 0, rng: np.random.Generator | None = None
    ) -> None:
        super().__init__(address, spec)
        try:
            self._camera = spec.rig.cameras[0]
            pilot = self._traffic
            if pilot is None:
                pilot = Traffic(self._client, spec.seed)
                self._cleanup.callback(self._if_alive, pilot.close)
            pilot.drive(self._ego)
            self.show_lights({}, LightState.GREEN)  # at a red light every picture would be the same
            self._waiting = [self._attach(kind) for kind in ("depth", "instance_segmentation")]
            self.look()
            if rng is not None:
                self._add_people(people, rng)
        except BaseException:
            self.close()
            raise

    def look(self) -> SurveyFrame:
        """Advance one step and return its measurements with the truth."""
        sensors = self.tick()
        frame = self._first_frame + sensors.stamp.frame
        deadline = time.monotonic() + self.silence_max_s
        depth, marks = (take("truth camera", waiting, frame, deadline) for waiting in self._waiting)
        raw = _pixels(depth, self._camera)
        value = raw[:, :, 0] + 256.0 * raw[:, :, 1] + 65536.0 * raw[:, :, 2]
        tags, instances = _pixels(marks, self._camera)[:, :, 0], _instances(_pixels(marks, self._camera))
        return SurveyFrame(
            sensors,
            self.truth(),
            (DEPTH_RANGE_M / (2.0**24 - 1.0) * value).astype(np.float32),
            np.isin(tags, TAG_ROADS),
            self._labels(depth, tags, instances),
        )

    def _add_people(self, people: int, rng: np.random.Generator) -> None:
        with self._answering("people"):
            self._world.set_pedestrians_seed(self._spec.seed)
            crowd = Crowd(self._api, self._client, self._world, people, rng)
            self._cleanup.callback(self._if_alive, crowd.close)
        self.look()
        with self._answering("people"):
            crowd.start()

    def _attach(self, kind: str) -> queue.SimpleQueue[Any]:
        blueprint = self._world.get_blueprint_library().find(f"sensor.camera.{kind}")
        for name, value in camera_attributes(self._camera).items():
            blueprint.set_attribute(name, value)
        rear_m, _ = rear_axle_x_m(self._ego)
        at = camera_transform(self._api, self._camera, rear_m)
        sensor = self._world.spawn_actor(blueprint, at, attach_to=self._ego)
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        sensor.listen(waiting.put)
        self._cleanup.callback(self._destroy, [sensor.id])
        self._cleanup.callback(sensor.stop)
        return waiting

    def _labels(
        self, image: Any, tags: NDArray[np.uint8], instances: NDArray[np.int32]
    ) -> tuple[tuple[int, Label], ...]:
        camera = self._camera
        eye = np.array(image.transform.get_matrix())
        pinhole = Pinhole(camera.width_px, camera.height_px, camera.fov_x_rad, eye, handed=-1)
        shown = set(np.unique(instances).tolist())
        found: list[tuple[int, Label]] = []
        for actor in self._world.get_actors():
            kind = object_kind(actor)
            if kind is None or actor.id == self._ego.id or actor.id & 0xFFFF not in shown:
                continue
            box = actor.bounding_box
            offset = np.array(self._api.Transform(box.location, box.rotation).get_matrix())
            pose = np.array(actor.get_transform().get_matrix()) @ offset
            if np.hypot(*(pose[:2, 3] - eye[:2, 3])) > REACH_M:
                continue
            extent = (box.extent.x, box.extent.y, box.extent.z)
            thing = Thing(kind.value, pose, extent, 0, instance=actor.id & 0xFFFF)
            found += [(actor.id, label) for label in label_things([thing], pinhole, instances, tags)]
        return tuple(found)


def _pixels(image: Any, camera: CameraModel) -> Image:
    """(H, W, 3) uint8, red channel first."""
    raw = np.frombuffer(image.raw_data, dtype=np.uint8).reshape(camera.height_px, camera.width_px, 4)
    return raw[:, :, 2::-1]


def _instances(pixels: Image) -> NDArray[np.int32]:
    return pixels[:, :, 1].astype(np.int32) + 256 * pixels[:, :, 2].astype(np.int32)
