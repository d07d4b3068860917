"""However a drive ends, its files can be opened, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import av
import pytest
from mcap.reader import make_reader
from typer.testing import CliRunner

from av_core.errors import ConfigError
from av_stack.cli import app
from av_stack.recording.recorder import RECORDING, RESULT, VIDEO
from av_stack.run import Options, run
from av_stack.server_process import free_port_pair
from av_stack.server_watchdog import ServerWatchdog
from av_stack.world.spec import Address
from scenarios.model import EgoTable, Scenario, load_scenario
from tests.av_stack.cli.test_bad_input import children, named, recorded_steps, started_run
from tests.av_stack.recording.test_recording import files_of_at_most

OLD_FILES = (RECORDING, VIDEO, RESULT)


def short_drive(timeout_s: float) -> Scenario:
    return load_scenario("town_drive").model_copy(update={"timeout_s": timeout_s})


def test_a_disk_that_fills_ends_the_recording_and_not_the_drive(city_server: Address, tmp_path: Path) -> None:
    with files_of_at_most(600_000):
        outcome = run(short_drive(4.0), Options(address=city_server, out=tmp_path))
    assert outcome.exit_status == 1
    assert outcome.figures["error"] is None
    assert outcome.figures["time_s"] >= 4.0
    assert "cannot be written: File too large" in outcome.figures["recording_error"]
    assert (tmp_path / RESULT).exists()
    assert 0 < recorded_steps(tmp_path / RECORDING) < outcome.figures["steps"]
    with av.open(str(tmp_path / VIDEO)) as video:
        assert any(True for _ in video.decode(video=0))


def test_a_run_that_fails_while_loading_leaves_an_earlier_drive_alone(city_server: Address, tmp_path: Path) -> None:
    for name in OLD_FILES:
        (tmp_path / name).write_text(f"old {name}")
    wrong = short_drive(4.0).model_copy(update={"ego": EgoTable(blueprint="vehicle.no.such")})
    with pytest.raises(ConfigError, match="no vehicle blueprint"):
        run(wrong, Options(address=city_server, out=tmp_path))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: f"old {name}" for name in OLD_FILES}


def wait_until_gone(pids: list[int]) -> None:
    deadline_s = time.monotonic() + 5.0
    while any("embedded_carla" in named(pid) for pid in pids):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_a_killed_drive_leaves_files_that_open_and_no_server(tmp_path: Path) -> None:
    client = started_run(tmp_path)
    servers = children(client.pid)
    client.kill()
    client.communicate()
    assert len(servers) == 1
    wait_until_gone(servers)
    assert sorted(path.name for path in tmp_path.iterdir()) == [VIDEO, RECORDING]
    with (tmp_path / RECORDING).open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        assert summary.statistics is not None
        end_s = summary.statistics.message_end_time / 1e9
    with av.open(str(tmp_path / VIDEO)) as video:
        assert abs(max(frame.time or 0.0 for frame in video.decode(video=0)) - end_s) < 1.0


def test_a_frozen_server_does_not_outlive_its_client(tmp_path: Path) -> None:
    client = started_run(tmp_path)
    servers = children(client.pid)
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    frozen_s = time.monotonic()
    _, errors = client.communicate(timeout=30.0)
    assert time.monotonic() - frozen_s < 5.0
    assert client.returncode == 3
    assert "went away" in errors
    assert len(servers) == 1
    wait_until_gone(servers)


def test_a_server_ends_with_its_starter_while_it_still_loads() -> None:
    command = [sys.executable, "-m", "embedded_carla", "--port", str(free_port_pair()), "--until-stdin-ends"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    said, _ = server.communicate(timeout=30.0)  # closes standard input
    assert said == b""
    assert server.returncode == 0


def test_a_full_disk_does_not_end_a_server_that_logs(tmp_path: Path) -> None:
    """Its log and its cache of maps are on full disks."""
    command = [sys.executable, "-m", "embedded_carla", "--port", str(free_port_pair()), "--until-stdin-ends"]
    command += ["--map", "country_road"]
    environment = {**os.environ, "EMBEDDED_CARLA_CACHE": "/dev/full/cache"}
    with Path("/dev/full").open("w") as full:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=full, env=environment)
    assert server.stdout is not None
    assert b"listening on" in server.stdout.readline()
    server.communicate(timeout=30.0)
    assert server.returncode == 0


def test_a_server_that_dies_while_a_map_is_loaded_is_noticed() -> None:
    lost = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        watchdog = ServerWatchdog(Address("127.0.0.1", listener.getsockname()[1]), lost.set)
        connection, _ = listener.accept()
        assert not lost.wait(0.3)
    connection.close()
    assert lost.wait(5.0)
    watchdog.close()


def test_who_ends_the_watch_waits_for_the_loss_to_be_told() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def lose() -> None:
        begun.set()
        assert may_end.wait(5.0)
        ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
    watchdog = ServerWatchdog(address, lose, lambda: True)
    assert begun.wait(5.0)
    threading.Timer(0.2, may_end.set).start()
    watchdog.close()
    assert ended.is_set()


def test_an_embedded_server_that_ends_before_the_watchdog_connects_is_noticed() -> None:
    lost, ended = threading.Event(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
    watchdog = ServerWatchdog(address, lost.set, ended.is_set)
    assert not lost.wait(0.5)
    ended.set()
    assert lost.wait(5.0)
    watchdog.close()


DOES_NOT_END = """
import os, sys, time
import av_stack.interruption as interruption
interruption.GRACE_S = 0.3
interruption.raise_on_signals()
interruption.set_deadline(lambda: os._exit(7))
while True:
    try:
        print("ready", flush=True)
        time.sleep(60.0)
    except KeyboardInterrupt:
        pass
