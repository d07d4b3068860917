"""The command line answers at once, refuses wrong arguments before it loads anything, and is quiet about Ctrl-C."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any, get_args

import pytest

import av_stack
from av_core.errors import ConfigError, WorldError, install_hint
from av_stack.checks import check_map, check_out_folder, check_weights
from av_stack.cli.options import DEVICES, EVAL_PARTS, HANDLINGS, LISTED_KINDS, ORACLE_NAMES, RECORDS, REPLAY_MODULES
from av_stack.doctor import check_carla, check_disk, check_gpu, check_python, check_wheel
from av_stack.listing import listing
from av_stack.server_process import ServerProcess, embedded_maps, free_port_pair
from av_stack.world.probe import check_server
from av_stack.world.spec import Address
from perception.detection.weights import COMPACT

HEAVY = ("carla", "openvino", "numba", "cv2", "scipy", "torch", "foxglove", "av")
ANSWERS = """
import contextlib, io, json, sys
from av_stack.cli import main
answers = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["av-stack", *arguments]
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            answers.append((end.code, out.getvalue(), errors.getvalue()))
print(json.dumps({"answers": answers, "loaded": sorted(sys.modules)}))
"""

HELPFUL = [["--version"], ["--help"], ["run", "--help"], ["dataset", "--help"], ["adapt", "--help"], ["list", "--help"]]

WRONG = [
    (["run", "town_drive", "--seed", "-5"], "'--seed': it has to be greater than or equal to 0"),
    (["run", "town_drive", "--seed", "4000000000"], "'--seed': it has to be less than or equal to 2147483646"),
    (["run", "town_drive", "--out", ""], "--out: the name of the folder is empty"),
    (["run", "town_drive", "--out", __file__], "test_command_line.py: not a folder"),
    (["run", "town_drive", "--out", f"{__file__}/below"], "test_command_line.py is not a folder"),
    (["run", "town_drive", "--weights", __file__], "not a PyTorch checkpoint"),
    (["run", "town_drive", "--detector", "resnett"], "unknown name 'resnett' (did you mean resnet?); allowed are n, s"),
    (
        ["run", "town_drive", "--detector", "n", "--weights", str(COMPACT)],
        "detector_n.pt: expected only one of the two",
    ),
    (["run", "town_drive", "--detector", "n", "--agent", "idle"], "--detector: only the stack uses it"),
    (["suite", "weathers", "--detector", "n", "--agent", "idle"], "--detector: only the stack uses it"),
    (["suite", "weathers", "--detector", "x"], "--detector: unknown name 'x'; allowed are n, s, resnet"),
    (["eval", "pictures", ".", "--detector", "x"], "--detector: unknown name 'x'; allowed are n, s, resnet"),
    (["run", "town_drive", "--maps", "/nowhere"], "--maps /nowhere: no such folder"),
    (["run", "town_drive", "--server", "localhost:99999"], "expected HOST:PORT with a port from 1 to 65534"),
    (["run", "town_drive", "--server", "http://localhost:2000"], "expected HOST:PORT"),
    (["run", "town_drive", "--record", "all"], "--record: unknown name 'all' (did you mean small?); allowed are exact"),
    (["dashboard", "/nowhere.mcap"], "/nowhere.mcap is a recording, which av-stack view shows"),
    (["dashboard", "town_drive", "--seed", "-5"], "'--seed': it has to be greater than or equal to 0"),
    (["replay", "/nowhere.mcap"], "/nowhere.mcap: no such file"),
    (["replay", str(Path(__file__).parent)], "cli: holds no recording.mcap, no ROS 2 bag in MCAP and no pictures"),
    (["replay", __file__, "--lens", "/nowhere.yaml"], "--lens /nowhere.yaml: no such file"),
    (["replay", __file__, "--fps", "10"], "--fps: only for a folder of pictures"),
    (["replay", __file__, "--only", "lane"], "--only: unknown name 'lane' (did you mean lanes?)"),
    (["replay", __file__, "--tolerance", "plan"], "--tolerance 'plan': expected FIELD=SIZE"),
    (["replay", __file__, "--tolerance", "plan=-1"], "--tolerance 'plan=-1': expected FIELD=SIZE"),
    (["replay", __file__, "--update"], "--update needs --reference FILE"),
    (["replay", __file__, "--json", f"{__file__}/below/file"], "test_command_line.py is not a folder"),
    (["eval", "perception", "--parts", "lanse"], "unknown name 'lanse' (did you mean lanes?)"),
    (["eval", "perception", "--map", "Town99"], "--map: unknown name 'Town99'; allowed are city_grid"),
    (["dataset", "data", "--train-maps", ","], "--train-maps: no map is named"),
    (["calibrate", "/nowhere"], "/nowhere: no such folder"),
    (["calibrate", "/tmp", "--board", "9x²"], "expected COLUMNSxROWS"),
    (["train", "detector", ".", "--size", "x"], "--size: unknown name 'x'; allowed are n, s"),
    (["list", "colours"], "KIND: unknown name 'colours'; allowed are scenarios, suites"),
    (["run"], "Missing argument 'scenario'"),
    (["drive"], "No such command 'drive'"),
]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the command line answers to `HELPFUL` and `WRONG`, and the modules that it has loaded for that."""
    asked = json.dumps([*HELPFUL, *(arguments for arguments, _ in WRONG)])
    done = subprocess.run([sys.executable, "-c", ANSWERS, asked], capture_output=True, text=True, timeout=100.0)
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_answers_that_need_no_simulator_load_nothing_heavy(told: dict[str, Any]) -> None:
    assert set(HEAVY) & set(told["loaded"]) == set()


