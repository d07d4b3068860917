"""ultralytics and openvino as the project imports them: no network, nothing in the user's home but our own cache."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NO_NETWORK = """
import os
import socket

def end(why):
    os.write(2, why.encode())
    os._exit(1)  # whichever thread it is, and whatever would swallow an exception

def refuse(self, address, *rest):
    if self.family != socket.AF_UNIX:
        end(f"connects to {address}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = lambda host, *rest, **named: end(f"looks up {host}")
os.fork = lambda: end("forks, which a process with threads must not")
"""
BUILD_A_NETWORK = """
from perception.detection.offline import ultralytics

ultralytics().YOLO("yolo26n.yaml")
"""
READ_A_NETWORK = """
from perception.detection.networks import OpenVinoNetwork
from perception.detection.weights import COMPACT, exported

OpenVinoNetwork(exported(COMPACT, (640, 384)))
"""


def written_by(program: str, home: Path) -> set[tuple[str, ...]]:
    """Run a program that may not use the network or fork; the first three parts of each path it leaves in `home`."""
    ours = ("YOLO_OFFLINE", "YOLO_AUTOINSTALL", "YOLO_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CI")
    environment = {key: value for key, value in os.environ.items() if key not in ours} | {"HOME": str(home)}
    command = [sys.executable, "-c", NO_NETWORK + program]
    ended = subprocess.run(command, env=environment, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return {path.relative_to(home).parts[:3] for path in home.rglob("*") if path.is_file()}


@pytest.mark.skipif(find_spec("ultralytics") is None, reason="ultralytics is not installed")
def test_ultralytics_stays_off_the_network_and_out_of_the_home_folder(tmp_path: Path) -> None:
    written = written_by(BUILD_A_NETWORK, tmp_path)
    assert written <= {(".cache", "av-stack", "ultralytics"), (".cache", "matplotlib")}


@pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
def test_openvino_sends_no_usage_reports(tmp_path: Path) -> None:
    assert written_by(READ_A_NETWORK, tmp_path) == {(".cache", "av-stack", "networks")}
