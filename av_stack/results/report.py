"""The figures of a run: collected step by step, written to result.json, shown as a table."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import av_stack
from av_core.frames import map_to_vehicle, wrap_angle
from av_core.types import StepResult, Truth
from av_stack.agents.names import PRIVILEGED
from av_stack.results.behaviour_times import BehaviourTimes
from av_stack.results.constraint_times import ConstraintTimes
from av_stack.supervisor import SupervisionLog
from planning import Route
from scenarios.judging.judge import Verdict
from scenarios.model import Scenario
from scenarios.script.parts import PartRun

STRETCH_M = 1000.0
"""Length of the stretch for the fastest mean speed."""


class Statistics:
    """Collects the figures that are not in the verdict: localization error, decisions, constraints, computing time.

    All but the computing time exist only for the stack, because other agents' steps have no result.
    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._constraints, self._behaviours = ConstraintTimes(), BehaviourTimes()
        self._supervision = SupervisionLog()
        self._errors: list[tuple[float, float, float]] = []  # along, across (left), yaw
        self._stage_ms: list[dict[str, float]] = []
        self._way: list[tuple[float, float]] = []  # driven m, time s
        self._last: Truth | None = None
        self._started = time.perf_counter()
        self._ended = self._started

    def start(self) -> None:
        """Start the clock: the drive begins now, after the world was built."""
        self._started = self._ended = time.perf_counter()

    def update(self, step: StepResult | None, truth: Truth) -> None:
        """Take in one step and the truth of its tick."""
        true = truth.ego
        before_m = self._way[-1][0] if self._way else 0.0
        moved = step_s = 0.0
        if self._last is not None:
            step_s = truth.stamp.time_s - self._last.stamp.time_s
            moved = float(np.hypot(true.x_m - self._last.ego.x_m, true.y_m - self._last.ego.y_m))
        self._way.append((before_m + moved, truth.stamp.time_s))
        if step is not None:
            self._take_in(step, truth, step_s)
        self._last = truth
        self._ended = time.perf_counter()

    def _take_in(self, step: StepResult, truth: Truth, step_s: float) -> None:
        """Take in the figures that only a step of the stack has."""
        ego, true = step.scene.ego, truth.ego
        along, across = map_to_vehicle((ego.x_m, ego.y_m), true)
        self._errors.append((float(along), float(across), float(wrap_angle(ego.yaw_rad - true.yaw_rad))))
        self._stage_ms.append(dict(step.stage_ms))
        self._supervision.update(step)
        limit_mps = float(self._route.speed_limit_mps[self._route.row_at(step.plan.route_s_m)])
        self._constraints.add(step.plan.limited_by, truth.ego_speed_mps, limit_mps, step_s)
        self._behaviours.add(step.plan.decision, truth.ego_speed_mps, step_s)

    def figures(self, in_stop: NDArray[np.bool_]) -> dict[str, Any]:
        """All figures as plain values; `in_stop` (N,) marks the steps that belong to stops for lights and queues."""
        count = len(self._way)
        wall_s = self._ended - self._started
        return {
            "steps": count,
            "steps_per_s": count / wall_s if wall_s > 0.0 else 0.0,
            "stage_ms": {
                name: round(float(np.mean([ms[name] for ms in self._stage_ms])), 3)
                for name in (self._stage_ms[0] if self._stage_ms else ())
            },
            "localization_error": self._localization_error() if self._errors else None,
            "fastest_1000_m_mps": self._fastest_stretch_mps(),
            "constraints": self._constraints.figures(in_stop),
            "behaviours": self._behaviours.figures(),
            "longest_stand": self._constraints.longest_stand(),
            "supervision": self._supervision.figures() if self._errors else None,
        }

    def _localization_error(self) -> dict[str, float]:
        errors = np.array(self._errors).reshape(-1, 3)
        return {
            "rms_m": _rms(np.hypot(errors[:, 0], errors[:, 1])),
            "max_m": float(np.hypot(errors[:, 0], errors[:, 1]).max(initial=0.0)),
            "longitudinal_rms_m": _rms(errors[:, 0]),
            "lateral_rms_m": _rms(errors[:, 1]),
            "yaw_rms_deg": float(np.degrees(_rms(errors[:, 2]))),
        }

    def _fastest_stretch_mps(self) -> float | None:
        """Mean speed over the fastest 1000 m; None for a shorter drive."""
        way = np.array(self._way).reshape(-1, 2)
        if len(way) == 0 or way[-1, 0] < STRETCH_M:
            return None
        first = np.searchsorted(way[:, 0], way[:, 0] - STRETCH_M, side="right") - 1
        rows = np.flatnonzero(way[:, 0] >= STRETCH_M)
        took = way[rows, 1] - way[first[rows], 1]
        return float(((way[rows, 0] - way[first[rows], 0]) / took).max())


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else 0.0


@dataclass(frozen=True, slots=True)
class Played:
    """The events of the script that have happened, with their times, and the states of its parts by name.

    Both mappings may grow during the drive.
    """

    events: Mapping[str, float]
    parts: Mapping[str, PartRun]


