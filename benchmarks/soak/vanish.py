"""Soak test of vanishing clients: twenty listen to cameras and other sensors and vanish, half by kill -9, half by exit.

Another client ticks the world all the time. Afterwards the server must have no more open files and sockets than before.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import carla

from av_stack.world.carla.actors import actors_in
from benchmarks.soak.part import run_part
from benchmarks.soak.progress import Progress, tell
from benchmarks.soak.ticks import traffic
from benchmarks.soak.watched import Watched

GUESTS = 20
VEHICLES = 10
ROUND_S = 180.0
SETTLE_TICKS = 50


def _start(port: int, number: int) -> subprocess.Popen[bytes]:
    way = "stay" if number % 2 else "exit"
    command = [sys.executable, "-m", "benchmarks.soak.guest", str(port), str(number), way]
    guest = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert guest.stdout is not None
    os.set_blocking(guest.stdout.fileno(), False)
    return guest


def _round(world: carla.World, port: int) -> dict[str, Any]:
    """Start all guests and let them vanish while the world ticks; returns the round's figures."""
    guests = [_start(port, number) for number in range(GUESTS)]
    waiting, killed, slowest_s, ticks = set(range(GUESTS)), 0, 0.0, 0
    until_s = time.monotonic() + ROUND_S
    try:
        while waiting and time.monotonic() < until_s:
            start = time.perf_counter()
            world.tick()
            slowest_s, ticks = max(slowest_s, time.perf_counter() - start), ticks + 1
            for number in tuple(waiting):
                stdout = guests[number].stdout
                assert stdout is not None
                if stdout.read() == b"listening\n":
                    waiting.discard(number)
                    if number % 2:
                        guests[number].kill()
                        killed += 1
                elif guests[number].poll() is not None:
                    raise SystemExit(f"guest {number} ended before it listened")
    finally:
        for guest in guests:
            guest.kill()
            guest.wait(30)
    assert not waiting, f"guests {sorted(waiting)} heard nothing in {ROUND_S:g} s"
    return {"guests": GUESTS, "killed": killed, "ticks": ticks, "slowest_tick_s": round(slowest_s, 3)}


def _life(server: Watched, progress: Progress, rounds: int) -> None:
    client = carla.Client("127.0.0.1", server.port)
    client.set_timeout(60.0)
    world, _cars = traffic(client, VEHICLES)
    own = {actor.id for actor in actors_in(world)}
    before = server.descriptors()
    done: list[dict[str, Any]] = progress.data.setdefault("rounds", [])
    while len(done) < rounds:
        row = _round(world, server.port)
        left = [a.id for a in actors_in(world) if a.id not in own]
        client.apply_batch_sync([carla.command.DestroyActor(i) for i in left], True)
        for _ in range(SETTLE_TICKS):
            world.tick()
        row |= {
            "actors_left": len(left), "descriptors_before": before, "descriptors_after": server.descriptors(),
            "resident_mb": round(server.resident_mb(), 2),
        }  # fmt: skip
        done.append(row)
        progress.save()
        tell(f"vanish {len(done)}/{rounds}: {row}")


def judge(data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Result over all rounds; good if no round left a descriptor open."""
    rows = data.get("rounds", [])
    is_good = bool(rows) and all(row["descriptors_after"] <= row["descriptors_before"] for row in rows)
    return {
        "rounds": len(rows), "clients": sum(row["guests"] for row in rows), "killed": sum(r["killed"] for r in rows),
        "slowest_tick_s": max((row["slowest_tick_s"] for row in rows), default=None), "no_descriptor_left": is_good,
    }, is_good  # fmt: skip


if __name__ == "__main__":
    run_part("rounds", 5, lambda data: len(data.get("rounds", [])), _life, judge, part="vanish", about=__doc__)
