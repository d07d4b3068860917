"""The dashboard's server answers who has the token and calls it by this machine's name, and never holds up a drive."""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import (
    CameraImage,
    CameraModel,
    GnssFix,
    ImuSample,
    Pose2D,
    Rig,
    SensorFrame,
    Stamp,
    Truth,
    VehicleParameters,
)
from av_stack.agents.base import AgentStep
from av_stack.viewing.dashboard.server import HOST, STREAMS_MAX, Dashboard
from av_stack.viewing.stop import StopRequest
from av_stack.viewing.viewer import DriveStep, ViewedDrive
from scenarios.judging.judge import Progress

CAMERA = CameraModel("front", 320, 180, 1.0, 1.5, 0.0, 1.4)
DRIVE = ViewedDrive(
    "made <up>", "idle", {"lanes": [], "route": [[0.0, 0.0], [30.0, 40.0]], "stop_lines": []}, Rig((CAMERA,)),
    VehicleParameters(4.9, 1.9, 1.5, 2.9, 1.4, 0.7, 1800.0),
)  # fmt: skip


def step(frame: int = 1) -> DriveStep:
    stamp = Stamp(frame, 0.05 * frame)
    picture = CameraImage(stamp, CAMERA, np.full((180, 320, 3), 90, np.uint8))
    imu = ImuSample(stamp, (0.0, 0.0, 9.8), (0.0, 0.0, 0.0), 0.0)
    seen = SensorFrame(stamp, {"front": picture}, GnssFix(stamp, float("nan"), 0.0, 0.0), imu, 1.0)
    truth = Truth(stamp, Pose2D(1.0, 2.0, 0.0), 0.0, 1.0, (), {}, ())
    return DriveStep(seen, AgentStep(None), truth, Progress(1.0, 10.0, None))


@pytest.fixture
def stop() -> StopRequest:
    return StopRequest()


@pytest.fixture
def dashboard(stop: StopRequest) -> Iterator[Dashboard]:
    opened = Dashboard(stop, port=0)
    yield opened
    opened.close()


def ask(dashboard: Dashboard, method: str, path: str, host: str | None = None) -> tuple[int, dict[str, str], str]:
    """(status, headers, text) of an answer."""
    connection = http.client.HTTPConnection(HOST, dashboard.port, timeout=10.0)
    connection.request(method, path, headers={"Host": host or f"{HOST}:{dashboard.port}"})
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    connection.close()
    return found


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/", "/events", "/stop", "/nothing"])
@pytest.mark.parametrize("token", ["", "?token=", "?token=guess", "?token=%C3%A9%00", "?tokens={}", "?token={}x"])
def test_without_the_token_nothing_is_told(
    dashboard: Dashboard, stop: StopRequest, method: str, path: str, token: str
) -> None:
    status, headers, text = ask(dashboard, method, path + token.format(dashboard.token))
    assert status == 403
    assert "av-stack run" in text
    assert "access-control-allow-origin" not in headers
    assert not stop.is_told


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8700", "127.0.0.1.evil.example", "0.0.0.0", "[::1]"])
def test_another_name_for_this_machine_is_refused(dashboard: Dashboard, stop: StopRequest, host: str) -> None:
    assert ask(dashboard, "POST", f"/stop?token={dashboard.token}", host)[0] == 403
    assert ask(dashboard, "GET", f"/?token={dashboard.token}", host)[0] == 403
    assert not stop.is_told


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1"])
def test_a_tunnel_may_have_another_port(dashboard: Dashboard, host: str) -> None:
    status, headers, text = ask(dashboard, "GET", f"/?token={dashboard.token}", host)
    assert status == 200
    assert "access-control-allow-origin" not in headers
    assert headers["cache-control"] == "no-store"
    assert 'src="http' not in text  # it needs no other file
    assert 'href="http' not in text