def result(
    scenario: Scenario,
    rig: str,
    verdict: Verdict,
    statistics: dict[str, Any],
    oracles: Sequence[str],
    server_version: str,
    error: str | None,
    played: Played,
    agent: str,
) -> dict[str, Any]:
    """Content of result.json.

    It has a count for every figure that `Expectations` can limit. `shortcomings` lists the expectations of the scenario
    that the drive does not meet.
    """
    figures = asdict(verdict)
    infractions, log = figures.pop("infractions"), figures.pop("infraction_log")
    details = {name: figures.pop(name) for name in ("collisions", "red_lights", "stop_signs", "scenarios")}
    content = {
        "scenario": scenario.name,
        "map": scenario.map,
        "weather": scenario.weather_label,
        "seed": scenario.seed,
        "agent": agent,
        "rig": rig,
        "collisions": verdict.infractions.collisions,
        "red_lights": verdict.infractions.red_lights,
        "stop_signs": verdict.infractions.stop_signs,
        "scenario_timeouts": verdict.infractions.scenario_timeouts,
        "failed_yields": verdict.infractions.failed_yields,
        **figures,
        **statistics,
        "infractions": infractions,
        "infraction_log": log,
        "details": details,
        "oracles": list(oracles),
        "error": error,
        "versions": {
            "av_stack": av_stack.__version__,
            "carla": importlib.metadata.version("carla"),
            "server": server_version,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "events": dict(played.events),
        "warnings": list(scenario.warnings),
        "parts": [{"name": name, **asdict(run)} for name, run in played.parts.items()],
    }
    return {**content, "shortcomings": scenario.expect.shortcomings(content)}


def table(figures: dict[str, Any]) -> Table:
    """The result as a table for people."""
    rows = Table(title=f"{figures['scenario']} on {figures['map']}, {figures['weather']}, seed {figures['seed']}")
    rows.add_column("")
    rows.add_column("", justify="right")
    details = figures["details"]
    for name, value in (
        ("agent", figures["agent"] + (", which knows the truth" if figures["agent"] in PRIVILEGED else "")),
        ("ended", figures["end"]),
        ("route completion", f"{100 * figures['route_completion']:.1f} % of {figures['route_length_m']:.0f} m"),
        ("driving score 2.0 / 2.1", f"{figures['driving_score']:.1f} / {figures['driving_score_2_1']:.1f}"),
        *((("left out of the route file", str(len(figures["warnings"]))),) if figures["warnings"] else ()),
        ("lacks of what is expected", "; ".join(figures["shortcomings"]) or "nothing"),
        ("collisions", _count(figures["collisions"], details["collisions"])),
        ("red lights run", _count(figures["red_lights"], details["red_lights"])),
        ("stop signs passed", _count(figures["stop_signs"], details["stop_signs"])),
        ("slower than traffic", _slow_quarters(figures["infractions"]["minimum_speed_percent"])),
        ("outside lane / wrong way", f"{figures['outside_lane_m']:.1f} m / {figures['wrong_way_m']:.1f} m"),
        ("smallest time to collision", _time_to_collision(figures["safety"])),
        ("comfortable", _comfortable(figures["comfort"])),
        ("lateral error (truth)", f"rms {figures['lateral_rms_m']:.2f} m, max {figures['lateral_max_m']:.2f} m"),
        ("localization error", _localization(figures["localization_error"])),
        ("mean speed / limit", f"{100 * figures['speed_ratio']:.0f} % outside stops for lights and queues"),
        ("stops at red", str(figures["stops_at_red"])),
        ("longest stand", _stand(figures["longest_stand"])),
        ("vehicles followed / within 30 m", f"{figures['vehicles_followed']} / {figures['vehicles_met']}"),
        ("walkers crossing ahead", str(figures["walkers_crossing"])),
        ("drive", f"{figures['time_s']:.0f} s simulated, {figures['steps_per_s']:.1f} steps/s"),
        ("read from the simulator (oracles)", ", ".join(figures["oracles"]) or "nothing"),
    ):
        rows.add_row(name, value)
    rows.add_section()
    for kind, spent in figures["constraints"].items():
        rows.add_row(f"limited by: {kind}", f"{spent['time_s']:.0f} s{_standing(spent)}")
    rows.add_section()
    for behaviour, spent in figures["behaviours"].items():
        rows.add_row(f"did: {behaviour}", f"{spent['time_s']:.0f} s{_standing(spent)}, {_times(spent['times'])}")
    return rows


def _standing(spent: Mapping[str, float]) -> str:
    return f" ({spent['standing_s']:.0f} s of it standing)" if spent["standing_s"] >= 0.5 else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _slow_quarters(percent: Sequence[float]) -> str:
    told = ", ".join(f"{value:.0f} %" for value in percent)
    return f"{len(percent)} quarters of the route: {told} of its speed" if percent else "in no quarter of the route"


def _localization(error: dict[str, float] | None) -> str:
    return "none" if error is None else f"rms {error['rms_m']:.2f} m (across {error['lateral_rms_m']:.2f} m)"


def _time_to_collision(safety: dict[str, Any]) -> str:
    least = safety["time_to_collision_min_s"]
    if least is None:
        return "none"
    return f"{least:.1f} s, {safety['object_kind']} {safety['object_id']} at {safety['at_s']:.0f} s"


def _comfortable(comfort: dict[str, Any] | None) -> str:
    return "too short" if comfort is None else f"{100 * comfort['comfortable_share']:.0f} % of the time"


def _stand(stand: dict[str, Any] | None) -> str:
    if stand is None:
        return "none"
    of_object = f" {stand['object_id']}" if stand["object_id"] else ""
    distance = "" if stand["distance_m"] is None else f", {stand['distance_m']:.0f} m"
    return f"{stand['time_s']:.0f} s: {stand['kind']}{of_object}{distance}"


def _count(count: int, which: Sequence[str]) -> str:
    return f"{count}: {'; '.join(which[:3])}" if which else str(count)
