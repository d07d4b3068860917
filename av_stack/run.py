"""Runs one scenario: builds the world, drives to the end, and writes recording, video and result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from av_core.errors import AvStackError, WorldError
from av_core.types import SensorFrame, StepResult, Truth
from av_stack.checks import check_known, check_map, check_out_folder, check_weights
from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.mission import mission_route, world_spec
from av_stack.pipeline import ORACLES, Pipeline, Settings
from av_stack.recording.recorder import DriveFolder, Recorder
from av_stack.report import Statistics, result
from av_stack.server_process import ServerProcess, embedded_maps
from av_stack.server_watchdog import ServerWatchdog
from av_stack.world.base import World
from av_stack.world.carla_world import CarlaWorld, weather_presets
from av_stack.world.spec import DEFAULT_STEP_S, Address
from perception.detection.weights import SHIPPED
from perception.device import build_backend
from scenarios.judge import Judge
from scenarios.model import Scenario
from sim_configs.load import load_rig, load_stack, load_weather

STANDING_MPS = 0.1
"""Below this speed the ego counts as standing."""

DEFAULT_RIG = {"cpu": "compact", "cuda": "full"}
"""The rig by the device that perception runs on, where neither the options nor the scenario name one."""

Watcher = Callable[[SensorFrame, StepResult, Truth, "Judge"], None]
"""Function that is called after every step."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Content of result.json, and the exit status of the command."""

    figures: dict[str, Any]
    exit_status: int


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a scenario. Without `address` the embedded server is started, with the maps in the folder `maps`
    added.
    """

    address: Address | None = None
    maps: Path | None = None
    out: Path | None = None
    oracles: Sequence[str] = ()
    weights: Path | None = None  # weights of a detector, instead of the shipped ones
    device: str = "cpu"  # where perception runs: "cuda" or "cpu"
    rig: str | None = None  # a name or a file, instead of the scenario's rig
    abandon: Callable[[str, int], None] | None = None
    """Ends the process with this message and status when the server is lost; see `server_watchdog`."""


def run(scenario: Scenario, options: Options, watch: Watcher | None = None) -> Outcome:
    """Drive `scenario` to its end. Everything is closed and written, also after an error or Ctrl-C during the drive.

    Raises AvStackError for whatever goes wrong before the drive starts. Until then the files of an earlier drive stay.
    """
    check_oracles(options.oracles)
    check_weights(options.weights)
    check_settings(scenario, options.rig, options.address, options.maps)
    rig_name = options.rig or scenario.ego.rig or DEFAULT_RIG[options.device]
    rig, stack = load_rig(rig_name), load_stack(scenario.ego.stack)
    spec = world_spec(scenario, rig, load_weather(scenario.weather, weather_presets()))
    check_out_folder(options.out)
    with ExitStack() as closers:
        folder = closers.enter_context(DriveFolder(options.out)) if options.out is not None else None
        address, own_server = options.address, None
        if address is None:
            maps = ("--maps", str(options.maps)) if options.maps is not None else ()
            own_server = ServerProcess(("--map", scenario.map, "--handling", scenario.handling, *maps))
            address = closers.enter_context(own_server)
        ending = _Ending(address, own_server)
        watchdog = None
        if options.abandon is not None:
            watchdog = ServerWatchdog(address, partial(ending.lose_server, options.abandon))
            closers.callback(watchdog.close)
        try:
            world = CarlaWorld(address, spec)
        except WorldError as error:  # the server knows the reason, for example a missing EGL
            raise WorldError(f"{error}{_server_ending_suffix(own_server)}") from None
        closers.callback(world.close)
        route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, rig.cameras)
        backend = build_backend(
            rig.cameras, needed_weights(options.oracles, options.weights, options.device), options.device
        )
        pipeline = Pipeline(world.lane_graph, world.vehicle, route, settings, world.truth, options.oracles, backend)
        world.show_pictures(pipeline.begin)
        judge = Judge(world.lane_graph, route, world.vehicle, scenario.timeout_s)
        statistics = Statistics(route)
        watchers: list[Watcher] = [lambda _frame, step, truth, _judge: statistics.update(step, truth)]
        if watch is not None:
            watchers.append(watch)
        if watchdog is not None:
            watchers.append(_report_steps(watchdog))
        recorder = None
        if folder is not None:
            folder.clear()
            recorder = Recorder(folder.path, _metadata(scenario), rig.cameras[0], route, DEFAULT_STEP_S)
            closers.callback(recorder.close)
            watchers.append(_record(recorder))

        def finish(end: str, error: str | None, status: int) -> Outcome:
            measured = statistics.figures(judge.in_stop)
            figures = result(
                scenario, rig_name, judge.verdict(end), measured, options.oracles, world.server_version, error
            )
            if folder is None or recorder is None:
                return Outcome(figures, status)
            recorder.close()
            figures["recording_error"] = recorder.error
            folder.write_result(figures)
            return Outcome(figures, status or (AvStackError.exit_status if recorder.error else 0))

        ending.begin(finish)
        statistics.start()
        return ending.finish(*_guarded_drive(world, pipeline, judge, watchers))


Finish = Callable[[str, str | None, int], Outcome]
"""Closes the files of a drive and writes its result; arguments: how the drive ended, error, exit status."""


class _Ending:
    """Ends a drive exactly once, whichever thread asks first: the main thread, or the one that watches the server."""

    def __init__(self, address: Address, own_server: ServerProcess | None) -> None:
        self._address = address
        self._own_server = own_server
        self._lock = threading.Lock()
        self._finish: Finish | None = None
        self._outcome: Outcome | None = None

    def begin(self, finish: Finish) -> None:
        """The drive begins: from now on there is a result to write."""
        self._finish = finish

    def finish(self, end: str, error: str | None, status: int) -> Outcome:
        """Finish the drive, unless that was done already; returns its outcome."""
        with self._lock:
            assert self._finish is not None
            if self._outcome is None:
                self._outcome = self._finish(end, error, status)
            return self._outcome

    def lose_server(self, abandon: Callable[[str, int], None]) -> None:
        """The server is lost: end the drive, the server if it is the embedded one, and the process."""
        error = WorldError(f"the CARLA server at {self._address} went away{_server_ending_suffix(self._own_server)}")
        try:
            if self._finish is not None:
                self.finish("error", str(error), error.exit_status)
        finally:
            if self._own_server is not None:
                self._own_server.kill()  # the server may be frozen
            abandon(str(error), error.exit_status)


def drive(world: World, pipeline: Pipeline, judge: Judge, watchers: Sequence[Watcher]) -> str:
    """The main loop: tick, decide, act until the drive is over; returns why it ended."""
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


def check_settings(scenario: Scenario, rig: str | None, address: Address | None, maps: Path | None) -> None:
    """Raise ConfigError where a rig, stack configuration, weather or map that `scenario` names cannot be used.

    `rig` replaces the scenario's own. Maps are checked only without `address`, since only the embedded server's are
    known beforehand.
    """
    for name in (rig, scenario.ego.rig):
        if name is not None:
            load_rig(name)
    load_stack(scenario.ego.stack)
    load_weather(scenario.weather, weather_presets())
    if address is None:
        check_map(scenario.map, embedded_maps(maps))


def check_oracles(oracles: Sequence[str]) -> None:
    """Raise ConfigError unless every name in `oracles` is one of `ORACLES`; without any, the camera alone is used."""
    check_known("--oracle", oracles, ORACLES)


def needed_weights(oracles: Sequence[str], weights: Path | None = None, device: str = "cpu") -> Path | None:
    """The weights of the detector; None where oracles replace it entirely.

    Without `weights` they are the shipped ones for `device`, "cuda" or "cpu".
    """
    if set(oracles) >= set(ORACLES):
        return None
    return weights or SHIPPED[device]


def _guarded_drive(
    world: World, pipeline: Pipeline, judge: Judge, watchers: Sequence[Watcher]
) -> tuple[str, str | None, int]:
    """(how the drive ended, error, exit status); the status is 0 even for bad driving, which the score reflects."""
    try:
        return drive(world, pipeline, judge, watchers), None, 0
    except AvStackError as error:
        return "error", str(error), error.exit_status
    except KeyboardInterrupt:
        return "interrupted", "interrupted", INTERRUPTED_STATUS


def _server_ending_suffix(server: ServerProcess | None) -> str:
    """How the server ended, as the end of an error message; empty when there is nothing to say."""
    ending = server.ending() if server is not None else ""
    return f"; {ending}" if ending else ""


def _metadata(scenario: Scenario) -> dict[str, Any]:
    return {"scenario": scenario.name, "map": scenario.map, "weather": scenario.weather, "seed": scenario.seed}


def _report_steps(watchdog: ServerWatchdog) -> Watcher:
    return lambda _frame, _step, _truth, _judge: watchdog.beat()


def _record(recorder: Recorder) -> Watcher:
    return lambda frame, step, truth, judge: recorder.write(frame, step, truth, judge.progress_m)
