"""Scores perception on one map. A visit is one standing place, stop line or drive; it returns plain data for a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from av_core.errors import WorldError
from av_core.types import CameraImage, Detection, Rig, TrafficLightView
from av_stack.evaluation.boxes import NoisyBoxes
from av_stack.evaluation.health import GOOD as HEALTH_GOOD
from av_stack.evaluation.health import HealthEvaluation, HealthSample
from av_stack.evaluation.lanes import LaneEvaluation
from av_stack.evaluation.lights import STATES, LightEvaluation, ego_at, is_in_picture, stop_places
from av_stack.evaluation.places import choose_places
from av_stack.evaluation.ranging import RangingEvaluation
from av_stack.server_process import embedded_town
from av_stack.world.carla.client import connect
from av_stack.world.carla.stand import Place, Stand
from av_stack.world.carla.survey import Survey
from av_stack.world.spec import Address, WorldSpec
from perception.lanes.detector import LaneDetector
from perception.lights.reader import LightReader
from perception.map_index import MapIndex

WARM_FRAMES = 12
"""Frames after a change of weather that are not scored: the exposure and the filters of the lines settle first."""

VOTES = 14
"""Pictures of a light that the reader gets before its state is scored."""

VEHICLES, PEOPLE = 40, 45
"""Other vehicles on a drive, and people on a drive that measures ranging."""

ALL_KINDS = ("bicycle", "bicycle", "bus", "bus", "car", "motorcycle", "motorcycle", "truck", "truck", "van")
"""Base types of CARLA's vehicles that are drawn for a drive; rare types are listed twice to draw them more often."""

Raw = dict[str, Any]
Detect = Callable[[CameraImage], tuple[Detection, ...]]


