"""Records one drive: pictures of the cameras on the ego, and the expert's decision for each of them.

The expert drives. With DAgger (Ross et al., 2011) the imitation drives for part of the time, and the expert's decisions
are recorded all the same.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from av_core.errors import WorldError
from av_core.types import CameraModel, ControlCommand, Float, Pose2D, Rig, SensorFrame
from av_stack.agents.base import Agent
from av_stack.imitation.choice import RIG, make_imitation
from av_stack.imitation.expert import Decision, Expert
from av_stack.imitation.geometry import beside, mounted_beside, path_points, seen_from
from av_stack.imitation.pointer import RoutePointer
from av_stack.mission import mission_route, world_spec
from av_stack.world.carla.capture.sample_cameras import SampleCameras
from av_stack.world.carla.weather import weather_presets
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from perception.imitation.samples import Samples, cause_of, encode, parts_of
from planning import Route
from scenarios.judging.judge import Judge
from scenarios.model import Scenario
from sim_configs.load import StackConfig, load_rig, load_stack, load_weather

PERIOD_S = 0.25
"""Time between two moments with pictures."""

LEFT_M = (0.2, 1.0)
"""Smallest and largest offset of a shifted camera to one side."""

TURNED_RAD = float(np.radians(5.0))
"""Largest angle by which a shifted camera is turned, to either side."""

STANDING_MPS = 0.1
"""Speed below which the ego stands."""

STANDING_EVERY = 4
"""While the ego stands and the expert wants it to stand, only one of this many moments is kept."""

SWITCH_S = 2.0
"""With DAgger, time between two random choices of the driver: the expert or the imitation."""

PENDING_FRAMES = 40
"""Largest number of ticks after which the pictures of a tick arrive."""

SILENCE_MAX_S = 60.0
"""Longest time that the server may take for its first pictures."""

LAST_PICTURES_S = 0.5
"""Wall time for the last pictures to arrive."""


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """How a drive is recorded.

    * `moments`: largest number of moments with pictures.
    * `shifted`: number of cameras that are shifted to the side, in addition to the one in the middle.
    * `weights`: weights of the imitation that drives instead of the expert, except for the fraction `expert_share` of
      the time; None if the expert drives alone.
    """

    moments: int = 60
    shifted: int = 2
    weights: Path | None = None
    expert_share: float = 1.0


@dataclass(frozen=True, slots=True)
class View:
    """A camera on the ego as it would be on a car beside it: that car's place, and the mount on the ego."""

    left_m: float
    turned_rad: float
    camera: CameraModel


@dataclass(frozen=True, slots=True)
class _Moment:
    """The data that belong to the pictures of one tick; points are in the map frame."""

    pose: Pose2D
    estimate: Pose2D
    speed_mps: float
    route_m: Float
    path_m: Float
    target_mps: float
    cause: tuple[int, float]


def draw_views(camera: CameraModel, shifted: int, rng: np.random.Generator) -> tuple[View, ...]:
    """The middle camera and `shifted` ones, by turns to the left and to the right."""
    views = [View(0.0, 0.0, replace(camera, name="view0"))]
    for number in range(shifted):
        left_m = float(rng.uniform(*LEFT_M)) * (1.0 if number % 2 == 0 else -1.0)
        turned_rad = float(rng.uniform(-TURNED_RAD, TURNED_RAD))
        views.append(View(left_m, turned_rad, mounted_beside(camera, f"view{number + 1}", left_m, turned_rad)))
    return tuple(views)


def record_drive(
    address: Address, scenario: Scenario, options: DriveOptions, seed: Sequence[int]
) -> tuple[Samples, dict[str, Any]]:
    """Drive `scenario` on the server, and return its samples and facts.

    Raises WorldError where the server is lost, or sends no pictures.
    """
    rng = np.random.default_rng([*seed, 5])
    camera = load_rig(RIG).cameras[0]
    views = draw_views(camera, options.shifted, rng)
    rig = Rig((camera,) if options.weights is not None else ())
    stack = load_stack(scenario.ego.stack)
    spec = world_spec(scenario, rig, load_weather(scenario.weather, weather_presets()))
    world = CarlaWorld(address, spec, SILENCE_MAX_S)
    try:
        route = mission_route(world.lane_graph, scenario, stack.planning)
        cameras = SampleCameras(world, [view.camera for view in views], PERIOD_S)
        drive = _Drive(world, route, scenario, stack, options, rng)
        notes = _Notes(views, options.moments)
        while drive.end is None and not notes.is_full:
            frame, decision = drive.step()
            notes.add(frame, drive.pointer.update(frame), decision, route)
            notes.take(cameras)
        time.sleep(LAST_PICTURES_S)
        notes.take(cameras)
        samples = notes.samples()
        if not len(samples):
            raise WorldError(f"{scenario.name}: the server sent no pictures of all {len(views)} cameras for one tick")
        return samples, {
            "map": scenario.map,
            "weather": scenario.weather,
            "vehicles": scenario.traffic.vehicles,
            "scenario_seed": scenario.seed,
            "route": scenario.route.model_dump(mode="json"),
            "views": [{"left_m": view.left_m, "turned_rad": view.turned_rad} for view in views],
            "expert_share": options.expert_share,
            "driven_by_expert": drive.expert_fraction,
            "time_s": round(drive.time_s, 3),
            "end": drive.end or "enough pictures",
        }
    finally:
        world.close()


