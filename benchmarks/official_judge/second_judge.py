"""Our judge beside the evaluator's, on the evaluator's own drive: two verdicts on the very same ticks."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import py_trees  # type: ignore[import-not-found]  # the evaluator's

from av_core.frames import map_to_vehicle
from av_core.types import Rig, SensorNoise, Stamp, Truth
from av_stack.mission import mission_route
from av_stack.server_process import embedded_map_files
from av_stack.world.carla.map import read_lane_graph
from av_stack.world.carla.sensors import SensorRig
from av_stack.world.carla.truth import TruthReader, forward_speed_mps, rear_axle_x_m, vehicle_parameters
from benchmarks.official_judge.order import VERDICT, Order
from planning import PlanningConfig
from scenarios.judging.judge import Judge

TRACE = "theirs.csv"

STEP_S = 0.05
TIMEOUT_S = 10.0

RUNNING = "ScenarioRouteNumber"
"""The evaluator's blackboard has a variable of this name and the scenario's number while that scenario runs."""


class SecondJudge:
    """Judges the ego that the evaluator spawned; `close` writes the verdict, and the drive tick by tick.

    Which scenarios run it asks the evaluator; whether one ran out of time, or an emergency vehicle was held up, it
    cannot know, so it never counts these two.
    """

    def __init__(self, world: Any, ego: Any, order: Order) -> None:
        self.scenario = order.scenario()
        self.graph = read_lane_graph(embedded_map_files(Path(order.maps))[self.scenario.map])
        self.route = mission_route(self.graph, self.scenario, PlanningConfig())
        self._world, self._ego, self._folder = world, ego, Path(order.folder)
        rear_m, _ = rear_axle_x_m(ego)
        self._judge = Judge(self.graph, self.route, vehicle_parameters(ego), self.scenario.timeout_s)
        self._truth = TruthReader(world, ego, rear_m)
        rig = Rig((), SensorNoise())
        self._sensors = SensorRig(world, ego, rig, lambda each, take: each.listen(take), rear_axle_x_m=rear_m, seed=0)
        self._first = 0
        self._rows = ["frame,time_s,x_m,y_m,yaw_rad,speed_mps,throttle,brake,steer,nearest,ahead_m,left_m"]
        self._contacts: list[str] = []
        self._running: set[str] = set()
        self._end: str | None = None

    def update(self, control: Any) -> None:
        """Judge the tick that the evaluator just made; `control` is what the agent answers it with."""
        frame = int(self._world.get_snapshot().frame)
        if not self._first:
            self._first = frame  # the sensors send from the next tick on
            return
        self._sensors.read(frame, self._stamp_of(frame), forward_speed_mps(self._ego), TIMEOUT_S)
        contacts = self._sensors.collisions(self._first, frame, self._stamp_of)
        truth = self._truth.read(self._stamp_of(frame), contacts, {})
        self._follow_scenarios()
        if self._end is None:
            self._end = self._judge.update(truth)
        self._note(truth, control)

    def close(self) -> None:
        verdict = asdict(self._judge.verdict(self._end or "ended by the evaluator"))
        verdict["contacts"] = self._contacts
        (self._folder / VERDICT).write_text(json.dumps(verdict, indent=1, default=str))
        (self._folder / TRACE).write_text("\n".join(self._rows) + "\n")
        self._sensors.stop()

    def _stamp_of(self, frame: int) -> Stamp:
        return Stamp(frame - self._first, (frame - self._first) * STEP_S)

    def _follow_scenarios(self) -> None:
        """Tell the judge which scenarios begin and end, by the parts of our script, in the order of the file."""
        blackboard = py_trees.blackboard.Blackboard()
        for number, (name, part) in enumerate(self.scenario.parts.items()):
            is_running = bool(blackboard.get(f"{RUNNING}{number}"))
            if is_running and name not in self._running:
                is_free = part.allows_oncoming_lane
                self._judge.scenarios.begin(name, waits=part.timeout_s is not None, allows_oncoming_lane=is_free)
                self._running.add(name)
            elif not is_running and name in self._running:
                self._judge.scenarios.end(name)
                self._running.remove(name)

    def _note(self, truth: Truth, control: Any) -> None:
        ego = truth.ego
        self._rows.append(
            f"{truth.stamp.frame},{truth.stamp.time_s:.2f},{ego.x_m:.3f},{ego.y_m:.3f},{ego.yaw_rad:.4f},"
            f"{truth.ego_speed_mps:.3f},{control.throttle:.3f},{control.brake:.3f},{control.steer:.4f},{_nearest(truth)}"
        )
        self._contacts += [
            f"{each.stamp.time_s:.2f} s: {each.other} {each.other_id}, {each.impulse_ns:.0f} N s"
            for each in truth.collisions
        ]


def _nearest(truth: Truth) -> str:
    """Kind and id of the road user nearest to the ego's rear axle, and where its middle is from there, m."""
    ego = truth.ego
    gaps = [(math.hypot(each.x_m - ego.x_m, each.y_m - ego.y_m), each) for each in truth.objects]
    _, nearest = min(gaps, key=lambda pair: pair[0], default=(math.inf, None))
    if nearest is None:
        return ",,"
    ahead_m, left_m = map_to_vehicle((nearest.x_m, nearest.y_m), ego)
    return f"{nearest.kind.value} {nearest.track_id},{ahead_m:.2f},{left_m:.2f}"
