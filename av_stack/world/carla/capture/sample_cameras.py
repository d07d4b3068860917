"""Cameras that ride on the ego beside its rig, and take pictures at intervals of several ticks."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import carla
import cv2
import numpy as np

from av_core.types import CameraModel, Image, Stamp
from av_stack.world.carla.sensors import camera_attributes, camera_transform
from av_stack.world.carla.truth import rear_axle_x_m
from av_stack.world.carla.world import CarlaWorld

CONNECT_S = 0.4
"""Wall time for the streams to connect. Cameras that all listen before the next tick take their pictures together."""

FIRST_PICTURE_TIMEOUT_S = 60.0
"""The server makes shaders and textures for its first picture."""


class SampleCameras:
    """`cameras` on the ego of `world`, each taking a picture every `period_s`; the world's `close` removes them.

    The pictures of all cameras belong to the same ticks.
    """

    def __init__(self, world: CarlaWorld, cameras: Sequence[CameraModel], period_s: float) -> None:
        self._world = world
        self._waiting: queue.SimpleQueue[tuple[str, int, Image]] = queue.SimpleQueue()
        self._parts: dict[int, dict[str, Image]] = {}
        self._count = len(cameras)
        episode = world.episode
        with episode.session.answering("spawning the sample cameras"):
            settings = episode.world.get_settings()
            settings.no_rendering_mode = False
            episode.world.apply_settings(settings)
            library = episode.world.get_blueprint_library()
            rear_m, _ = rear_axle_x_m(episode.ego)
            sensors = []
            for camera in cameras:
                blueprint = library.find("sensor.camera.rgb")
                for name, value in {**camera_attributes(camera), "sensor_tick": repr(period_s)}.items():
                    blueprint.set_attribute(name, value)
                at = camera_transform(camera, rear_m)
                sensors.append(cast("carla.Sensor", episode.world.spawn_actor(blueprint, at, attach_to=episode.ego)))
                episode.session.listen(sensors[-1], self._listener(camera.name), FIRST_PICTURE_TIMEOUT_S)
        episode.cleanup.callback(episode.session.destroy, [sensor.id for sensor in sensors])
        episode.cleanup.callback(_stop, sensors)
        time.sleep(CONNECT_S)

    def take(self) -> dict[int, Mapping[str, Image]]:
        """The sets of pictures that are complete since the last call, by the frame number of their stamps."""
        complete: dict[int, Mapping[str, Image]] = {}
        first = self._world.server_frame(Stamp(0, 0.0))
        while not self._waiting.empty():
            name, frame, bgr = self._waiting.get()
            part = self._parts.setdefault(frame, {})
            part[name] = bgr
            if len(part) == self._count:
                complete[frame - first] = self._parts.pop(frame)
        return complete

    def _listener(self, name: str) -> Callable[[carla.Image], None]:
        put = self._waiting.put

        def take_in(data: carla.Image) -> None:
            bgra = np.frombuffer(data.raw_data, dtype=np.uint8).reshape(data.height, data.width, 4)
            put((name, data.frame, np.asarray(cv2.cvtColor(bgra, cv2.COLOR_BGRA2BGR), dtype=np.uint8)))

        return take_in


def _stop(sensors: Sequence[carla.Sensor]) -> None:
    for sensor in sensors:
        if sensor.is_listening():
            sensor.stop()
