"""What recording costs the loop: one drive, whose blocks of steps are in turn not recorded, recorded small, and exact.

All kinds meet the same load of the machine, and each block is held against the unrecorded one of its round.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from av_core.types import SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.assembly import Settings, build_pipeline
from av_stack.mission import mission_route, world_spec
from av_stack.pipeline import Pipeline
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.recorder import Recorder
from av_stack.run import needed_weights
from av_stack.server_process import ServerProcess
from av_stack.world.base import World
from av_stack.world.carla.world import CarlaWorld
from perception.device import build_backend
from scenarios.judging.judge import Judge
from scenarios.model import load_scenario
from sim_configs.load import load_rig, load_stack

KINDS = ("none", "small without video", "small", "exact")
BLOCK_STEPS, WARM_UP_STEPS = 15, 60
SETTLE_S = 0.2
"""Time between blocks, in which the writing threads finish."""


def measure_cost(rounds: int) -> dict[str, Any]:
    """Median time of a step by kind, the median over the rounds of its ratio to "none", and CPU time of the process."""
    wall: dict[str, list[float]] = {kind: [] for kind in KINDS}
    cpu: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with ExitStack() as closers:
        loop = _Loop(closers)
        for _ in range(WARM_UP_STEPS):
            loop.step(None)
        for number in range(rounds):
            for place in range(len(KINDS)):
                kind = KINDS[(number + place) % len(KINDS)]  # no kind is always the first
                loop.step(loop.recorders.get(kind))
                wall_s, cpu_s = time.perf_counter(), time.process_time()
                for _ in range(BLOCK_STEPS):
                    loop.step(loop.recorders.get(kind))
                wall[kind].append(1e3 * (time.perf_counter() - wall_s) / BLOCK_STEPS)
                time.sleep(SETTLE_S)
                cpu[kind].append(1e3 * (time.process_time() - cpu_s) / BLOCK_STEPS)
        dropped = {kind: recorder.dropped_steps for kind, recorder in loop.recorders.items()}
    return {
        "rounds": rounds,
        "block_steps": BLOCK_STEPS,
        "step_ms": {kind: round(float(np.median(values)), 2) for kind, values in wall.items()},
        "step_percent_more": {kind: _more_percent(wall, kind) for kind in KINDS[1:]},
        "cpu_ms_more": {
            kind: round(float(np.median(np.subtract(cpu[kind], cpu["none"]))), 2) for kind in KINDS[1:]
        },
        "dropped_steps": dropped,
    }  # fmt: skip


def _more_percent(wall: Mapping[str, list[float]], kind: str) -> dict[str, float]:
    """The median ratio, and the quartiles, which show how much the machine's other work adds."""
    ratios = 100 * (np.divide(wall[kind], wall["none"]) - 1.0)
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return {"median": round(float(middle), 1), "quartiles": [round(float(low), 1), round(float(high), 1)]}  # type: ignore[dict-item]


class _Loop:
    """A drive of the stack, with a recorder of each kind."""

    def __init__(self, closers: ExitStack) -> None:
        scenario, rig = load_scenario("town_drive"), load_rig("compact")
        stack = load_stack(scenario.ego.stack)
        address = closers.enter_context(ServerProcess(("--map", scenario.map)))
        self._world: World = CarlaWorld(address, world_spec(scenario, rig, scenario.weather))
        closers.callback(self._world.close)
        world = self._world
        route = mission_route(world.lane_graph, scenario, stack.planning)
        settings = Settings(stack.planning, stack.control, rig.cameras)
        backend = build_backend(rig.cameras, needed_weights(()), "cpu")
        self._pipeline: Pipeline = build_pipeline(
            world.lane_graph, world.vehicle, route, settings, world.truth, (), backend
        )
        world.show_pictures(self._pipeline.begin)
        self._judge = Judge(world.lane_graph, route, world.vehicle, scenario.timeout_s)
        folder = Path(closers.enter_context(tempfile.TemporaryDirectory()))
        self.recorders: dict[str, Recorder] = {}
        for kind in KINDS[1:]:
            (folder / kind).mkdir()
            camera = None if kind == "small without video" else rig.cameras[0]
            setup = DriveSetup(
                world.lane_graph.name, world.map_text, world.vehicle, rig, "{}", "{}", 1, "stack", (), "cpu", "",
                world.server_version, {}, 0.05, has_pictures=kind == "exact",
            )  # fmt: skip
            self.recorders[kind] = Recorder(folder / kind, {}, camera, world.lane_graph, route, setup)
            closers.callback(self.recorders[kind].close)

    def step(self, recorder: Recorder | None) -> None:
        """One step of the drive, recorded if there is a recorder."""
        frame = self._world.tick()
        assert frame is not None
        truth = self._world.truth()
        self._judge.update(truth)
        result = self._pipeline.step(frame)
        self._world.apply(result.command)
        if recorder is not None:
            self._record(recorder, frame, AgentStep(result.command, result), truth)

    def _record(self, recorder: Recorder, frame: SensorFrame, step: AgentStep, truth: Truth) -> None:
        recorder.write(frame, step, truth, self._judge.progress)
