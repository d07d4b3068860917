"""ultralytics as the project imports it: no network, nothing in the user's home but the project's own cache."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BUILD_A_NETWORK = """
import socket

def refuse(self, address, *rest):
    if self.family != socket.AF_UNIX:
        raise SystemExit(f"connects to {address}")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = lambda host, *rest, **named: refuse(socket.socket(), host)

from perception.detection.offline import ultralytics

ultralytics().YOLO("yolo26n.yaml")
"""


@pytest.mark.skipif(find_spec("ultralytics") is None, reason="ultralytics is not installed")
def test_ultralytics_stays_off_the_network_and_out_of_the_home_folder(tmp_path: Path) -> None:
    ours = ("YOLO_OFFLINE", "YOLO_AUTOINSTALL", "YOLO_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {key: value for key, value in os.environ.items() if key not in ours} | {"HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", BUILD_A_NETWORK], env=environment, cwd=Path(__file__).parents[2], check=True)
    written = {path.relative_to(tmp_path).parts[:3] for path in tmp_path.rglob("*") if path.is_file()}
    assert written <= {(".cache", "av-stack", "ultralytics"), (".cache", "matplotlib")}
