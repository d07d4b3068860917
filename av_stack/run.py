"""Runs one scenario: builds the world, drives to the end, leaves recording, video and result behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from av_stack.errors import AvStackError, ConfigError, WorldError
from av_stack.lifeguard import Lifeguard
from av_stack.mission import mission_route, world_spec
from av_stack.pipeline import ORACLES, Pipeline, Settings
from av_stack.recording.aside import Aside
from av_stack.recording.overlay import Hud, draw
from av_stack.recording.video import VideoWriter
from av_stack.recording.writer import Recording
from av_stack.report import Statistics, result
from av_stack.server_process import ServerProcess
from av_stack.types import CameraModel, SensorFrame, StepResult, Truth
from av_stack.world.base import World
from av_stack.world.carla_world import CarlaWorld, weather_presets
from av_stack.world.spec import DEFAULT_STEP_S, Address
from perception.detection.weights import SHIPPED
from perception.device import eyes_for
from planning import Route
from scenarios.judge import Judge
from scenarios.model import Scenario
from sim_configs.load import load_rig, load_stack, load_weather

VIDEO_EVERY_STEPS = 2
STANDING_MPS = 0.1
INTERRUPTED_STATUS = 130
DEFAULT_RIG = {"cpu": "compact", "cuda": "full"}
"""By the device that perception runs on."""

Watcher = Callable[[SensorFrame, StepResult, Truth, "Judge"], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What result.json holds, and the status that the command line ends with."""

    figures: dict[str, Any]
    exit_status: int


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a scenario. Without `address` the embedded server is started, with the maps of `maps` added."""

    address: Address | None = None
    maps: Path | None = None
    out: Path | None = None
    oracles: Sequence[str] = ()
    weights: Path | None = None  # a detector's, instead of those shipped
    device: str = "cpu"  # where perception runs, "cuda" or "cpu"
    rig: str | None = None  # a name or a file, instead of the scenario's
    abandon: Callable[[Outcome], None] | None = None  # ends the process when the server is lost, see `lifeguard`


def run(scenario: Scenario, options: Options, watch: Watcher | None = None) -> Outcome:
    """Drive `scenario` to its end; also after an error or Ctrl-C in mid-drive everything is closed and written.

    Raises AvStackError for whatever goes wrong before the drive starts.
    """
    check_oracles(options.oracles)
    if options.weights is not None and not options.weights.is_file():
        raise ConfigError(f"--weights {options.weights}: no such file")
    if options.out is not None:
        _claim(options.out)
    rig_name = options.rig or scenario.ego.rig or DEFAULT_RIG[options.device]
    rig, stack = load_rig(rig_name), load_stack(scenario.ego.stack)
    spec = world_spec(scenario, rig, load_weather(scenario.weather, weather_presets()))
    with ExitStack() as closers:
        address, own_server = options.address, None
        if address is None:
            maps = ("--maps", str(options.maps)) if options.maps is not None else ()
            own_server = ServerProcess(("--map", scenario.map, "--handling", scenario.handling, *maps))
            address = closers.enter_context(own_server)
        try:
            world = CarlaWorld(address, spec)
        except WorldError as error:  # no EGL, for example: the server knows
            raise WorldError(f"{error}{_last_words(own_server)}") from None
        closers.callback(world.close)
        recorders = closers.enter_context(ExitStack())
        route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, rig.cameras)
        eyes = eyes_for(rig.cameras, needed_weights(options.oracles, options.weights, options.device), options.device)
        pipeline = Pipeline(world.lane_graph, world.vehicle, route, settings, world.truth, options.oracles, eyes)
        world.show_pictures(pipeline.begin)
        judge = Judge(world.lane_graph, route, world.vehicle, scenario.timeout_s)
        statistics = Statistics(route)
        watchers: list[Watcher] = [lambda _frame, step, truth, _judge: statistics.update(step, truth)]
        if watch is not None:
            watchers.append(watch)
        if options.out is not None:
            watchers.append(_recorders(options.out, scenario, route, rig.cameras[0], recorders))

        def finish(end: str, error: str | None, status: int) -> Outcome:
            measured = statistics.figures(judge.in_stop)
            figures = result(
                scenario, rig_name, judge.verdict(end), measured, options.oracles, world.server_version, error
            )
            if options.out is not None:
                (options.out / "result.json").write_text(json.dumps(figures, indent=2) + "\n")
            return Outcome(figures, status)

        if options.abandon is not None:
            abandon = options.abandon

            def lost() -> None:
                recorders.close()
                error = WorldError(f"the CARLA server at {address} went away{_last_words(own_server)}")
                abandon(finish("error", str(error), error.exit_status))

            guard = Lifeguard(address, lost)
            closers.callback(guard.close)
            watchers.append(lambda *_: guard.beat())
        statistics.start()
        return finish(*_guarded_drive(world, pipeline, judge, watchers))


def drive(world: World, pipeline: Pipeline, judge: Judge, watchers: Sequence[Watcher]) -> str:
    """Tick, think, act until the drive is over; returns why it is."""
    while True:
        frame = world.tick()
        truth = world.truth()
        end = judge.update(truth)
        step = pipeline.step(frame)
        world.apply(step.command)
        for watch in watchers:
            watch(frame, step, truth, judge)
        if judge.is_arrived and abs(truth.ego_speed_mps) < STANDING_MPS:
            return "arrived"
        if end is not None:
            return end


def check_oracles(oracles: Sequence[str]) -> None:
    """ConfigError unless `oracles` names modules that have one; none at all is the camera alone."""
    for name in oracles:
        if name not in ORACLES:
            raise ConfigError(f"--oracle: unknown module {name}; there are {', '.join(ORACLES)}")


def needed_weights(oracles: Sequence[str], weights: Path | None = None, device: str = "cpu") -> Path | None:
    """Those that the network sees with for what no oracle answers; None where oracles answer for all.

    Without `weights` of the user's own they are the shipped ones for `device`, "cuda" or "cpu".
    """
    if set(oracles) >= set(ORACLES):
        return None
    return weights or SHIPPED[device]


def _guarded_drive(
    world: World, pipeline: Pipeline, judge: Judge, watchers: Sequence[Watcher]
) -> tuple[str, str | None, int]:
    """(how the drive ended, error, exit status); 0 also where the car drove badly: the score says how well."""
    try:
        return drive(world, pipeline, judge, watchers), None, 0
    except AvStackError as error:
        return "error", str(error), error.exit_status
    except KeyboardInterrupt:
        return "interrupted", "interrupted", INTERRUPTED_STATUS


def _last_words(server: ServerProcess | None) -> str:
    return f"; the server's last words: {server.last_words}" if server is not None and server.last_words else ""


def _claim(out: Path) -> None:
    """Make the folder, with no result of an earlier run in it; ConfigError where nothing can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "result.json").unlink(missing_ok=True)
        with TemporaryFile(dir=out) as file:
            file.write(b"a full disk takes an empty file")
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror}") from None


def _recorders(out: Path, scenario: Scenario, route: Route, camera: CameraModel, closers: ExitStack) -> Watcher:
    metadata = {"scenario": scenario.name, "map": scenario.map, "weather": scenario.weather, "seed": scenario.seed}
    recording = Recording(out / "recording.mcap", metadata)
    closers.callback(recording.close)
    fps = round(1.0 / (DEFAULT_STEP_S * VIDEO_EVERY_STEPS))
    video = VideoWriter(out / "drive.mp4", camera.width_px, camera.height_px, fps)
    closers.callback(video.close)
    aside = Aside("recording")  # while the next tick is awaited
    closers.callback(aside.close)

    def write(frame: SensorFrame, step: StepResult, truth: Truth, progress_m: float) -> None:
        recording.write(frame, step, truth)
        if frame.stamp.frame % VIDEO_EVERY_STEPS == 0:
            row = min(int(route.s_m.searchsorted(progress_m)), len(route.s_m) - 1)
            hud = Hud(float(route.speed_limit_mps[row]), progress_m, route.length_m)
            video.write(draw(frame.cameras[camera.name].bgr, camera, step, hud))

    return lambda frame, step, truth, judge: aside.do(partial(write, frame, step, truth, judge.progress_m))