def test_the_button_asks_for_the_stop(dashboard: Dashboard, stop: StopRequest) -> None:
    assert ask(dashboard, "GET", f"/stop?token={dashboard.token}")[0] == 404
    assert not stop.is_told
    assert ask(dashboard, "POST", f"/stop?token={dashboard.token}")[0] == 200
    assert stop.is_told


def test_it_listens_on_this_machine_only(dashboard: Dashboard) -> None:
    others = [address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {str(each) for each in others if not str(each).startswith("127.")}:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((address, dashboard.port), timeout=2.0)


def test_a_port_that_is_taken_is_replaced_by_a_free_one(dashboard: Dashboard, stop: StopRequest) -> None:
    second = Dashboard(stop, dashboard.port)
    assert second.port != dashboard.port
    assert ask(second, "GET", f"/?token={dashboard.token}")[0] == 403
    second.close()


def opened_stream(dashboard: Dashboard) -> socket.socket:
    stream = socket.create_connection((HOST, dashboard.port), timeout=10.0)
    stream.sendall(f"GET /events?token={dashboard.token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return stream


def received(stream: socket.socket, until: str) -> str:
    text = b""
    while until.encode() not in text:
        more = stream.recv(1 << 16)
        assert more, text[-500:]
        text += more
    return text.decode()


def test_the_stream_tells_the_drive_its_newest_step_and_its_end(dashboard: Dashboard) -> None:
    with opened_stream(dashboard) as stream:
        received(stream, ": loading")
        for frame in range(1, 4):
            dashboard.show(step(frame))
        dashboard.begin(DRIVE)
        text = received(stream, '"time_s":0.15')
        dashboard.end('he said "end"\nevent: drive')
        while more := stream.recv(1 << 16):
            text += more.decode()
    events = re.findall("^event: (.*)\ndata: (.*)\n\n", text, re.MULTILINE)
    assert [name for name, _ in events] == ["drive", "step", "end"]  # two steps were out of date
    drive, seen, end = (json.loads(data) for _, data in events)
    assert drive["route_m"] == 50.0
    assert (seen["truth"]["x_m"], seen["sensors"]) == (1.0, {"front": True, "gnss": False})
    assert base64.b64decode(seen["front"]).startswith(b"\xff\xd8")
    assert end == 'he said "end"\nevent: drive'


def test_an_end_before_the_first_step_is_told_too(dashboard: Dashboard) -> None:
    with opened_stream(dashboard) as stream:
        received(stream, ": loading")
        dashboard.end("interrupted")
        received(stream, 'data: "interrupted"')


def test_more_pages_than_allowed_are_refused(dashboard: Dashboard) -> None:
    streams = [opened_stream(dashboard) for _ in range(STREAMS_MAX)]
    for stream in streams:
        received(stream, ": loading")
    with opened_stream(dashboard) as stream:
        assert received(stream, "\r\n").startswith("HTTP/1.0 503")
    for stream in streams:
        stream.close()


def test_a_page_that_does_not_read_delays_nothing_and_is_let_go(
    dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("av_stack.viewing.dashboard.server._Handler.timeout", 0.5)
    dashboard.begin(replace(DRIVE, name="x" * 30_000_000))  # more than the sockets hold
    with opened_stream(dashboard):
        deadline_s, shown = time.monotonic() + 10.0, 0
        while not dashboard.is_watched:
            assert time.monotonic() < deadline_s
        while dashboard.is_watched:
            assert time.monotonic() < deadline_s
            dashboard.show(step())
            shown += 1
            time.sleep(0.01)
    assert shown > 3, "a step that waited for the page would be the only one before the page is let go"
    assert capfd.readouterr().err == ""


def test_an_error_in_a_page_is_said_once_and_delays_nothing(
    dashboard: Dashboard, capfd: pytest.CaptureFixture[str]
) -> None:
    dashboard.begin(DRIVE)
    dashboard.show(replace(step(), progress=None))  # type: ignore[arg-type]
    for _ in range(2):
        with opened_stream(dashboard) as stream:
            while stream.recv(1 << 16):
                pass
    assert len(capfd.readouterr().err.splitlines()) == 1
