"""Command line: `python -m embedded_carla [--map NAME|FILE.xodr] [--port 2000]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.maps import MapLibrary
from embedded_carla.memory import keep_freed_memory
from embedded_carla.recorder.folder import FOLDER_VARIABLE, default_folder
from embedded_carla.render.warm_up import rest_beside
from embedded_carla.server import Server
from embedded_carla.simulation import Simulation
from embedded_carla.sockets import listen
from embedded_carla.streaming import StreamHub
from embedded_carla.types import Handling
from embedded_carla.warm_up import warm_up
from embedded_carla.world.loader import MapLoader

DEFAULT_MAP = "city_grid"
MAPS_VARIABLE = "EMBEDDED_CARLA_MAPS"
LONGEST_END_S = 2.0
"""Time that a server has to end in order once the program that started it is gone."""


class _Parser(argparse.ArgumentParser):
    """Tells what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists what there is\n")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="embedded_carla", description="A server that CARLA 0.9.16 clients talk to.")
    parser.add_argument("--map", default=DEFAULT_MAP, metavar="NAME|FILE.xodr", help="first map (%(default)s)")
    parser.add_argument(
        "--maps", action="append", default=[], type=Path, metavar="DIR",
        help=f"folder with more .xodr maps, may be given again; also ${MAPS_VARIABLE}",
    )  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s: this machine only)")
    parser.add_argument("--port", default=2000, type=int, help="RPC port; streams use the next one (%(default)s)")
    parser.add_argument("--seed", default=0, type=int, help="of scenery and sensor noise (%(default)s)")
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
    """Ends the server when standard input ends, also one that is still loading or does not come to its end."""

    def __init__(self) -> None:
        self.server: Server | None = None  # set when it serves
        threading.Thread(target=self._watch, name="stdin", daemon=True).start()

    def _watch(self) -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        if self.server is not None:
            self.server.stop()
            time.sleep(LONGEST_END_S)
        os._exit(0)  # the helpers of this process end with it


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP (status 0); status 2 with one line when the server cannot start."""
    arguments = _arguments(argv)
    stdin_watch = _StdinWatch() if arguments.until_stdin_ends else None
    keep_freed_memory()
    warm_up()
    try:
        library = MapLibrary(_map_folders(arguments.maps))
        first = library.add_file(Path(arguments.map)) if arguments.map.endswith(".xodr") else arguments.map
        loader = MapLoader(library, arguments.seed)
        sockets = listen(arguments.host, arguments.port)

        def make(hub: StreamHub, port: int) -> Simulation:
            return Simulation(
                loader,
                hub,
                port,
                first,
                arguments.seed,
                recordings=arguments.recordings,
                handling=Handling(arguments.handling),
            )

        try:
            server = Server(sockets, make)
        except BaseException:
            for sock in sockets:
                sock.close()
            raise
    except EmbeddedCarlaError as error:
        print(f"embedded_carla: {error}", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` has it ignored
            signal.signal(number, lambda *_: server.stop())
    if stdin_watch is not None:
        stdin_watch.server = server
    where = f"{arguments.host}:{server.port}"
    print(f"embedded_carla: listening on {where}, map {server.simulation.map.name}", flush=True)
    try:
        with rest_beside():
            server.serve()
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
