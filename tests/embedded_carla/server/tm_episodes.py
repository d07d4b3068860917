"""Many short synchronous episodes of the wheel's TrafficManager against a server, counting hangs.

    python -m tests.embedded_carla.server.tm_episodes --episodes 2000 --busy 2

Each episode switches world and TrafficManager to synchronous mode, spawns a few vehicles on autopilot, ticks, destroys
them and switches back. A client that makes no progress for `--patience` seconds has hung: it is killed, counted, and
replaced; so is one that the wheel aborts. `--server` changes the pace of the server that is started.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from multiprocessing.sharedctypes import Synchronized
from typing import Any

START_SERVER = """
import sys
from embedded_carla import pace
from embedded_carla.__main__ import main
options = sys.argv[1].split(",")
for option in options:
    if "=" in option:
        name, value = option.split("=")
        assert hasattr(pace, name), name
        setattr(pace, name, float(value))
if "no-pace" in options:
    pace.TrafficManagerWatch.may_tick = lambda *_: True
    pace.TrafficManagerWatch.settle_s = lambda *_: 0.0
if "no-physics" in options:
    from embedded_carla.world.episode import Episode
    def tick(self, frame, delta_s):
        self.frame, self.time_s = frame, self.time_s + delta_s
        self._write_bodies()
    Episode.tick = tick
sys.exit(main(["--port", "0"]))
"""
STARTS_S = 30.0


@dataclass(slots=True)
class Outcome:
    """Figures of one experiment."""

    episodes: int = 0
    ticks: int = 0
    hangs: int = 0
    aborts: int = 0  # the client's process ended with a signal of its own
    seconds: float = 0.0


def busy() -> None:
    """Load one core until killed."""
    while True:
        pass


def drive(
    port: int, episodes: int, vehicles: int, ticks: int, done: Synchronized[int], beat: Synchronized[int]
) -> None:
    """The client: run `episodes`, counting finished ones in `done` and ticks in `beat`."""
    import carla

    client = carla.Client("127.0.0.1", port)
    client.set_timeout(20.0)
    world = client.get_world()
    spawn_points = world.get_map().get_spawn_points()
    library = world.get_blueprint_library().filter("vehicle.*")
    blueprints = [b for b in library if int(b.get_attribute("number_of_wheels")) == 4]
    manager = client.get_trafficmanager(20000 + os.getpid() % 20000)
    for episode in range(episodes):
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
        world.apply_settings(settings)
        manager.set_synchronous_mode(True)
        manager.set_random_device_seed(episode)
        future: Any = carla.command.FutureActor  # the stub forgets that SetAutopilot takes it
        autopilot = carla.command.SetAutopilot(future, True, manager.get_port())
        batch = []
        for i in range(vehicles):
            spawn = carla.command.SpawnActor(
                blueprints[i % len(blueprints)], spawn_points[(7 * episode + 5 * i) % len(spawn_points)]
            )
            batch.append(spawn.then(autopilot))
        ids = [r.actor_id for r in client.apply_batch_sync(batch, True) if not r.error]
        for _ in range(ticks):
            world.tick()
            beat.value += 1
        client.apply_batch_sync([carla.command.DestroyActor(i) for i in ids], True)
        manager.set_synchronous_mode(False)
        settings.synchronous_mode, settings.fixed_delta_seconds = False, None
        world.apply_settings(settings)
        done.value += 1


def start_server(options: list[str]) -> tuple[subprocess.Popen[str], int]:
    server = subprocess.Popen(
        [sys.executable, "-c", START_SERVER, ",".join(options)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    line = server.stdout.readline()
    return server, int(line.split("listening on ")[1].split(",")[0].rsplit(":", 1)[1])


def backtrace(pid: int) -> str:
    """Where the threads of a hung client wait, if gdb is there to tell."""
    try:
        asked = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"]
        return subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no backtrace: {error}"


def experiment(
    port: int, episodes: int, vehicles: int, ticks: int, patience_s: float, *, show_hang: bool = False
) -> Outcome:
    """Run until `episodes` are done or have hung."""
    context = multiprocessing.get_context("spawn")
    outcome, start_s = Outcome(), time.monotonic()
    while (spent := outcome.episodes + outcome.hangs + outcome.aborts) < episodes:
        done, beat = context.Value("i", 0), context.Value("i", 0)
        client = context.Process(target=drive, args=(port, episodes - spent, vehicles, ticks, done, beat))
        client.start()
        seen, seen_s = (-1, -1), time.monotonic() + STARTS_S
        while client.is_alive():
            client.join(0.2)
            now = (done.value, beat.value)
            if now != seen:
                seen, seen_s = now, max(time.monotonic(), seen_s if now == (0, 0) else 0.0)
            elif time.monotonic() - seen_s > patience_s:
                if show_hang:
                    print(backtrace(client.pid or 0), file=sys.stderr)
                client.kill()
                client.join()
                outcome.hangs += 1
        if client.exitcode not in (0, -signal.SIGKILL):
            if (client.exitcode or 0) > 0:
                raise RuntimeError(f"the client ended with status {client.exitcode}")
            outcome.aborts += 1
        outcome.episodes += done.value
        outcome.ticks += beat.value
    outcome.seconds = round(time.monotonic() - start_s, 1)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--vehicles", type=int, default=3)
    parser.add_argument("--ticks", type=int, default=15)
    parser.add_argument("--busy", type=int, default=0, help="processes that only load a core")
    parser.add_argument("--patience", type=float, default=10.0, help="seconds without progress that count as a hang")
    parser.add_argument(
        "--server", action="append", default=[], metavar="OPTION",
        help="no-pace (make frames as soon as they are asked for), no-physics (as fast as can be), or NAME=VALUE of "
        "embedded_carla.pace",
    )  # fmt: skip
    parser.add_argument("--backtrace", action="store_true", help="print a hung client's threads (needs gdb)")
    asked = parser.parse_args()
    loads = [multiprocessing.get_context("spawn").Process(target=busy, daemon=True) for _ in range(asked.busy)]
    for load in loads:
        load.start()
    server, port = start_server(asked.server)
    try:
        outcome = experiment(
            port, asked.episodes, asked.vehicles, asked.ticks, asked.patience, show_hang=asked.backtrace
        )
    finally:
        server.terminate()
        server.wait(10)
        for load in loads:
            load.kill()
    print(json.dumps(asdict(outcome)))
    return 1 if outcome.hangs or outcome.aborts else 0


if __name__ == "__main__":
    sys.exit(main())
