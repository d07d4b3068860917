"""Command line: `python -m embedded_carla [--map NAME|FILE.xodr] [--port 2000]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from embedded_carla.errors import EmbeddedCarlaError, StartupError
from embedded_carla.handling import Handling
from embedded_carla.log import drop_unwritten
from embedded_carla.maps import MapLibrary
from embedded_carla.recorder.folder import FOLDER_VARIABLE, default_folder

if TYPE_CHECKING:
    from embedded_carla.server import Server
    from embedded_carla.simulation import Simulation
    from embedded_carla.wire.streaming import StreamHub

DEFAULT_MAP = "city_grid"
MAPS_VARIABLE = "EMBEDDED_CARLA_MAPS"
INTERRUPTED_STATUS = 130
SEED_MAX = 2**32 - 1
PORT_MAX = 65534  # the streams use the port after the RPC port
LONGEST_END_S = 2.0
"""Time, s, that the server gets to shut down in order after its parent program has ended."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists what there is\n")


def _whole_number(least: int, most: int) -> Callable[[str], int]:
    """An argparse type: a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from {least} to {most}")
        return int(text)

    return parse


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="embedded_carla", description="A server that CARLA 0.9.16 clients talk to.")
    parser.add_argument("--map", default=DEFAULT_MAP, metavar="NAME|FILE.xodr", help="first map (%(default)s)")
    parser.add_argument(
        "--maps", action="append", default=[], type=Path, metavar="DIR",
        help=f"folder with more .xodr maps, may be given again; also ${MAPS_VARIABLE}",
    )  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s: this machine only)")
    parser.add_argument(
        "--port", default=2000, type=_whole_number(0, PORT_MAX), help="RPC port; streams use the next one (%(default)s)"
    )
    parser.add_argument(
        "--seed", default=0, type=_whole_number(0, SEED_MAX), help="of scenery and sensor noise (%(default)s)"
    )
    parser.add_argument(
        "--look", default=0, type=_whole_number(0, SEED_MAX),
        help="seed of the pictures' look: materials, light, camera, signal heads; 0 is the usual one (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--handling", choices=[one.value for one in Handling], default=Handling.CARLA.value,
        help="how vehicles respond: as CARLA's do, or with real tyres, whose grip falls on a wet road (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--recordings", type=Path, metavar="DIR",
        help=f"folder of recordings, the only one that clients can name files in (${FOLDER_VARIABLE}, else "
        f"{default_folder()})",
    )  # fmt: skip
    parser.add_argument(
        "--until-stdin-ends", action="store_true",
        help="end when standard input does: the program that started the server holds its other end, and may die",
    )  # fmt: skip
    return parser.parse_args(argv)


def _map_folders(given: list[Path]) -> list[Path]:
    listed = os.environ.get(MAPS_VARIABLE, "")
    return [*given, *(Path(part) for part in listed.split(os.pathsep) if part)]


class _StdinWatch:
    """Stops the server when standard input ends.

    A process that is still loading exits at once; a server that does not finish its shutdown exits after LONGEST_END_S.
    """

    def __init__(self) -> None:
        self.server: Server | None = None  # None until the server listens
        threading.Thread(target=self._watch, name="stdin", daemon=True).start()

    def _watch(self) -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        if self.server is not None:
            self.server.stop()
            time.sleep(LONGEST_END_S)
        os._exit(0)  # the helper processes end with this one


def _stop_signals() -> list[signal.Signals]:
    """The signals that end the server; without SIGHUP where it is ignored, as under `nohup`."""
    hang_up = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hang_up]


def _leave_at_once(*_: object) -> NoReturn:
    """End without a traceback while modules are imported: no resources have to be released yet."""
    os.write(2, b"embedded_carla: interrupted\n")
    os._exit(INTERRUPTED_STATUS)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _started(arguments: argparse.Namespace) -> Server:
    """Start a server that listens and has loaded its first map.

    Raises EmbeddedCarlaError. Errors that are quick to find (map, folders) are raised before the slow imports.
    """
    library = MapLibrary(_map_folders(arguments.maps))
    first = library.add_file(Path(arguments.map)) if arguments.map.endswith(".xodr") else arguments.map
    library.load_text(first)
    if arguments.recordings is not None and arguments.recordings.exists() and not arguments.recordings.is_dir():
        raise StartupError(f"--recordings {arguments.recordings} is not a folder")

    from embedded_carla.maps.loader import MapLoader
    from embedded_carla.memory import keep_freed_memory
    from embedded_carla.server import Server
    from embedded_carla.simulation import Simulation
    from embedded_carla.warm_up import warm_up
    from embedded_carla.wire.sockets import listen

    for number in _stop_signals():
        signal.signal(number, _interrupt)
    keep_freed_memory()
    warm_up()
    loader = MapLoader(library, arguments.seed)
    sockets = listen(arguments.host, arguments.port)

    def make(hub: StreamHub, port: int) -> Simulation:
        return Simulation(
            loader, hub, port, first, arguments.seed,
            recordings=arguments.recordings, handling=Handling(arguments.handling), look=arguments.look,
        )  # fmt: skip

    try:
        return Server(sockets, make)
    except BaseException:
        for sock in sockets:
            sock.close()
        raise


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP (exit status 0).

    Exit status 2 with one line of text when the server cannot start; 130 with one line when one of these signals
    arrives before the server listens.
    """
    arguments = _arguments(argv)
    for number in _stop_signals():
        signal.signal(number, _leave_at_once)
    stdin_watch = _StdinWatch() if arguments.until_stdin_ends else None
    try:
        server = _started(arguments)
    except EmbeddedCarlaError as error:
        print(f"embedded_carla: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("embedded_carla: interrupted", file=sys.stderr)
        return INTERRUPTED_STATUS
    for number in _stop_signals():
        signal.signal(number, lambda *_: server.stop())
    if stdin_watch is not None:
        stdin_watch.server = server
    where = f"{arguments.host}:{server.port}"
    print(f"embedded_carla: listening on {where}, map {server.simulation.map.name}", flush=True)
    from embedded_carla.render.warm_up import rest_beside

    try:
        with rest_beside():
            server.serve()
    finally:
        server.close()
        drop_unwritten()
    return 0


if __name__ == "__main__":
    sys.exit(main())