class _Drive:
    """Steps the world with the expert, or the imitation, at the wheel."""

    def __init__(
        self,
        world: CarlaWorld,
        route: Route,
        scenario: Scenario,
        stack: StackConfig,
        options: DriveOptions,
        rng: np.random.Generator,
    ) -> None:
        graph, vehicle = world.lane_graph, world.vehicle
        self._world, self._rng, self._share = world, rng, options.expert_share
        camera = load_rig(RIG).cameras[0]
        self._expert = Expert(graph, vehicle, route, stack, world.truth, camera)
        self._judge = Judge(graph, route, vehicle, scenario.timeout_s)
        self._pupil: Agent | None = None
        if options.weights is not None:
            self._pupil = make_imitation(world, route, camera.name, stack.control, options.weights)
        self.pointer = RoutePointer(graph, route)
        self.end: str | None = None
        self.time_s = 0.0
        self._ticks = self._expert_ticks = 0
        self._is_expert = True

    @property
    def expert_fraction(self) -> float:
        """The part of the ticks in which the expert drove."""
        return round(self._expert_ticks / max(self._ticks, 1), 3)

    def step(self) -> tuple[SensorFrame, Decision]:
        """One tick: the frame, and the expert's decision about it."""
        frame, truth = self._world.tick(), self._world.truth()
        end = self._judge.update(truth)
        decision = self._expert.step(frame)
        self._world.apply(self._command(frame, decision))
        self._ticks += 1
        self.time_s = truth.stamp.time_s
        if truth.collisions:
            self.end = "collision"  # the expert's decisions after a collision are no examples
        elif self._judge.is_arrived:
            self.end = "arrived"
        elif end is not None:
            self.end = end.split(":")[0]
        return frame, decision

    def _command(self, frame: SensorFrame, decision: Decision) -> ControlCommand:
        if self._pupil is None:
            self._expert_ticks += 1
            return decision.command
        wanted = self._pupil.step(frame).command
        if self._ticks % round(SWITCH_S / self._world.episode.spec.step_s) == 0:
            self._is_expert = bool(self._rng.uniform() < self._share)
        self._expert_ticks += self._is_expert
        return decision.command if self._is_expert or wanted is None else wanted


class _Notes:
    """Joins the pictures, which arrive a little after their tick, with the data of the tick."""

    def __init__(self, views: Sequence[View], moments: int) -> None:
        self._views, self._most = views, moments
        self._pending: dict[int, _Moment] = {}
        self._order: deque[int] = deque()
        self._stood = 0
        self._rows: list[tuple[bytes, bytes, float, Float, Float, float, int, float, int, int]] = []

    @property
    def is_full(self) -> bool:
        return len(self._rows) >= self._most * len(self._views)

    def add(self, frame: SensorFrame, pointed: tuple[Any, Float], decision: Decision, route: Route) -> None:
        """Note one tick. A plan that leads backwards is no example."""
        if decision.plan.reverses:
            return
        ego, estimate = decision.ego, pointed[0]
        moment = _Moment(
            Pose2D(ego.x_m, ego.y_m, ego.yaw_rad),
            Pose2D(estimate.x_m, estimate.y_m, estimate.yaw_rad),
            frame.wheel_speed_mps,
            pointed[1],
            path_points(decision.plan, route),
            decision.target_mps,
            cause_of(decision.plan.constraint),
        )
        self._pending[frame.stamp.frame] = moment
        self._order.append(frame.stamp.frame)
        while len(self._order) > PENDING_FRAMES:
            self._pending.pop(self._order.popleft(), None)

    def take(self, cameras: SampleCameras) -> None:
        """Make samples of the pictures that have arrived."""
        for frame, pictures in sorted(cameras.take().items()):
            moment = self._pending.pop(frame, None)
            if moment is None or self.is_full or not self._is_kept(moment):
                continue
            for number, view in enumerate(self._views):
                true = beside(moment.pose, view.left_m, view.turned_rad)
                estimated = beside(moment.estimate, view.left_m, view.turned_rad)
                whole, far = parts_of(pictures[view.camera.name])
                self._rows.append(
                    (
                        encode(whole),
                        encode(far),
                        moment.speed_mps,
                        seen_from(moment.route_m, estimated),
                        seen_from(moment.path_m, true),
                        moment.target_mps,
                        *moment.cause,
                        number,
                        frame,
                    )
                )

    def _is_kept(self, moment: _Moment) -> bool:
        if max(moment.speed_mps, moment.target_mps) >= STANDING_MPS:
            self._stood = 0
            return True
        self._stood += 1
        return self._stood % STANDING_EVERY == 1

    def samples(self) -> Samples:
        """All samples so far."""
        columns = list(zip(*self._rows, strict=True)) if self._rows else [()] * 10
        jpeg, far, speed, route, path, target, cause, cause_m, view, frame = columns
        return Samples(
            list(jpeg),
            list(far),
            np.array(speed, np.float32),
            np.array(route, np.float32),
            np.array(path, np.float32),
            np.array(target, np.float32),
            np.array(cause, np.uint8),
            np.array(cause_m, np.float32),
            np.array(view, np.uint8),
            np.array(frame, np.int32),
        )
