"""Recordings of short drives: exact, as a small one would be, and on servers of their own, to be driven again."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from av_stack.assembly import DETECTOR_ORACLES
from av_stack.recording.exact.setup import DriveSetup
from av_stack.recording.exact.topics import PICTURES, SETUP
from av_stack.recording.recorder import RECORDING, RESULT
from av_stack.route_drive import load_route
from av_stack.run import RECORD_EXACT, Options, run
from av_stack.world.spec import Address
from scenarios.model import EgoTable, TrafficTable, load_scenario
from tests.av_stack.drives.test_route_file import written
from tests.av_stack.replay.edited import changed, edited

SECONDS = 3.0
BRANCHED_SECONDS = 2.0
BRANCHED_STEPS = 41
RIG = {
    "cameras": [
        {"name": "front", "width_px": 320, "height_px": 180, "fov_x_deg": 90.0, "x_m": 1.5, "y_m": 0.0, "z_m": 1.4}
    ]
}


@dataclass(frozen=True, slots=True)
class Drives:
    """Paths of the recordings, and the number of their steps."""

    exact: Path
    small: Path
    steps: int


def made_once(name: str, make: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `name` that all worker processes share; the first that asks fills it by `make`."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, is_made = shared / name, shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        if not is_made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            folder.mkdir()
            make(folder)
            is_made.touch()
    return folder


@pytest.fixture(scope="session")
def drives(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drives:
    def make(folder: Path) -> None:
        changes = {"timeout_s": SECONDS, "traffic": TrafficTable(vehicles=4)}
        scenario = load_scenario("town_drive").model_copy(update=changes)
        city_server: Address = request.getfixturevalue("city_server")
        figures = run(scenario, Options(city_server, out=folder / "exact", record=RECORD_EXACT)).figures
        assert figures["recording_dropped_steps"] == 0
        edited(folder / "exact" / RECORDING, folder / "small.mcap", _without_pictures)

    folder = made_once("drives", make, tmp_path_factory)
    steps = json.loads((folder / "exact" / RESULT).read_text())["steps"]
    return Drives(folder / "exact" / RECORDING, folder / "small.mcap", steps)


def _without_pictures(topic: str, number: int, schema: bytes, data: bytes) -> tuple[bytes, bytes] | None:
    if topic.startswith(PICTURES):
        return None
    if topic == SETUP:
        return changed(DriveSetup, lambda setup: replace(setup, has_pictures=False))(number, schema, data)
    return schema, data


@pytest.fixture(scope="session")
def gains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stack's configuration of the recorded drive."""
    path = tmp_path_factory.mktemp("stack") / "gains.yaml"
    path.write_text("{}\n")
    return path


@pytest.fixture(scope="session")
def stack_drive(gains: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stack drives in traffic, with oracles and a small camera.

    Each worker process makes its own, because a test changes `gains`.
    """
    folder = tmp_path_factory.mktemp("recorded")
    rig = folder / "rig.yaml"
    rig.write_text(yaml.safe_dump(RIG))
    ego = EgoTable(rig=str(rig), stack=str(gains))
    changes = {"timeout_s": BRANCHED_SECONDS, "traffic": TrafficTable(vehicles=4), "ego": ego}
    scenario = load_scenario("town_drive").model_copy(update=changes)
    figures = run(scenario, Options(out=folder / "drive", oracles=DETECTOR_ORACLES)).figures
    assert figures["recording_dropped_steps"] == 0
    assert figures["steps"] == BRANCHED_STEPS
    return folder / "drive" / RECORDING


@pytest.fixture(scope="session")
def collision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On a Leaderboard route with weather along it, an agent that looks at nothing runs into a walker."""

    def make(folder: Path) -> None:
        route = load_route(Path(written(folder)), "7", None, None, 0).model_copy(update={"timeout_s": 9.0})
        figures = run(route, Options(out=folder / "drive", agent="straight")).figures
        assert figures["infractions"]["collisions_walker"] == 1

    return made_once("route", make, tmp_path_factory) / "drive" / RECORDING
