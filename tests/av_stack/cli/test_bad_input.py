"""Bad input ends in one line that names what and where, a status that is not 0, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import carla
import pytest
from mcap.reader import make_reader

from av_stack.assembly import DETECTOR_ORACLES
from av_stack.cli import main
from av_stack.server_process import ServerProcess, free_port_pair
from av_stack.world.carla.actors import actors_in
from scenarios.model import FOLDER
from tests.forked import ForkedProcess, forked

COMMAND = (sys.executable, "-m", "av_stack.cli")


def av_stack(
    *arguments: str, timeout_s: float = 60.0, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; with another environment, one that starts anew."""
    if environment is None:
        return forked(main, arguments, timeout_s)
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False, env=environment
    )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of complaint; the wheel's own warnings do not count."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("av-stack:")]
    assert done.returncode not in (0, None)
    assert "Traceback" not in done.stderr
    assert len(lines) == 1
    return lines[0]


def with_change(tmp_path: Path, old: str, new: str) -> str:
    text = (FOLDER / "town_drive.yaml").read_text()
    assert old in text
    path = tmp_path / "changed.yaml"
    path.write_text(text.replace(old, new))
    return str(path)


def test_unknown_scenario() -> None:
    line = complaint(av_stack("run", "town_drove"))
    assert "unknown scenario town_drove (did you mean town_drive?)" in line


def test_unknown_weather() -> None:
    line = complaint(av_stack("run", "town_drive", "--weather", "Hail"))
    assert "unknown weather Hail" in line
    assert "ClearNoon" in line
    assert "fog" in line


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("timeout_s: 600", "timeout_ms: 600", ("unknown key timeout_ms", "did you mean timeout_s")),
        ("speed_mps: 1.4, trigger_m", "speed_kmh: 5, trigger_m", ("walkers.1.speed_kmh", "speed_mps")),
        ("timeout_s: 600", "timeout_s: 600 s", ("timeout_s", "'600 s' is not a number")),
        ("seed: 1", "seed: [", ("line 7: not YAML",)),
    ],
)
def test_wrong_key_or_unit(tmp_path: Path, old: str, new: str, words: tuple[str, ...]) -> None:
    line = complaint(av_stack("run", with_change(tmp_path, old, new)))
    assert all(word in line for word in ("changed.yaml", *words))


def test_unknown_blueprint(tmp_path: Path) -> None:
    path = with_change(tmp_path, "vehicle.lincoln.mkz_2020", "vehicle.lincoln.continental")
    line = complaint(av_stack("run", path, "--out", str(tmp_path / "out")))
    assert "no vehicle blueprint vehicle.lincoln.continental" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<OpenDRIVE><road", "Broken"),
        ("not a map", "Broken"),
        ("<OpenDRIVE><header/></OpenDRIVE>", "Broken"),
    ],
)
def test_broken_map(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "Broken.xodr").write_text(text)
    path = with_change(tmp_path, "map: city_grid", "map: Broken")
    line = complaint(av_stack("run", path, "--maps", str(tmp_path), "--out", str(tmp_path / "out")))
    assert words in line


def test_unknown_oracle_and_server_syntax() -> None:
    assert "--oracle: unknown name 'radar'; allowed are detection, lights" in complaint(
        av_stack("run", "town_drive", "--oracle", "radar")
    )
    assert "HOST:PORT" in complaint(av_stack("run", "town_drive", "--server", "localhost"))
    assert "auto, cuda, cpu" in complaint(av_stack("run", "town_drive", "--device", "tpu"))


def test_what_is_not_there(tmp_path: Path) -> None:
    """Told before a server is started."""
    assert "--weights none.pt: no such file" in complaint(av_stack("run", "town_drive", "--weights", "none.pt"))
    junk = av_stack("run", "town_drive", "--weights", __file__)
    assert "test_bad_input.py: not a PyTorch checkpoint" in complaint(junk)
    assert "none.pt: no such file" in complaint(av_stack("export", "detector", "none.pt", str(tmp_path)))
    assert "no dataset.yaml" in complaint(av_stack("train", "detector", str(tmp_path)))


