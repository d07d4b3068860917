"""Runs one scenario: builds the world, drives to the end, and writes recording, video and result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from av_core.errors import AgentError, AvStackError, WorldError
from av_core.types import Rig, SensorFrame, Truth
from av_stack.agents.base import Agent, AgentStep
from av_stack.agents.custom import AgentSetup
from av_stack.agents.factory import AgentChoice, choose_agent, make_agent
from av_stack.agents.guard import STEP_LIMIT_S
from av_stack.agents.names import IMITATION, STACK
from av_stack.agents.stack import StackAgent
from av_stack.assembly import DETECTOR_ORACLES, ORACLES, Settings, build_pipeline
from av_stack.checks import check_known, check_map, check_out_folder, check_weights
from av_stack.director import Director
from av_stack.ending import AGENT_ERROR, Ending, Server
from av_stack.faults.fault import Fault, check_faults
from av_stack.faults.world import FaultyWorld
from av_stack.imitation.choice import RIG as IMITATION_RIG
from av_stack.imitation.choice import check_imitation, chosen_weights, make_imitation
from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.mission import mission_route, world_spec
from av_stack.recording.exact.setup import EMBEDDED, DriveSetup
from av_stack.recording.map_topic import map_message
from av_stack.recording.recorder import DriveFolder
from av_stack.results.drive_log import DriveFacts, DriveLog, Outcome
from av_stack.results.report import Played
from av_stack.server_process import ServerProcess, embedded_maps
from av_stack.server_watchdog import ServerWatchdog
from av_stack.suite.fingerprint import version
from av_stack.suite.job import DIGEST_CHARS
from av_stack.supervisor import StallWatchdog
from av_stack.viewing.stop import StoppingAgent, StopRequest
from av_stack.viewing.viewer import DriveStep, ViewedDrive, Viewer
from av_stack.world.base import World
from av_stack.world.carla.weather import weather_presets
from av_stack.world.factory import open_world
from av_stack.world.spec import Address, WorldSpec
from perception.detection.weights import SHIPPED
from perception.device import build_backend
from planning import Route, continued
from scenarios.judging.judge import Judge
from scenarios.model import Scenario
from scenarios.weather_course import start_weather
from sim_configs.load import StackConfig, load_rig, load_stack, load_weather

STANDING_MPS = 0.1
"""Below this speed the ego counts as standing."""

END_OF_WORLD = "end of the recorded world"
"""Reason for the end of a drive in a recorded world that ends before the drive is over."""

DEFAULT_RIG = {"cpu": "compact", "cuda": "full"}
"""Default rig for each device that perception can run on; the options or the scenario may name another one."""

NO_RIG = "none"
"""Name of the rig in a result if the agent uses no cameras, and no pictures are rendered."""

RECORD_EXACT, RECORD_SMALL, RECORD_NONE = "exact", "small", "none"
RECORDS = (RECORD_EXACT, RECORD_SMALL, RECORD_NONE)
"""What is recorded: "exact" is everything, with lossless pictures; "small" is the same without the lossless pictures;
"none" is nothing, not even a video."""

Watcher = Callable[[SensorFrame, AgentStep, Truth, Judge], None]
"""Function that is called after every step."""

Wrap = Callable[[Agent], Agent]
"""Function that returns an agent to drive with instead of the given one."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run a scenario.

    If the agent uses no cameras, the drive has cameras only if `rig` names some; they are used for the video.
    """

    address: Address | None = None  # of a running CARLA server; None starts the embedded server
    maps: Path | None = None  # folder with more maps for the embedded server
    out: Path | None = None  # folder for the files of the drive; None writes none
    oracles: Sequence[str] = ()  # modules whose output comes from the simulator's truth, from `assembly.ORACLES`
    weights: Path | None = None  # weights for the detector or the imitation, instead of the shipped ones
    device: str = "cpu"  # where perception runs: "cuda" or "cpu"
    rig: str | None = None  # a name or a file, instead of the scenario's rig
    agent: str = STACK  # the agent that drives the ego, by name
    agents: Path | None = None  # folder with CARLA's own agents, which two of the agent names need
    step_limit_s: float | None = None  # longest time for a step of an agent of the user's own
    record: str = RECORD_SMALL  # one of `RECORDS`
    faults: Sequence[Fault] = ()  # faults of sensors, control and server during the drive
    viewers: Sequence[Viewer] = ()  # viewers that show the drive while it runs
    stop: StopRequest | None = None  # lets another thread stop the ego and then end the drive as Ctrl-C does
    abandon: Callable[[str, int], None] | None = None
    """Function (message, exit status) that ends the process when the server is lost; see `server_watchdog`."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The agent, rig, stack configuration and world that a scenario and its options name, loaded and checked."""

    agent: AgentChoice
    rig_name: str
    rig: Rig
    stack: StackConfig
    spec: WorldSpec