class Visitor:
    """Makes the visits on the map that the server at `address` has loaded; call `close` once at the end."""

    def __init__(self, address: Address, map_name: str, rig: Rig, seed: int, frames: int) -> None:
        self._address, self._map, self._seed, self._frames = address, map_name, seed, frames
        self._rig = replace(rig, radars=())  # the cameras are measured without help from radars
        self._camera = rig.cameras[0]
        self._stand: Stand | None = None

    def close(self) -> None:
        if self._stand is not None:
            self._stand.close()
            self._stand = None

    def stand(self, number: int, of: int, weathers: tuple[str, ...]) -> Raw:
        """Lane scores from the `number`-th of `of` places, in every weather."""
        stand = self._standing()
        place = choose_places(stand.world.lane_graph, of, np.random.default_rng(self._seed))[number]
        index, lanes = MapIndex(stand.world.lane_graph), LaneEvaluation()
        stand.stage.set_weather(weathers[0])
        stand.go(place)
        ego = stand.world.truth().ego
        for weather in weathers:
            stand.stage.set_weather(weather)
            detector = LaneDetector()
            for frame in range(WARM_FRAMES + self._frames):
                sensors = stand.world.tick()
                imu, image = sensors.imu, sensors.cameras[self._camera.name]
                seen = detector.update(image, sensors.wheel_speed_mps, imu.gyro_radps[2])
                if frame >= WARM_FRAMES:
                    lanes.add(weather, seen, ego, index, self._camera)
        return {"lanes": lanes.raw()}

    def drive(self, number: int, weathers: tuple[str, ...], parts: frozenset[str]) -> Raw:
        """Lane and health scores on a drive with its own start, during which the weather changes."""
        self.close()
        rng = np.random.default_rng([self._seed, number])
        survey = self._survey(number)
        camera, index = self._camera, MapIndex(survey.world.lane_graph)
        lanes, health = LaneEvaluation(), HealthEvaluation()
        try:
            for weather in np.roll(np.array(weathers), -5 * number).tolist():
                survey.stage.set_weather(weather)
                detector, samples = LaneDetector(), []
                for frame in range(WARM_FRAMES + max(self._frames, HEALTH_GOOD + 2)):
                    look = survey.look()
                    image, speed = look.sensors.cameras[camera.name], look.sensors.wheel_speed_mps
                    seen = detector.update(image, speed, look.sensors.imu.gyro_radps[2])
                    if frame >= WARM_FRAMES:
                        lanes.add(weather, seen, look.truth.ego, index, camera)
                        samples.append(HealthSample(image, speed))
                health.add(weather, samples, rng)
        finally:
            survey.close()
        raw = {"lanes": lanes.raw(), "health": health.raw()}
        return {name: values for name, values in raw.items() if name in parts}

    def ranging(self, number: int, weathers: tuple[str, ...]) -> Raw:
        """Ranging and depth scores on a drive among road users of all kinds, during which the weather changes."""
        self.close()
        seed = self._seed + number
        rng = np.random.default_rng(seed)
        start = lane_point(self._address, rng)
        spec = replace(self._spec(0, VEHICLES), start=start, route=(start,), seed=seed, traffic_kinds=ALL_KINDS)
        survey, lanes = Survey(self._address, spec, PEOPLE, rng), LaneDetector()
        boxes = NoisyBoxes(np.random.default_rng(seed), self._camera, spec.step_s)
        ranging = RangingEvaluation(self._camera.name, boxes, MapIndex(survey.world.lane_graph))
        try:
            for weather in weathers:
                survey.stage.set_weather(weather)
                for _ in range(WARM_FRAMES + self._frames):
                    look = survey.look()
                    image, sensors = look.sensors.cameras[self._camera.name], look.sensors
                    seen = lanes.update(image, sensors.wheel_speed_mps, sensors.imu.gyro_radps[2])
                    ranging.add(weather, look, seen)
        finally:
            survey.close()
        return {"ranging": ranging.scores.raw()}

    def lights(self, number: int, of: int, weathers: tuple[str, ...], far_m: float, detect: Detect) -> Raw:
        """Scores for the light at the `number`-th of `of` stop lines; its state changes with the weather."""
        stand = self._standing()
        rng = np.random.default_rng([self._seed, 7])
        places = stop_places(stand.world.lane_graph, of, far_m, rng)
        lights = LightEvaluation()
        if number < len(places):
            stop = places[number]
            stand.go(stop.place)
            shows = is_in_picture(stop, stand.world.lane_graph, self._camera)
            for turn, weather in enumerate(weathers, number):
                stand.stage.set_weather(weather)
                # All other lights show another state, so a mistake about which light governs gives a wrong state.
                stand.stage.show_lights({stop.signal_id: STATES[turn % len(STATES)]}, STATES[(turn + 1) % len(STATES)])
                read = self._read_lights(stand, stop.place, detect)
                lights.add(weather, stop, stand.world.truth().lights[stop.signal_id], read, shows)
        return {"lights": lights.raw()}

    def _read_lights(self, stand: Stand, place: Place, detect: Detect) -> dict[str, TrafficLightView]:
        """The recognized states by signal id, after a reader has seen several pictures."""
        ego = stand.world.truth().ego
        reader, read = LightReader(stand.world.lane_graph), {}
        for frame in range(WARM_FRAMES // 2 + VOTES):
            sensors = stand.world.tick()
            image = sensors.cameras[self._camera.name]
            if frame >= WARM_FRAMES // 2:
                read = dict(reader.update(ego_at(sensors, ego, place), detect(image), image))
        return read

    def _standing(self) -> Stand:
        if self._stand is None:
            self._stand = Stand(self._address, self._spec(0, 0))
        return self._stand

    def _survey(self, number: int) -> Survey:
        """Start a drive; tries up to five starts, since one may be occupied. Raises WorldError if all are."""
        for attempt in range(5):
            try:
                return Survey(self._address, self._spec(13 * number + 5 * attempt + 1, VEHICLES))
            except WorldError as error:
                if "is taken" not in str(error):
                    raise
        raise WorldError(f"map {self._map}: no free start for a drive")

    def _spec(self, start: int, vehicles: int) -> WorldSpec:
        at = spawn_point(self._address, self._seed + start)
        xodr = embedded_town(self._map)
        return WorldSpec(self._map, at, (at,), self._rig, seed=self._seed + start, traffic_vehicles=vehicles, xodr=xodr)


def spawn_point(address: Address, number: int) -> tuple[float, float]:
    """(x, y) in CARLA's coordinates of one of the loaded map's spawn points."""
    client = connect(address)
    points = client.get_world().get_map().get_spawn_points()
    if not points:
        raise WorldError(f"the map at {address} has no spawn points")
    at = points[number % len(points)].location
    return float(at.x), float(at.y)


def lane_point(address: Address, rng: np.random.Generator) -> tuple[float, float]:
    """(x, y) in CARLA's coordinates on a driving lane of the loaded map, outside its junctions."""
    client = connect(address)
    points = client.get_world().get_map().generate_waypoints(8.0)
    points = [point for point in points if not point.is_junction and str(point.lane_type) == "Driving"]
    if not points:
        raise WorldError(f"the map at {address} has no driving lanes")
    at = points[int(rng.integers(len(points)))].transform.location
    return float(at.x), float(at.y)


def visit_path(out: Path, name: str) -> Path:
    return out / "visits" / f"{name}.json"