def test_help_and_version_succeed(told: dict[str, Any]) -> None:
    for status, out, errors in told["answers"][: len(HELPFUL)]:
        assert (status, errors) == (0, "")
        assert out


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_options_end_in_one_line(told: dict[str, Any], number: int) -> None:
    status, _, errors = told["answers"][len(HELPFUL) + number]
    assert status == 2
    assert WRONG[number][1] in errors
    assert len(errors.splitlines()) == 1


def test_version_is_the_packages() -> None:
    assert av_stack.__version__ == metadata.version("av-stack")


def test_names_in_the_help_are_the_programs_own() -> None:
    """The command line repeats a few names, because their modules take seconds to import."""
    from av_stack.assembly import ORACLES
    from av_stack.evaluation.perception import PARTS
    from av_stack.replay.modules import MODULES
    from av_stack.run import RECORDS as REAL_RECORDS
    from perception.device import DEVICES as REAL_DEVICES
    from scenarios.model import Scenario

    assert ORACLE_NAMES == ORACLES
    assert DEVICES == REAL_DEVICES
    assert RECORDS == REAL_RECORDS
    assert get_args(Scenario.model_fields["handling"].annotation) == HANDLINGS
    assert REPLAY_MODULES == MODULES
    assert sorted(EVAL_PARTS) == sorted(PARTS)


def test_everything_there_is_can_be_listed(tmp_path: Path) -> None:
    (tmp_path / "Mine.xodr").write_text("")
    rows = listing(tmp_path)
    assert tuple(rows) == LISTED_KINDS
    assert "town_drive" in dict(rows["scenarios"])
    assert {"ClearNoon", "fog"} <= set(dict(rows["weathers"]))
    assert [name for name, _ in rows["maps"]] == ["Mine", "city_grid", "country_road", "motorway", "proving_ground"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("av-stack ev", ["eval"]),
        ("av-stack run --se", ["--server", "--seed"]),
        ("av-stack eval p", ["perception", "pictures"]),
    ],
)
def test_the_shell_completes_commands_and_options(words: str, offered: list[str]) -> None:
    count = str(len(words.split()) - 1)
    asked = {"_AV_STACK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": count}
    program = "import sys; sys.argv = ['av-stack']; from av_stack.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | asked, capture_output=True, text=True, timeout=60.0
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == offered


@pytest.mark.parametrize("delay_s", [0.0, 0.7])
def test_ctrl_c_while_modules_are_imported(delay_s: float) -> None:
    command = [sys.executable, "-m", "av_stack", "run", "town_drive", "--maps", "."]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not catches(run.pid, SIGTERM):
        time.sleep(0.005)
    time.sleep(delay_s)
    run.send_signal(SIGINT)
    _, errors = run.communicate(timeout=30.0)
    assert run.returncode == 130
    assert errors == "av-stack: interrupted\n"


def catches(pid: int, number: int) -> bool:
    """Whether the process handles the signal itself."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask.split()[1], 16) >> (number - 1) & 1)


# ---------------------------------------------------------------- what is at the other end


def test_an_http_server_is_named_as_such() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        with pytest.raises(WorldError, match=f"what listens at 127.0.0.1:{port} is not a CARLA server; it answered"):
            check_server(Address("127.0.0.1", port))
        server.shutdown()


@contextmanager
def listener() -> Iterator[int]:
    """A port at which something listens and says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield silent.getsockname()[1]


def test_silence_and_nothing_are_told_apart() -> None:
    with listener() as port, pytest.raises(WorldError, match="something listens there, but did not answer"):
        check_server(Address("127.0.0.1", port), timeout_s=0.3)
    with pytest.raises(WorldError, match="nothing listens at port"):
        check_server(Address("127.0.0.1", free_port_pair()))
    with pytest.raises(WorldError, match=r"the host name nowhere\.invalid is not known"):
        check_server(Address("nowhere.invalid", 2000))


def test_how_a_server_ended_is_told_without_unrelated_lines() -> None:
    server = ServerProcess(("--map", "country_road"))
    with server as address:
        check_server(address)
        server._errors.append("embedded_carla: sensors of frame 976 took 0.58 s\n")
        assert server.ending() == ""
        server._errors.append("embedded_carla: error: cameras and LiDAR stay silent: no EGL\n")
        assert server.ending() == "the server reports: cameras and LiDAR stay silent: no EGL"
        process = server._process
        assert process is not None
        process.send_signal(SIGKILL)
        process.wait()
        assert server.ending() == "the server was ended by SIGKILL"


# ---------------------------------------------------------------- checks


def test_checks_name_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown map 'Town99'; there are city_grid, country_road, motorway, "):
        check_map("Town99", embedded_maps())
    check_map("city_grid_Opt", embedded_maps())
    check_out_folder(tmp_path / "new" / "folder")
    empty = tmp_path / "empty.pt"
    empty.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"empty\.pt: not a PyTorch checkpoint"):
        check_weights(empty)


def test_what_the_doctor_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_python().is_fine
    assert check_wheel().is_fine
    assert check_disk(tmp_path / "not" / "yet").is_fine
    port = free_port_pair()
    absent = check_carla(Address("127.0.0.1", port))
    assert absent.is_needed
    assert f"av-stack serve --port {port}" in absent.remedy
    monkeypatch.setattr("perception.device._has_nvidia_driver", lambda: False)
    gpu = check_gpu()
    assert not gpu.is_needed
    assert "torch" not in gpu.detail


def test_advice_names_no_package_that_no_index_has() -> None:
    assert "-e '.[cuda]'" in install_hint("cuda")
    for path in Path(av_stack.__file__).parents[1].glob("[a-z]*/**/*.py"):
        if "tests" not in path.parts:
            assert "av-stack[" not in path.read_text(), path