def run(scenario: Scenario, options: Options, watch: Watcher | None = None) -> Outcome:
    """Drive `scenario` to its end; returns the outcome.

    After an error or Ctrl-C during the drive, all files are written and closed, too. Raises AvStackError for an error
    before the drive starts; in this case the files of an earlier drive in the same folder stay.
    """
    return run_loaded(scenario, load(scenario, options), options, [watch] if watch is not None else [])


def run_loaded(
    scenario: Scenario, setup: Setup, options: Options, watchers: Sequence[Watcher], wrap: Wrap = lambda agent: agent
) -> Outcome:
    """As `run`, with a `setup` that is loaded already.

    The agent that `wrap` returns for the setup's agent drives the ego. `watchers` are called after every step; an
    AvStackError from one of them ends the drive with this error.
    """
    watchers = list(watchers)
    with ExitStack() as closers:
        folder = closers.enter_context(DriveFolder(options.out)) if options.out is not None else None
        server = closers.enter_context(_server(scenario, options))
        ending = Ending(server)
        if options.abandon is not None:
            lose = partial(ending.lose_server, options.abandon)
            watchdog = ServerWatchdog(server.address, lose, ending.has_lost_server)
            closers.callback(watchdog.close)
            watchers.append(lambda *_: watchdog.beat())
        world = _open_world(server, setup.spec)
        closers.callback(world.close)
        route = mission_route(world.lane_graph, scenario, setup.stack.planning)
        driven = _with_faults(world, server, scenario, setup, options) if options.faults else world
        # CARLA's own agents use no sensors, so the faults of sensors and control must not affect them
        seen = driven if options.agent in (STACK, IMITATION) else world
        own_agent = _agent(seen, route, setup, options, passes_end=scenario.route_id is not None)
        if options.abandon is not None and isinstance(own_agent, StackAgent):
            stalls = StallWatchdog(own_agent.running_stage, partial(ending.lose_stage, options.abandon))
            closers.callback(stalls.close)
        agent = wrap(own_agent)
        if options.stop is not None:
            agent = stopping = StoppingAgent(agent, options.stop)
        closers.callback(agent.close)
        judge = Judge(world.lane_graph, route, world.vehicle, scenario.timeout_s)
        director = Director(world, route, scenario, setup.spec.step_s, judge.scenarios)
        played = Played(director.fired_s, director.parts)
        facts = DriveFacts(
            scenario,
            setup.rig_name,
            options.oracles,
            world.server_version,
            played,
            options.agent,
            tuple(map(str, options.faults)),
        )
        camera = setup.rig.cameras[0] if setup.rig.cameras else None
        recorded = None if options.record == RECORD_NONE else _drive_setup(world, scenario, setup, options)
        log = DriveLog(facts, judge, route, folder, camera, world.lane_graph, recorded)
        closers.callback(log.close)
        watchers.append(lambda frame, step, truth, _: log.update(frame, step, truth))
        watchers.append(lambda _frame, _step, truth, judge: director.update(truth, judge.progress_m))
        watchers += _viewers(world, scenario, route, setup, options)
        if options.stop is not None:
            watchers.append(stopping.end_when_stopped)
        ending.begin(log.finish)
        log.start()
        must_stop = scenario.route_id is None
        outcome = ending.finish(*_guarded_drive(driven, agent, judge, watchers, must_stop=must_stop))
        for viewer in options.viewers:
            viewer.end(str(outcome.figures["end"]))
        return outcome


