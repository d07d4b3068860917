"""Fixtures that every package's tests share."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from av_stack import server_process
from av_stack.server_process import ServerProcess
from av_stack.world.spec import Address
from embedded_carla.__main__ import main
from tests.forked import ForkedProcess

settings.register_profile("same examples in every run", derandomize=True)
settings.load_profile("same examples in every run")


START_ANEW = server_process._opened
"""How the stack starts a server: `python -m embedded_carla`, which imports for 2 s of CPU time."""

ULTRALYTICS_FOLDER = tempfile.mkdtemp(prefix="av-stack-ultralytics-")
"""Settings folder of ultralytics during tests, so that it changes nothing in the user's own."""


def pytest_configure() -> None:
    """A shell's background job ignores SIGINT, and `nohup` SIGHUP; programs that these tests start must not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)  # ignored here, and as by default in the programs
    os.environ |= {"YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "0", "YOLO_CONFIG_DIR": ULTRALYTICS_FOLDER}


def pytest_collection_finish() -> None:
    """Settle how torch runs, where tests have imported it.

    One thread: several wait for one another in busy loops, and on two busy cores take four times the CPU time. And
    triton's LLVM now, which torchvision loads: it crashes in a process in which the renderer has loaded Mesa's.
    """
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
        if find_spec("triton"):
            import_module("triton._C.libtriton")


def pytest_unconfigure() -> None:
    shutil.rmtree(ULTRALYTICS_FOLDER, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def forked_servers() -> Iterator[None]:
    """The embedded servers that the stack starts in this process are forks; `new_servers` has them start anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_process, "_opened", lambda command: ForkedProcess(main, command[3:], has_own_session=True))
        yield


@pytest.fixture
def new_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "_opened", START_ANEW)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real maps, pictures and recordings; tests that ask for it skip where there is none."""
    value = os.environ.get("AV_STACK_DATA")
    if not value:
        pytest.skip("AV_STACK_DATA is not set: no real maps and pictures to test on")
    path = Path(value)
    if not path.is_dir():
        pytest.skip(f"AV_STACK_DATA={value} is no folder")
    return path


@pytest.fixture(scope="session")
def city_server() -> Iterator[Address]:
    """An embedded server process with city_grid loaded, for the whole session; each user loads its own episode."""
    with ServerProcess(("--map", "city_grid")) as address:
        yield address
