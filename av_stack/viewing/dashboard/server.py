"""Serves the dashboard: one page, a stream of steps (server-sent events), and the stop button.

It listens on 127.0.0.1 only. Every request must contain the token of the address that the terminal shows, and name this
machine as its host. The check of the host stops pages of other sites whose names resolve to this machine.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import parse_qs, urlsplit

from av_stack.viewing.dashboard.page_data import PageData
from av_stack.viewing.stop import StopRequest
from av_stack.viewing.viewer import DriveStep, ViewedDrive

HOST, PORT = "127.0.0.1", 8700
"""Address and default port of the dashboard; if the port is taken, it listens on a free one."""

HOST_NAMES = ("127.0.0.1", "localhost")
"""Host names that a request may have, from a browser on this machine or at the other end of a tunnel."""

TOKEN_BYTES = 32
STEP_EVERY_S = 0.1
"""Time between two looks for a new step: the page shows at most ten a second."""

ALIVE_EVERY_S = 2.0
"""Time without a step after which an empty comment is sent, to find out whether the browser is still connected."""

CLIENT_WAIT_S = 5.0
"""Longest time that a client may take to send its request or to receive an event; then it is disconnected."""

STREAMS_MAX = 8
"""Largest number of pages that may watch at once."""

END_WAIT_S = 1.0
"""Longest time for which the program waits until the pages have received the end of the drive."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
PAGE, EVENTS, STOP = "/", "/events", "/stop"


class Dashboard:
    """A viewer that shows the drive in a browser at `url`; its stop button sets the request `stop`.

    `show` only keeps a reference to the step. The threads of the connected pages do all other work, so without a page
    there is none. Raises OSError where no port can be opened.
    """

    def __init__(self, stop: StopRequest, port: int = PORT) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._stop = stop
        self._data: PageData | None = None
        self._latest: DriveStep | None = None
        self._made: tuple[DriveStep, str] | None = None  # the event that was made last, and its step
        self._making = threading.Lock()
        self._end: str | None = None
        self._streams = 0
        self._changing = threading.Lock()
        self._server = _open(self, port)
        serve = partial(self._server.serve_forever, STEP_EVERY_S)
        threading.Thread(target=serve, name="dashboard", daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{PAGE}?token={self.token}"

    @property
    def is_watched(self) -> bool:
        """Whether any page is connected."""
        return self._streams > 0

    def begin(self, drive: ViewedDrive) -> None:
        self._data = PageData(drive)

    def show(self, step: DriveStep) -> None:
        self._latest = step

    def end(self, how: str) -> None:
        """Send the end of the drive to the pages; waits at most `END_WAIT_S` until they have received it."""
        self._end = how
        deadline_s = time.monotonic() + END_WAIT_S
        while self.is_watched and time.monotonic() < deadline_s:
            time.sleep(STEP_EVERY_S / 2)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def request_stop(self) -> None:
        self._stop.tell()

    def is_token(self, given: str) -> bool:
        """Whether this is the token. It takes the same time for all wrong tokens of the same length."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def open_stream(self) -> bool:
        """Whether one more page may watch; if so, the caller has to call `close_stream` later."""
        with self._changing:
            if self._streams >= STREAMS_MAX:
                return False
            self._streams += 1
            return True

    def close_stream(self) -> None:
        with self._changing:
            self._streams -= 1

    def events(self) -> Iterator[tuple[str, str]]:
        """(name, data) of the events for one page, to the end of the drive; an empty name is a comment."""
        while self._data is None and self._end is None:
            yield "", "loading"
            time.sleep(STEP_EVERY_S)
        if self._data is not None:
            yield "drive", self._data.drive()
        shown: DriveStep | None = None
        said_s, is_stopping = time.monotonic(), False
        while True:
            end, step = self._end, self._latest
            if self._stop.is_told and not is_stopping:
                is_stopping = True
                yield "stopping", "{}"
            if step is not None and step is not shown:
                shown, said_s = step, time.monotonic()
                yield "step", self._event(step)
            elif time.monotonic() - said_s > ALIVE_EVERY_S:
                said_s = time.monotonic()
                yield "", "waiting"
            if end is not None:
                yield "end", json.dumps(end)
                return
            time.sleep(STEP_EVERY_S)

    def _event(self, step: DriveStep) -> str:
        """The event of a step, made once for all pages."""
        with self._making:
            if self._made is None or self._made[0] is not step:
                assert self._data is not None
                self._made = step, self._data.step(step)
            return self._made[1]


def page() -> str:
    """The page, which needs no other file; its script finds the token in the address."""
    folder = files("av_stack.viewing.dashboard") / "static"
    texts = {name: (folder / f"dashboard.{name}").read_text(encoding="utf-8") for name in ("html", "css", "js")}
    return Template(texts["html"]).substitute(style=texts["css"], script=texts["js"])


class _Server(socketserver.ThreadingTCPServer):
    """Each request has a thread, which does not keep the program alive."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, dashboard: Dashboard, port: int) -> None:
        self.dashboard = dashboard
        self._told: set[str] = set()
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an unexpected error once; it ends the request, never the drive.

        Pages that disconnect or are too slow are no error.
        """
        error = sys.exc_info()[1]
        line = f"av-stack: dashboard: {type(error).__name__}: {error}"
        if not isinstance(error, OSError) and line not in self._told:
            self._told.add(line)
            print(line, file=sys.stderr, flush=True)


def _open(dashboard: Dashboard, port: int) -> _Server:
    try:
        return _Server(dashboard, port)
    except OSError:
        return _Server(dashboard, 0)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = CLIENT_WAIT_S

    def do_GET(self) -> None:
        if not self._is_allowed():
            return
        path = urlsplit(self.path).path
        if path == PAGE:
            self._answer(HTTPStatus.OK, page(), "text/html; charset=utf-8")
        elif path == EVENTS:
            self._stream()
        else:
            self._answer(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        if not self._is_allowed():
            return
        if urlsplit(self.path).path == STOP:
            self.server.dashboard.request_stop()
            self._answer(HTTPStatus.OK, "the car stops")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "no such page")

    def _is_allowed(self) -> bool:
        """Whether host and token are right; if not, the request is answered with an error."""
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        given = parse_qs(urlsplit(self.path).query).get("token", [""])[0]
        is_right = self.server.dashboard.is_token(given)
        if host.lower() in HOST_NAMES and is_right:
            return True
        self._answer(HTTPStatus.FORBIDDEN, "open the address that av-stack run has printed: it holds the token")
        return False

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        content = text.encode()
        self._begin(status, kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self) -> None:
        dashboard = self.server.dashboard
        if not dashboard.open_stream():
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{STREAMS_MAX} pages watch already")
            return
        try:
            self._begin(HTTPStatus.OK, "text/event-stream")
            self.end_headers()
            for name, data in dashboard.events():
                event = f"event: {name}\ndata: {data}\n\n" if name else f": {data}\n\n"
                self.wfile.write(event.encode())
        finally:
            dashboard.close_stream()

    def _begin(self, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in HEADERS.items():
            self.send_header(name, value)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal belongs to the drive."""