def drive(world: World, agent: Agent, judge: Judge, watchers: Sequence[Watcher] = (), *, must_stop: bool = True) -> str:
    """The main loop: tick, decide, act, until the drive or the world is over; returns the reason for the end.

    With `must_stop` the ego has arrived when it stands at the end of its route; without, as soon as it reaches the end.
    """
    while (frame := world.tick()) is not None:
        truth = world.truth()
        end = judge.update(truth)
        step = agent.step(frame)
        if step.command is not None:
            world.apply(step.command)
        for watch in watchers:
            watch(frame, step, truth, judge)
        has_stopped = abs(truth.ego_speed_mps) < STANDING_MPS or not must_stop
        if judge.is_arrived and (has_stopped or step.result is None):  # only the stack plans to stop at the end
            return "arrived"
        if end is not None:
            return end
    return END_OF_WORLD


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
    """Raise ConfigError unless every name in `oracles` is one of `ORACLES`; without any, the sensors alone are used."""
    check_known("--oracle", oracles, ORACLES)


def needed_weights(oracles: Sequence[str], weights: Path | None = None, device: str = "cpu") -> Path | None:
    """The weights of the detector; None where oracles replace it entirely.

    Without `weights` they are the shipped ones for `device`, "cuda" or "cpu".
    """
    if set(oracles) >= set(DETECTOR_ORACLES):
        return None
    return weights or SHIPPED[device]


def _viewers(world: World, scenario: Scenario, route: Route, setup: Setup, options: Options) -> Sequence[Watcher]:
    """The watcher that shows every step to the viewers; empty without viewers."""
    if not options.viewers:
        return ()
    roads = map_message(world.lane_graph, route)
    viewed = ViewedDrive(scenario.name, options.agent, roads, setup.rig, world.vehicle)
    for viewer in options.viewers:
        viewer.begin(viewed)

    def show(frame: SensorFrame, step: AgentStep, truth: Truth, judge: Judge) -> None:
        seen = DriveStep(frame, step, truth, judge.progress)
        for viewer in options.viewers:
            viewer.show(seen)

    return (show,)


def _drive_setup(world: World, scenario: Scenario, setup: Setup, options: Options) -> DriveSetup:
    """The setup of the drive, which the recording holds for a later replay."""
    weights = None
    if options.agent == IMITATION:
        weights = chosen_weights(options.weights)
    elif options.agent == STACK:
        weights = needed_weights(options.oracles, options.weights, options.device)
    return DriveSetup(
        map_name=world.lane_graph.name,
        map_text=world.map_text,
        vehicle=world.vehicle,
        rig=setup.rig,
        scenario=scenario.model_dump_json(),
        stack=setup.stack.model_dump_json(),
        seed=scenario.seed,
        agent=options.agent,
        oracles=tuple(options.oracles),
        device=options.device,
        weights=weights_label(weights),
        server_version=world.server_version,
        versions=version(),
        step_s=setup.spec.step_s,
        has_pictures=options.record == RECORD_EXACT,
        server=EMBEDDED if options.address is None else str(options.address),
    )


def weights_label(weights: Path | None) -> str:
    """The name of a weights file with a digest of its content; empty without one."""
    if weights is None:
        return ""
    return f"{weights.name} {hashlib.sha256(weights.read_bytes()).hexdigest()[:DIGEST_CHARS]}"


