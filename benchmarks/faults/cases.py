"""Drives one case: a fault on a clear road, and what became of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from av_core.types import DriveState, SensorFrame, Truth
from av_stack.agents.base import AgentStep
from av_stack.faults.expected import EXPECTED, Expected, reached_s
from av_stack.faults.fault import SERVER_FAULTS, Fault, parse_fault
from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.recording.recorder import RESULT
from av_stack.run import RECORD_NONE, STANDING_MPS, Options, run
from av_stack.world.spec import Address
from scenarios.judging.judge import Judge
from scenarios.model import load_scenario

SCENARIO = Path(__file__).parent / "clear_road.yaml"
NO_FAULT = "none"

CASES = (
    NO_FAULT,
    "camera:freeze@5s", "camera:drop@5s", "camera:black@5s", "camera:noise@5s", "camera:delay@5s",
    "camera:occlusion@5s", "gnss:drop@5s", "gnss:noise@5s", "gnss:jump@5s", "imu:bias@5s", "radar:off@5s",
    "control:delay@5s", "server:kill@5s", "server:freeze@5s",
    "gnss:jump@9s", "gnss:noise=5@9s", "camera:occlusion=60@9s", "imu:bias=0.05@9s", "control:delay=0.2@5s",
    "camera:black@5s-7s", "camera:freeze@9s", "camera:delay=0.3@9s", "gnss:jump=10@5s", "camera:drop@9s",
    "camera:noise=80@9s", "gnss:drop@1s", "radar:off@9s", "camera:occlusion=90@3s", "gnss:noise@5s-8s",
    "server:kill@9s",
)  # fmt: skip
"""Every kind of fault at its usual strength first, then other times and strengths."""

WHEELS_WARNING = "WARNING: No InMemoryMap cache found"
"""What CARLA's TrafficManager prints when it loads a map."""

PATIENCE_S = 300.0
"""Longest wall time of a drive in a process of its own."""


def drive_case(case: str, address: Address, folder: Path) -> dict[str, Any]:
    """Drive one case on the server at `address`; a fault of the server in a process of its own, with its own server."""
    started = time.monotonic()
    fault = None if case == NO_FAULT else parse_fault(case)
    of_server = fault is not None and fault.kind in SERVER_FAULTS
    found = _drive_and_lose_server(case, folder) if of_server else _drive(fault, address)
    return {"case": case, **found, "wall_s": round(time.monotonic() - started, 1)}


def _drive(fault: Fault | None, address: Address) -> dict[str, Any]:
    speeds_mps = [0.0]

    def watch(_frame: SensorFrame, _step: AgentStep, truth: Truth, _judge: Judge) -> None:
        speeds_mps.append(abs(truth.ego_speed_mps))

    faults = () if fault is None else (fault,)
    outcome = run(load_scenario(str(SCENARIO)), Options(address=address, record=RECORD_NONE, faults=faults), watch)
    if outcome.exit_status == INTERRUPTED_STATUS:
        raise KeyboardInterrupt
    figures = outcome.figures
    found = {
        "end": figures["end"],
        "error": figures["error"],
        "collisions": figures["collisions"],
        "outside_lane_m": round(figures["outside_lane_m"], 2),
        "lateral_max_m": round(figures["lateral_max_m"], 2),
        "driving_score": round(figures["driving_score"], 2),
        "localization_max_m": round(figures["localization_error"]["max_m"], 2),
        "states": figures["supervision"]["states"],
        "ends_standing": speeds_mps[-1] < STANDING_MPS,
    }
    if fault is None:
        return {**found, "wanted": DriveState.NORMAL.value, "reached_s": None, "is_right": figures["collisions"] == 0}
    expected = EXPECTED[fault.kind]
    after_s = reached_s(expected, figures["supervision"]["states"], fault.from_s)
    is_in_time = after_s is not None and after_s <= expected.within_s
    is_safe = figures["collisions"] == 0 and figures["outside_lane_m"] == 0.0 and figures["error"] is None
    has_stopped = found["ends_standing"] or expected.state is not DriveState.STOP
    return {**found, **_told(expected, after_s), "is_right": is_in_time and is_safe and has_stopped}


def _drive_and_lose_server(case: str, folder: Path) -> dict[str, Any]:
    """How long the program takes to end once its server does nothing any more, and what it leaves behind."""
    out = folder / case.replace(":", "_")
    command = [sys.executable, "-m", "av_stack", "run", str(SCENARIO), "--record", "none", "--out", str(out)]
    client = subprocess.Popen([*command, "--fault", case], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline, servers, lost_at = time.monotonic() + PATIENCE_S, set[int](), None
    while client.poll() is None and time.monotonic() < deadline:
        servers |= _servers_of(client.pid)
        if lost_at is None and any(_state(pid) in "TZX" for pid in servers):
            lost_at = time.monotonic()
        time.sleep(0.02)
    is_hanging = client.poll() is None
    client.kill()
    ended_at, (_, errors) = time.monotonic(), client.communicate()
    after_s = None if lost_at is None or is_hanging else round(ended_at - lost_at, 2)
    expected = EXPECTED[parse_fault(case).kind]
    left = sorted(pid for pid in servers if _state(pid) != "X")
    figures = json.loads((out / RESULT).read_text()) if (out / RESULT).exists() else {}
    said = [line for line in errors.splitlines() if not line.startswith(WHEELS_WARNING)]
    is_told = len(said) == 1 and expected.reason in said[0]
    is_in_time = after_s is not None and after_s <= expected.within_s
    return {
        "end": figures.get("end"),
        "error": " ".join(said),
        "collisions": figures.get("collisions"),
        "left_behind": len(left),
        **_told(expected, after_s),
        "is_right": is_told and is_in_time and not left and figures.get("collisions") == 0,
    }


def _told(expected: Expected, after_s: float | None) -> dict[str, Any]:
    return {"wanted": expected.label, "within_s": expected.within_s, "reached_s": after_s}


def _servers_of(pid: int) -> set[int]:
    """The embedded servers among the children of a process."""
    found = set()
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return set()
    for child in map(int, children):
        try:
            if b"embedded_carla" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(child)
        except OSError:
            continue
    return found


def _state(pid: int) -> str:
    """The state of a process in one letter, as in /proc; X where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"