@pytest.mark.parametrize("command", [("run", "town_drive", "--out"), ("eval", "perception", "--out"), ("dataset",)])
def test_a_folder_that_cannot_be_written(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert str(file) in complaint(av_stack(*command, str(file), timeout_s=20.0))


def test_a_machine_that_cannot_draw(tmp_path: Path) -> None:
    """What to install is said by the server, and no first picture is waited for."""
    without = {**os.environ, "__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere"}  # EGL's loader finds no driver
    line = complaint(av_stack("run", "town_drive", "--out", str(tmp_path), timeout_s=100.0, environment=without))
    assert "cannot serve a drive; the server reports: cameras and LiDAR stay silent" in line
    assert "cameras need EGL and OpenGL 4.3" in line
    assert "apt-get install" in line


def test_server_not_reachable(tmp_path: Path) -> None:
    port = free_port_pair()
    line = complaint(av_stack("run", "town_drive", "--server", f"127.0.0.1:{port}", "--out", str(tmp_path)))
    assert f"no CARLA server answers at 127.0.0.1:{port}: nothing listens at port {port}" in line


def recorded_steps(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in make_reader(file).iter_messages(topics=["/truth"]))


def started_run(out: Path, *arguments: str) -> ForkedProcess:
    """A run that has begun to drive: its video has a first fragment. It has oracles, so that it begins sooner."""
    options = ["town_drive", "--oracle", ",".join(DETECTOR_ORACLES), "--out", str(out)]
    run = ForkedProcess(main, ["run", *options, *arguments])
    deadline = time.monotonic() + 90.0
    while not (out / "drive.mp4").exists():
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1.0)
    return run


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGSTOP])
def test_server_killed_in_mid_drive(tmp_path: Path, way: signal.Signals) -> None:
    """Dead or silent: the run ends within 5 s with its recording intact."""
    server = ServerProcess(("--map", "city_grid"))
    with server as address:
        run = started_run(tmp_path, "--server", str(address))
        assert server.pid is not None
        os.kill(server.pid, way)
        killed = time.monotonic()
        _, errors = run.communicate(timeout=30.0)
        assert time.monotonic() - killed < 5.0
    assert run.returncode == 3
    assert "went away" in errors
    figures = json.loads((tmp_path / "result.json").read_text())
    assert recorded_steps(tmp_path / "recording.mcap") == figures["steps"] > 0
    assert "went away" in figures["error"]


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_and_hang_up(tmp_path: Path, way: signal.Signals) -> None:
    """Vehicles destroyed, settings restored, files closed, the own server ended."""
    with ServerProcess(("--map", "city_grid")) as address:
        run = started_run(tmp_path, "--server", str(address))
        run.send_signal(way)
        _, errors = run.communicate(timeout=30.0)
        assert run.returncode == 130
        assert "interrupted" in errors
        assert "Traceback" not in errors
        client = carla.Client(address.host, address.port)
        client.set_timeout(10.0)
        world = client.get_world()
        assert not world.get_settings().synchronous_mode
        world.wait_for_tick()
        assert not [actor for actor in actors_in(world) if actor.type_id.startswith(("vehicle", "walker", "sensor"))]
    figures = json.loads((tmp_path / "result.json").read_text())
    assert recorded_steps(tmp_path / "recording.mcap") == figures["steps"] > 0


def test_ctrl_c_while_a_data_set_is_made(tmp_path: Path) -> None:
    """One line, soon, and no worker or server left, though the terminal tells every process."""
    command = [*COMMAND, "dataset", str(tmp_path / "data"), "--train", "2000", "--val", "0", "--workers", "2"]
    run = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    servers = wait_for_servers_of(run, 2)
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=20.0)
    assert run.returncode == 130
    assert errors == "av-stack: interrupted\n"
    deadline = time.monotonic() + 10.0
    while any(Path(f"/proc/{pid}").exists() for pid in servers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for_servers_of(run: subprocess.Popen[str], count: int) -> list[int]:
    """Process ids of its workers' servers, once there are `count`."""
    deadline = time.monotonic() + 60.0
    while True:
        servers = [pid for worker in children(run.pid) for pid in children(worker) if "embedded_carla" in named(pid)]
        if len(servers) == count:
            return servers
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []


def named(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""