def load(scenario: Scenario, options: Options) -> Setup:
    """Check the options, and load what the scenario names. Raises ConfigError."""
    check_known("--record", [options.record], RECORDS)
    agent = choose_agent(options.agent, options.agents)
    check_oracles(options.oracles)
    check_weights(options.weights)
    check_settings(scenario, options.rig, options.address, options.maps)
    rig_name = options.rig or scenario.ego.rig or DEFAULT_RIG[options.device]
    if options.agent == IMITATION:
        check_imitation(options.rig)
        rig_name = IMITATION_RIG
    rig = load_rig(rig_name)
    if options.rig is None and not agent.uses_cameras:
        rig_name, rig = NO_RIG, replace(rig, cameras=())
    if not agent.uses_cameras or "detection" in options.oracles:
        rig = replace(rig, radars=())  # nobody would look at their sweeps
    keyframes = scenario.weather_keyframes
    weather = start_weather(keyframes) if keyframes else load_weather(scenario.weather, weather_presets())
    check_faults(
        options.faults,
        has_cameras=bool(rig.cameras),
        has_radars=bool(rig.radars),
        has_own_server=options.address is None,
    )
    spec = world_spec(scenario, rig, weather)
    check_out_folder(options.out)
    return Setup(agent, rig_name, rig, load_stack(scenario.ego.stack), spec)


@contextmanager
def _server(scenario: Scenario, options: Options) -> Iterator[Server]:
    """The server that the options name, or an embedded server that is started here and ends with the context."""
    if options.address is not None:
        yield Server(options.address)
        return
    maps = ("--maps", str(options.maps)) if options.maps is not None else ()
    own = ServerProcess(("--map", scenario.map, "--handling", scenario.handling, *maps))
    with own as address:
        yield Server(address, own)


def _open_world(server: Server, spec: WorldSpec) -> World:
    try:
        return open_world(server.address, spec)
    except WorldError as error:  # the server knows the reason, for example a missing EGL
        raise WorldError(server.explain(str(error))) from None


def _with_faults(world: World, server: Server, scenario: Scenario, setup: Setup, options: Options) -> World:
    front = setup.rig.cameras[0].name if setup.rig.cameras else ""
    send_signal = server.own.send_signal if server.own is not None else None
    return FaultyWorld(world, options.faults, front, scenario.seed, send_signal)


def _agent(world: World, route: Route, setup: Setup, options: Options, *, passes_end: bool) -> Agent:
    """The agent that the options name, ready to drive in this world.

    With `passes_end` the stack does not stop where the route ends.
    """
    if options.agent == IMITATION:
        camera, weights = setup.rig.cameras[0].name, chosen_weights(options.weights)
        return make_imitation(world, route, camera, setup.stack.control, weights, options.device)
    if options.agent == STACK:
        if passes_end:
            route = continued(world.lane_graph, route, setup.stack.planning.route)
        return _stack(world, route, setup, options)
    told = AgentSetup(route, world.vehicle, world.lane_graph, setup.rig, setup.spec.step_s, setup.spec.seed)
    return make_agent(setup.agent, world, told, options.step_limit_s or STEP_LIMIT_S)


def _stack(world: World, route: Route, setup: Setup, options: Options) -> StackAgent:
    """The stack as an agent; `world` passes it each picture as soon as it arrives."""
    cameras = setup.rig.cameras
    settings = Settings(setup.stack.planning, setup.stack.control, cameras, setup.rig.radars)
    weights = needed_weights(options.oracles, options.weights, options.device)
    backend = build_backend(cameras, weights, options.device)
    pipeline = build_pipeline(world.lane_graph, world.vehicle, route, settings, world.truth, options.oracles, backend)
    world.show_pictures(pipeline.begin)
    return StackAgent(pipeline)


def _guarded_drive(
    world: World, agent: Agent, judge: Judge, watchers: Sequence[Watcher], *, must_stop: bool
) -> tuple[str, str | None, int]:
    """(how the drive ended, error, exit status); the status is 0 even for bad driving, which the score reflects."""
    try:
        return drive(world, agent, judge, watchers, must_stop=must_stop), None, 0
    except AgentError as error:
        return AGENT_ERROR, str(error), error.exit_status
    except AvStackError as error:
        return "error", str(error), error.exit_status
    except KeyboardInterrupt:
        return "interrupted", "interrupted", INTERRUPTED_STATUS
