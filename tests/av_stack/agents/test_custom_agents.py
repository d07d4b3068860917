"""Agents of the user's own: a good one drives; each bad one ends in one line, a result, and nothing left running."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from av_core.errors import AgentError, ConfigError
from av_stack.agents.factory import choose_agent
from av_stack.ending import AGENT_ERROR
from av_stack.recording.recorder import RESULT
from av_stack.run import Options, run
from av_stack.world.spec import Address
from tests.av_stack.agents.test_blind_agents import alone
from tests.av_stack.cli.test_bad_input import COMMAND, complaint

MODULE = '''
import math, sys, time
from av_core.types import ControlCommand


class Good:
    """Steers along the route by the map and dead reckoning."""

    uses_cameras = False

    def setup(self, setup):
        self.curve, self.step_s = setup.route.curve, setup.step_s
        self.s_m, self.setup_s = 0.0, time.time()

    def step(self, frame):
        assert not frame.cameras
        self.s_m += frame.wheel_speed_mps * self.step_s
        off = self.curve.pose_at(self.s_m + 5.0)[2] - frame.imu.yaw_rad
        steer = min(max(math.remainder(float(off), 2 * math.pi), -1.0), 1.0)
        return ControlCommand(throttle=0.4 if frame.wheel_speed_mps < 6.0 else 0.0, brake=0.0, steer=steer)


class Base:
    uses_cameras = False

    def setup(self, setup):
        pass


class NoStep:
    def setup(self, setup):
        pass


class BadConstructor(Base):
    def __init__(self):
        raise ValueError("no weights\\nin the cupboard")

    def step(self, frame):
        pass


class BadSetup(Base):
    def setup(self, setup):
        self.missing

    def step(self, frame):
        pass


class BadStep(Base):
    count = 0

    def step(self, frame):
        self.count += 1
        if self.count == 5:
            raise KeyError("speed")
        return ControlCommand(0.3, 0.0, 0.0)


class Exits(Base):
    def step(self, frame):
        sys.exit(0)


class NotANumber(Base):
    def step(self, frame):
        return ControlCommand(math.nan, 0.0, 0.0)


class TooMuch(Base):
    def step(self, frame):
        return ControlCommand(0.0, 0.0, 1.5)


class WrongType(Base):
    def step(self, frame):
        return {"throttle": 1.0}


class Endless(Base):
    def step(self, frame):
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agents")
    (path / "made_up_agents.py").write_text(MODULE)
    (path / "broken_agents.py").write_text("import nothing_of_that_name\n")
    return path


@pytest.fixture(autouse=True)
def _find_the_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))


def test_a_good_agent_drives_round_the_corner(city_server: Address, tmp_path: Path) -> None:
    outcome = run(alone(40.0), Options(city_server, out=tmp_path, agent="made_up_agents:Good"))
    figures = outcome.figures
    assert (outcome.exit_status, figures["error"], figures["agent"]) == (0, None, "made_up_agents:Good")
    assert figures["driven_m"] > 150.0
    assert figures["route_completion"] > 0.12, "the first corner is at 8 % of the route"


@pytest.mark.parametrize(
    ("name", "words", "steps"),
    [
        ("BadConstructor", "its constructor raised ValueError: no weights at ", 0),
        ("BadSetup", "setup raised AttributeError: 'BadSetup' object has no attribute 'missing' at ", 0),
        ("BadStep", "a step raised KeyError: 'speed' at ", 4),
        ("Exits", "a step raised SystemExit: 0 at ", 0),
        ("NotANumber", "a step returned throttle nan; expected 0 to 1", 0),
        ("TooMuch", "a step returned steer 1.5; expected -1 to 1", 0),
        ("WrongType", "a step returned dict; expected a ControlCommand", 0),
    ],
)
def test_an_agent_that_fails_ends_the_drive_with_a_result(
    city_server: Address, tmp_path: Path, name: str, words: str, steps: int
) -> None:
    outcome = run(alone(4.0), Options(city_server, out=tmp_path, agent=f"made_up_agents:{name}"))
    figures = json.loads((tmp_path / RESULT).read_text())
    assert outcome.exit_status == AgentError.exit_status
    assert (figures["end"], figures["steps"]) == (AGENT_ERROR, steps)
    assert figures["error"].startswith(f"agent made_up_agents:{name}: {words}")
    assert "\n" not in figures["error"]
    if words.endswith(" at "):
        assert "made_up_agents.py:" in figures["error"]


def test_an_agent_that_never_answers_ends_the_drive_and_its_processes(folder: Path, tmp_path: Path) -> None:
    town = Path(tmp_path / "short.yaml")
    text = (Path(__file__).parents[3] / "scenarios" / "parked_car.yaml").read_text()
    town.write_text(text)
    command = [*COMMAND, "run", str(town), "--agent", "made_up_agents:Endless", "--step-limit", "0.5"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    began_s = time.monotonic()
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out")], capture_output=True, text=True, timeout=60.0, check=False,
        env=environment, cwd=folder,
    )  # fmt: skip
    assert "agent made_up_agents:Endless: a step did not return within 0.5 s" in complaint(done)
    assert done.returncode == AgentError.exit_status
    assert json.loads((tmp_path / "out" / RESULT).read_text())["end"] == AGENT_ERROR
    assert time.monotonic() - began_s < 40.0, "it holds pipes open that `subprocess.run` waits for, if it stays"


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("made_up_agents:Missing", "made_up_agents has no class Missing; it has Good, Base, NoStep,"),
        ("made_up_agents:NoStep", "the class has no method step; expected setup and step"),
        ("no_such_module:Agent", "the import of no_such_module raised ModuleNotFoundError: No module named"),
        ("broken_agents:Agent", "raised ModuleNotFoundError: No module named 'nothing_of_that_name' at "),
    ],
)
def test_a_class_that_cannot_be_loaded_is_told_before_anything_starts(agent: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(AgentError) as raised:
        run(alone(4.0), Options(out=tmp_path / "out", agent=agent))
    assert words in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("made up:Agent", "or a class of your own as package.module:Class"),
        ("idle", "--agents: it is for behavior and basic, and --agent idle drives"),
        ("basic", "expected CARLA's folder PythonAPI/carla"),
    ],
)
def test_names_and_folders_that_fit_no_agent(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        choose_agent(name, tmp_path)
    assert words in str(raised.value)


def test_carlas_agents_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not (Path(path) / "agents" / "navigation").exists()])
    for name in [name for name in sys.modules if name.split(".")[0] == "agents"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match="CARLA's own agents are not on the Python path; expected --agents DIR"):
        choose_agent("behavior")