"""


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_does_not_end_is_ended(way: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", DOES_NOT_END], stdout=subprocess.PIPE) as stuck:
        assert stuck.stdout is not None
        stuck.stdout.readline()
        stuck.send_signal(way)
        stuck.send_signal(way)
        assert stuck.wait(20.0) == 7


HOLDS_BACK = """
import time
from av_stack.interruption import held_back, raise_on_signals
raise_on_signals()
with held_back():
    print("begun", flush=True)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        pass
    print("done", flush=True)
"""


def test_work_that_holds_signals_back_is_done_whole() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS_BACK], stdout=-1, stderr=-1, text=True) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == "begun\n"
        work.send_signal(signal.SIGINT)
        said, errors = work.communicate(timeout=20.0)
    assert said == "done\n"
    assert errors.endswith("KeyboardInterrupt\n")


NEEDS_ITS_TERMINAL = """
import sys, time
from pathlib import Path
from av_stack.interruption import raise_on_signals
raise_on_signals()
try:
    print("ready", flush=True)
    time.sleep(60.0)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    Path(sys.argv[1]).write_text("ended in order")
"""


def test_a_terminal_that_is_closed_lets_a_command_end_in_order(tmp_path: Path) -> None:
    """The hang-up is a SIGHUP, after which every write to the terminal fails."""
    ours, theirs = os.openpty()
    command = ["setsid", "--ctty", sys.executable, "-c", NEEDS_ITS_TERMINAL, str(tmp_path / "end")]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        assert b"ready" in os.read(ours, 100)
        os.close(ours)
        assert running.wait(20.0) == 0
    assert (tmp_path / "end").read_text() == "ended in order"


def test_nohup_keeps_a_command_alive() -> None:
    with subprocess.Popen(["nohup", sys.executable, "-c", DOES_NOT_END], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.0)
        running.kill()


def test_the_repair_command_says_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "cut.mcap"
    path.write_bytes(b"\x89MCAP0\r\n" + bytes(5))
    first, second = (CliRunner().invoke(app, ["repair", str(path)]).output for _ in range(2))
    assert "cut.mcap: repaired, 5 bytes of an unfinished part removed" in first.replace("\n", "")
    assert "cut.mcap: complete" in second.replace("\n", "")
    with path.open("rb") as file:
        assert list(make_reader(file).iter_messages()) == []
