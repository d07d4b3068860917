"""The server under fire: its process, a raw connection that checks answers, and a world full of actors."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack

from embedded_carla.blueprints import LIBRARY
from embedded_carla.types import Attribute
from tests.embedded_carla.fuzz.calls import Population
from tests.embedded_carla.starting import listening_port

ANSWER_S = 60.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SENSORS: tuple[tuple[str, dict[str, str]], ...] = (
    ("sensor.camera.rgb", {"image_size_x": "64", "image_size_y": "36", "sensor_tick": "1.0"}),
    ("sensor.lidar.ray_cast", {"points_per_second": "2000", "sensor_tick": "1.0"}),
    ("sensor.other.radar", {"sensor_tick": "1.0"}), ("sensor.other.gnss", {}), ("sensor.other.imu", {}),
    ("sensor.other.collision", {}), ("sensor.other.obstacle", {}), ("sensor.other.v2x", {}),
    ("sensor.other.v2x_custom", {}),
)  # fmt: skip


FUZZED_SENSORS = tuple(kind for kind in LIBRARY if kind.startswith("sensor."))


def spoiled(rng: random.Random, attribute: Attribute) -> str:
    """A value that its kind allows and nobody expects."""
    if attribute.name.startswith("image_size"):
        return rng.choice(("1", "2", "33", "0", "-5", "64.7"))
    if attribute.name == "points_per_second":
        return rng.choice(("0", "1", "5000", "-1"))
    if attribute.kind in ("int", "float"):
        return rng.choice(("0", "-1", "1", "1e9", "-1e9", "1e-9", "0.5", "179", "1000"))
    return rng.choice((attribute.default, *attribute.recommended))


class HungError(Exception):
    """The server left a call without its answer."""


@dataclass(slots=True)
class Target:
    """A running server."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def resident_mb(self) -> float:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 1e6

    def faults(self) -> int:
        """Traces of the server's own faults so far."""
        return self.log.read_text(errors="replace").count("Traceback (most recent call last)")


@contextlib.contextmanager
def target(folder: Path) -> Iterator[Target]:
    """A server that keeps its recordings and its log within `folder`."""
    log = folder / "server.log"
    command = [
        sys.executable, "-m", "embedded_carla", "--port", "0", "--until-stdin-ends",
        "--recordings", str(folder / "recordings"),
    ]  # fmt: skip
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        try:
            yield Target(process, listening_port(process, log), log)
        finally:
            process.terminate()
            process.wait(30)


class Attacker:
    """One raw RPC connection."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._unpacker = self._fresh()

    @staticmethod
    def _fresh() -> Any:
        return msgpack.Unpacker(unicode_errors="surrogateescape", max_buffer_size=1 << 30, strict_map_key=False)

    def exchange(self, messages: Sequence[bytes], count: int) -> list[Any]:
        """Send all at once and take `count` answers. Raises HungError, or ConnectionError when it is closed."""
        sender = threading.Thread(target=self._send, args=(b"".join(messages),), daemon=True)
        sender.start()
        answers: list[Any] = []
        while len(answers) < count:
            try:
                data = self._sock.recv(1 << 20)
            except TimeoutError as error:
                raise HungError(f"{len(answers)} of {count} answers came in {ANSWER_S:g} s") from error
            if not data:
                raise ConnectionError(f"the server closed the connection after {len(answers)} of {count} answers")
            self._unpacker.feed(data)
            answers.extend(self._unpacker)
        sender.join(ANSWER_S)
        return answers

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the answers that do not come tell it
            self._sock.sendall(data)

    def ask(self, method: str, *args: Any) -> Any:
        """The result of one honest call."""
        (answer,) = self.exchange([msgpack.packb([0, 1, method, [[False], *args]])], 1)
        assert answer[2] is None, answer
        return answer[3]

    def close(self) -> None:
        self._sock.close()


@dataclass(slots=True)
class Listeners:
    """Connections to sensors' streams, emptied by a thread."""

    port: int
    _socks: list[socket.socket] = field(default_factory=list)

    def open(self, streams: Sequence[int]) -> None:
        self.close()
        for stream in streams:
            sock = socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S)
            sock.sendall(struct.pack("<I", stream))
            self._socks.append(sock)
            threading.Thread(target=self._drain, args=(sock,), daemon=True).start()

    @staticmethod
    def _drain(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock.settimeout(None)
            while sock.recv(1 << 20):
                pass

    def close(self) -> None:
        for sock in self._socks:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._socks.clear()


def populate(attacker: Attacker, rng: random.Random) -> Population:
    """A new episode with vehicles, walkers, props and one sensor of each kind; synchronous."""
    attacker.ask("load_new_episode", "city_grid", True, 0xFFFF)
    attacker.ask("set_episode_settings", [True, False, [True, 0.05], True, 0.01, 10, 0.0, True, 3000.0, 2000.0, True])
    starts = attacker.ask("get_map_info")[0][1][1]
    kinds = ["vehicle.audi.tt", "vehicle.carlamotors.firetruck", "vehicle.bh.crossbike", "vehicle.tesla.model3"]
    actors, streams = [1], [1]
    for i, start in enumerate(rng.sample(starts, 10)):
        kind = kinds[i % 4] if i < 6 else "walker.pedestrian.0015" if i < 9 else "static.prop.streetbarrier"
        [[ok, actor]] = attacker.ask("spawn_actor", [1, kind, []], start)
        if ok:
            actors.append(actor[0])
    for kind, given in SENSORS:
        rows = [[name, 4, value] for name, value in given.items()]
        mount = [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
        [[ok, actor]] = attacker.ask("spawn_actor_with_parent", [1, kind, rows], mount, actors[1], 0, "")
        assert ok, actor
        actors.append(actor[0])
        streams.append(struct.unpack_from("<I", actor[5])[0])
    for kind in FUZZED_SENSORS:
        given = {"image_size_x": "48", "image_size_y": "27"} if ".camera." in kind else {}
        given |= {a.name: spoiled(rng, a) for a in LIBRARY[kind].attributes if rng.random() < 0.2}
        rows = [[name, 4, value] for name, value in given.items()]
        [[ok, actor]] = attacker.ask("spawn_actor_with_parent", [1, kind, rows], mount, actors[1], 0, "")
        if ok:
            actors.append(actor[0])
            if actor[5]:
                streams.append(struct.unpack_from("<I", actor[5])[0])
    lights = [a[0] for a in attacker.ask("get_actors_by_id", list(range(1, actors[1])))[0][1]]
    return Population((*actors, *lights[:3], 0, 10**6), tuple(streams))
