"""Hostile messages against a real server process, while a well-behaved client goes on:

    python -m tests.embedded_carla.fuzz.run_fuzz --messages 200000 --seed 1

Message k of a seed is made from (seed, k) and the actors that there are. `--only k` sends that one alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from embedded_carla.handlers import METHODS
from tests.embedded_carla.fuzz.calls import Population, call
from tests.embedded_carla.fuzz.findings import FAULT, Findings
from tests.embedded_carla.fuzz.noise import noise, stream_noise, throw
from tests.embedded_carla.fuzz.target import Attacker, HungError, Listeners, Target, populate, target

AT_ONCE = 50
ROUND_MESSAGES = 2500
THROWN_SHARE = 0.02
SLOW_EVERY = 100_000  # messages; each slow reader holds a synchronous world up for two seconds
HALF_OPEN_MOST = 60
WARM_MESSAGES = 5000


def message_rng(seed: int, number: int) -> random.Random:
    return random.Random(f"{seed} {number}")


@contextlib.contextmanager
def steady_client(port: int) -> Any:
    """The well-behaved client; on leaving it must still be well, and says what it saw."""
    command = [sys.executable, "-m", "tests.embedded_carla.fuzz.steady", str(port)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = {"process": process}
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield told
        out, _ = process.communicate("\n", timeout=120.0)
        assert process.returncode == 0, f"the well-behaved client ended with {process.returncode}"
        told |= json.loads(out.splitlines()[-1])
    finally:
        process.kill()
        process.wait(30)


class Fuzz:
    """One run."""

    def __init__(self, server: Target, seed: int, findings: Findings) -> None:
        self._server, self._seed, self._findings = server, seed, findings
        self._names = sorted(METHODS)
        self._half_open: list[socket.socket] = []
        self._listeners = Listeners(server.port + 1)
        self._attacker = Attacker(server.port)
        self._population = Population((1,), (1,))

    def new_round(self, number: int) -> None:
        self._population = populate(self._attacker, message_rng(self._seed, -number))
        self._listeners.open(self._population.streams[1:])

    def one(self, number: int) -> tuple[str, bytes]:
        return call(number, self._names, message_rng(self._seed, number), self._population)

    def send(self, numbers: range) -> None:
        """Send these messages on one connection and look at every answer."""
        made = [self.one(number) for number in numbers]
        try:
            answers = self._attacker.exchange([data for _, data in made], len(made))
        except (HungError, ConnectionError) as error:
            self._fault(f"{type(error).__name__} {error}", f"messages {numbers.start} to {numbers.stop - 1}")
            self._attacker = Attacker(self._server.port)
            return
        by_number = {answer[1]: answer for answer in answers}
        for number, (method, data) in zip(numbers, made, strict=True):
            answer = by_number.get(number)
            if answer is None:
                self._fault(f"{method}: no answer", f"message {number}: {data.hex()[:2000]}")
                continue
            self._findings.errors += answer[2] is not None or _is_error(answer[3])
            if isinstance(answer[2], str) and FAULT.match(answer[2]):
                self._fault(answer[2][:160], f"message {number}: {data.hex()[:2000]}")
        self._findings.messages += len(made)

    def _fault(self, what: str, where: str) -> None:
        if what not in self._findings.faults:
            print(f"FAULT {what}\n  {where}", flush=True)
            self._findings.faults[what] = where

    def throw(self, number: int) -> None:
        """Noise on a connection of its own."""
        rng = message_rng(self._seed, number)
        data, port = noise(rng), self._server.port
        if rng.random() < 0.4:
            data, port = stream_noise(rng), port + 1
        left = throw(port, data, rng)
        if left is not None:
            self._half_open.append(left)
        while len(self._half_open) > HALF_OPEN_MOST:
            self._half_open.pop(0).close()
        self._findings.thrown += 1

    def read_nothing(self) -> None:
        """A client that asks for the map again and again and reads nothing; and a listener that reads nothing."""
        deaf = socket.create_connection(("127.0.0.1", self._server.port), timeout=1.0)
        ask = b"".join(b"\x94\x00\x01\xacget_map_data\x91\x91\xc2" for _ in range(500))
        with contextlib.suppress(OSError):
            deaf.sendall(ask)
        listener = socket.create_connection(("127.0.0.1", self._server.port + 1), timeout=1.0)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.sendall(struct.pack("<I", 1))
        self._half_open += [deaf, listener]

    def close(self) -> None:
        self._listeners.close()
        self._attacker.close()
        for sock in self._half_open:
            sock.close()


def _is_error(result: Any) -> bool:
    match result:
        case [[0, [str()]]] | [[True, [str()]]]:
            return True
    return False


def run(messages: int, seed: int, folder: Path, *, told: bool = True, slow: bool = True) -> Findings:
    """Send them all. Raises when the server dies, hangs or harms the well-behaved client; faults are in the result."""
    findings, began_s = Findings(), time.monotonic()
    with target(folder) as server, steady_client(server.port) as steady:
        fuzz = Fuzz(server, seed, findings)
        for start in range(0, messages, AT_ONCE):
            if start % ROUND_MESSAGES == 0:
                fuzz.new_round(start)
            if slow and start % SLOW_EVERY == SLOW_EVERY // 2:
                fuzz.read_nothing()
            fuzz.send(range(start, min(start + AT_ONCE, messages)))
            for number in range(start, start + AT_ONCE):
                if message_rng(seed, ~number).random() < THROWN_SHARE:
                    fuzz.throw(~number)
            assert server.process.poll() is None, f"the server ended with {server.process.returncode}"
            assert steady["process"].poll() is None, f"the steady client ended with {steady['process'].returncode}"
            if start >= min(WARM_MESSAGES, messages // 3) and start % 500 == 0:
                findings.resident_mb.append(round(server.resident_mb(), 1))
            if told and start % 1000 == 0:
                _tell(start, messages, findings, time.monotonic() - began_s, server)
        findings.resident_mb.append(round(server.resident_mb(), 1))
        fuzz.close()
        traces = server.faults()
    if traces and not findings.faults:
        findings.faults[f"{traces} traces in the server's log"] = server.log.read_text()[-3000:]
    steady.pop("process")
    findings.steady, findings.seconds = steady, round(time.monotonic() - began_s, 1)
    return findings


def _tell(done: int, messages: int, findings: Findings, seconds: float, server: Target) -> None:
    print(
        f"{done}/{messages} messages, {findings.errors} answered with an error, {findings.thrown} thrown, "
        f"{len(findings.faults)} faults, {server.resident_mb():.0f} MB resident, {seconds:.0f} s",
        flush=True,
    )


def send_one(number: int, seed: int, folder: Path) -> None:
    """That message alone, with its answer."""
    with target(folder) as server:
        fuzz = Fuzz(server, seed, Findings())
        fuzz.new_round(number // ROUND_MESSAGES * ROUND_MESSAGES)
        method, data = fuzz.one(number)
        print(f"{method}: {data.hex()}", flush=True)
        fuzz.send(range(number, number + 1))
        fuzz.close()
        print(server.log.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="send this message alone and show its answer")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.only is not None:
            send_one(arguments.only, arguments.seed, Path(folder))
            return 0
        try:
            findings = run(arguments.messages, arguments.seed, Path(folder))
        finally:
            (arguments.out / "server.log").write_bytes((Path(folder) / "server.log").read_bytes())
    result = {
        "seed": arguments.seed, "messages": findings.messages, "answered_with_an_error": findings.errors,
        "thrown": findings.thrown, "faults": findings.faults, "seconds": findings.seconds,
        "resident_mb": [findings.resident_mb[0], max(findings.resident_mb), findings.resident_mb[-1]],
        "steady_client": findings.steady,
    }  # fmt: skip
    (arguments.out / "fuzz.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
