"""One route under each judge: the process that drives it, and its verdict as plain figures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from av_stack.agents.names import CARLA_AGENTS
from av_stack.server_process import free_port_pair
from av_stack.world.spec import Address
from benchmarks.official_judge.compare import OFFICIAL_KINDS, OUR_KINDS, Verdict
from benchmarks.official_judge.order import VERDICT, Order

NO_RESULT = Verdict("no result", 0.0, 0.0, {}, ())

LIMIT_S = 900.0
"""Longest time for one drive."""

OLD_PYTHON = Path(__file__).with_name("old_python")
"""What newer versions of Python lack for the evaluator."""

SKIPPED = r"(?:Skipping|Ignoring) scenario ('.*)"
"""What the evaluator prints of a scenario that it does not play."""

AGENT = Path(__file__).with_name("evaluator_agent.py")


@dataclass(frozen=True, slots=True)
class Programs:
    """Where CARLA's programs are, and the Python that runs them."""

    leaderboard: Path
    scenario_runner: Path
    api: Path
    python: Path

    def environment(self) -> Mapping[str, str]:
        roots = (OLD_PYTHON, self.api, self.scenario_runner, self.leaderboard, Path.cwd())
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(root.resolve()) for root in roots),
            "SCENARIO_RUNNER_ROOT": str(self.scenario_runner),
            "LEADERBOARD_ROOT": str(self.leaderboard),
        }


def official(programs: Programs, order: Order, address: Address) -> Verdict:
    """The verdict of the Leaderboard's evaluator, unmodified."""
    folder = Path(order.folder)
    checkpoint, told_agent = folder / "checkpoint.json", folder / "order.json"
    order.write(told_agent)
    command = [
        str(programs.python), str(programs.leaderboard / "leaderboard" / "leaderboard_evaluator.py"),
        f"--routes={order.routes}", f"--routes-subset={order.route_id}", "--repetitions=1", "--track=MAP",
        f"--agent={AGENT}", f"--agent-config={told_agent}", f"--checkpoint={checkpoint}",
        f"--debug-checkpoint={checkpoint}.txt", f"--port={address.port}", f"--host={address.host}",
        f"--traffic-manager-port={free_port_pair()}", "--timeout=120",
    ]  # fmt: skip
    with (folder / "official.txt").open("w") as log:
        _run(command, log, programs.environment())
    records = json.loads(checkpoint.read_text())["_checkpoint"]["records"] if checkpoint.exists() else []
    if not records:
        return NO_RESULT
    record = records[0]
    told = {kind: record["infractions"].get(kind, []) for kind in OFFICIAL_KINDS}
    counts = {OFFICIAL_KINDS[kind]: len(lines) for kind, lines in told.items() if lines}
    scores = record["scores"]
    lines = tuple(line for lines in told.values() for line in lines)
    skipped = tuple(re.findall(SKIPPED, (folder / "official.txt").read_text(errors="replace")))
    return Verdict(record["status"], scores["score_route"], scores["score_composed"], counts, lines, skipped)


SCORE_OF_FORMULA = {"2.0": "driving_score", "2.1": "driving_score_2_1"}
"""The figure of our result that a version of the Leaderboard computes."""


def ours(programs: Programs, order: Order, address: Address, formula: str) -> Verdict:
    """Our verdict on the route, driven by the same agent, with the score by a formula of `SCORE_OF_FORMULA`."""
    folder = Path(order.folder)
    out, table = folder / "ours", folder / "scenario.yaml"
    table.write_text(yaml.safe_dump(order.scenario().model_dump(mode="json", exclude_unset=True)))
    agents = ["--agents", str(programs.api)] if order.agent in CARLA_AGENTS else []
    command = [
        sys.executable, "-m", "av_stack.cli", "run", str(table), "--agent", order.agent, *agents,
        "--server", str(address), "--maps", order.maps, "--out", str(out),
    ]  # fmt: skip
    with (folder / "ours.txt").open("w") as log:
        _run(command, log, dict(os.environ))
    return _verdict(out / "result.json", formula)


def second(order: Order, formula: str) -> Verdict:
    """Our verdict on the evaluator's own drive."""
    return _verdict(Path(order.folder) / VERDICT, formula)


def _verdict(file: Path, formula: str) -> Verdict:
    if not file.exists():
        return NO_RESULT
    figures: dict[str, Any] = json.loads(file.read_text())
    counts: dict[str, int] = {}
    for entry in figures["infraction_log"]:
        kind = OUR_KINDS.get(entry["kind"])
        if kind is not None:
            counts[kind] = counts.get(kind, 0) + 1
    lines = tuple(f"{entry['time_s']:.1f} s: {entry['what']}" for entry in figures["infraction_log"])
    completion = 100.0 * figures["route_completion"]
    return Verdict(figures["end"], completion, figures[SCORE_OF_FORMULA[formula]], counts, lines)


def _run(command: list[str], log: Any, environment: Mapping[str, str]) -> None:
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=dict(environment))
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        log.write(f"\nended after {LIMIT_S:g} s\n")
    finally:
        process.kill()
        process.wait()
