"""Whole drives with a fault reach the state that the table wants, and their files tell it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader

from av_stack.assembly import DETECTOR_ORACLES
from av_stack.faults.expected import EXPECTED, reached_s
from av_stack.faults.fault import KINDS, parse_fault
from av_stack.recording.recorder import RECORDING, RESULT
from av_stack.run import Options, run
from av_stack.world.spec import Address
from scenarios.model import Scenario, TrafficTable, load_scenario

FROM_S = 1.5


def clear_road(timeout_s: float) -> Scenario:
    changes = {"timeout_s": timeout_s, "traffic": TrafficTable(vehicles=0), "walkers": ()}
    return load_scenario("town_drive").model_copy(update=changes)


def recorded(path: Path, topic: str) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return [json.loads(message.data) for _, _, message in make_reader(file).iter_messages(topics=[topic])]


def test_the_table_has_every_kind() -> None:
    assert set(EXPECTED) == set(KINDS)


@pytest.mark.parametrize("name", ["camera:drop", "camera:delay", "gnss:jump"])
def test_a_fault_leads_to_its_state(city_server: Address, tmp_path: Path, name: str) -> None:
    fault = parse_fault(f"{name}@{FROM_S}s")
    options = Options(address=city_server, out=tmp_path, oracles=DETECTOR_ORACLES, rig="compact", faults=[fault])
    figures = run(clear_road(FROM_S + 2.0), options).figures
    expected = EXPECTED[fault.kind]
    after_s = reached_s(expected, figures["supervision"]["states"], FROM_S)
    assert after_s is not None, figures["supervision"]
    assert after_s <= expected.within_s
    assert (figures["collisions"], figures["outside_lane_m"], figures["error"]) == (0, 0.0, None)
    assert figures["localization_error"]["max_m"] < 1.5
    assert figures["recording_error"] is None
    assert figures["faults"] == [str(fault)]
    steps = recorded(tmp_path / RECORDING, "/supervision")
    assert len(steps) == figures["steps"]
    assert expected.state is not None
    last = steps[-1]
    assert last["state"] == expected.state.value
    assert expected.reason in last["reason"]


def test_the_recording_holds_what_the_stack_saw(city_server: Address, tmp_path: Path) -> None:
    faults = [parse_fault("imu:bias=0.5@0.5s"), parse_fault("camera:drop@0.5s")]
    options = Options(address=city_server, out=tmp_path, oracles=DETECTOR_ORACLES, rig="compact", faults=faults)
    figures = run(clear_road(1.0), options).figures
    turned = [message["gyro_radps"][2] for message in recorded(tmp_path / RECORDING, "/sensors")]
    assert max(turned[:8]) < 0.1
    assert min(turned[12:]) > 0.2
    with (tmp_path / RECORDING).open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    assert summary.statistics is not None
    channel = next(number for number, one in summary.channels.items() if one.topic == "/camera/front")
    assert 8 <= summary.statistics.channel_message_counts[channel] <= 11
    assert figures["steps"] >= 20


def test_a_killed_server_ends_the_drive_with_one_line(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "av_stack",
        "run",
        "town_drive",
        "--oracle",
        ",".join(DETECTOR_ORACLES),
        "--record",
        "none",
    ]
    command += ["--rig", "compact", "--out", str(tmp_path), "--fault", "server:kill@1s"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100.0)
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: No InMemoryMap")]  # the wheel
    assert len(said) == 1
    assert "went away; the server was ended by SIGKILL" in said[0]
    figures = json.loads((tmp_path / RESULT).read_text())
    assert (figures["end"], figures["faults"]) == ("error", ["server:kill@1s"])
