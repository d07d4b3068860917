"""Soak test of ticks with TrafficManager traffic and a camera: does the server's memory stay flat?

A life is one server process with its client. Its memory is judged from its WARM_TICKS-th tick on.
"""

from __future__ import annotations

import itertools
import random
import socket
import time
from typing import Any, cast

import carla

from av_stack.world.carla.actors import SpawnOnAutopilot
from benchmarks.soak.part import run_part
from benchmarks.soak.progress import Progress, tell
from benchmarks.soak.watched import Watched

VEHICLES = 30
DELTA_S = 0.05
CAMERA = {"image_size_x": "320", "image_size_y": "180", "sensor_tick": "0.5"}
WARM_TICKS, SAMPLE_TICKS = 10_000, 500
FLAT = 0.05


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def traffic(client: carla.Client, count: int) -> tuple[carla.World, list[int]]:
    """Set up a synchronous world with `count` TrafficManager cars; returns the world and the cars' ids."""
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, DELTA_S
    world.apply_settings(settings)
    manager = client.get_trafficmanager(free_port())
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(0)
    models = [b for b in world.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") == "car"]
    points = world.get_map().get_spawn_points()
    random.Random(0).shuffle(points)
    batch = SpawnOnAutopilot(manager.get_port())
    for model, point in zip(itertools.cycle(models), points[:count], strict=False):
        batch.add(model, point)
    return world, batch.spawn(client, True)


def _life(server: Watched, progress: Progress, target: int) -> None:
    """Tick until the target is reached or the user interrupts."""
    client = carla.Client("127.0.0.1", server.port)
    client.set_timeout(60.0)
    world, cars = traffic(client, VEHICLES)
    blueprint = world.get_blueprint_library().find("sensor.camera.rgb")
    for name, value in CAMERA.items():
        blueprint.set_attribute(name, value)
    pictures = itertools.count()
    at = carla.Transform(carla.Location(x=1.5, z=1.8))
    camera = cast("carla.Sensor", world.spawn_actor(blueprint, at, attach_to=world.get_actor(cars[0])))
    camera.listen(lambda _picture: next(pictures))
    life: dict[str, Any] = {"ticks": 0, "seconds": 0.0, "vehicles": len(cars), "resident_mb": []}
    progress.data.setdefault("lives", []).append(life)
    done, began_s = _count(progress.data), time.monotonic()
    while done < target:
        for _ in range(SAMPLE_TICKS):
            world.tick()
        done, life["ticks"] = done + SAMPLE_TICKS, life["ticks"] + SAMPLE_TICKS
        life["seconds"] = round(time.monotonic() - began_s, 1)
        life["resident_mb"].append(round(server.resident_mb(), 2))
        snapshot = world.get_snapshot()
        driving = [state for i in cars if (state := snapshot.find(i)) is not None]  # the manager removes stuck cars
        life["vehicles"] = len(driving)
        speeds = [state.get_velocity().length() for state in driving]
        life["mean_speed_mps"] = round(sum(speeds) / max(len(speeds), 1), 2)
        progress.save()
        rate = life["ticks"] / max(life["seconds"], 0.1)
        tell(f"ticks {done}/{target}: {life['resident_mb'][-1]:.1f} MB resident, {rate:.0f} ticks/s")
    life["pictures"] = next(pictures)


def judge(data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Result over all lives, and whether memory stayed flat.

    A life's samples after the warm-up must differ by at most the fraction FLAT.
    """
    lives = data.get("lives", [])
    warm = [life["resident_mb"][WARM_TICKS // SAMPLE_TICKS - 1 :] for life in lives]
    judged = [(min(rows), max(rows)) for rows in warm if len(rows) > 1]
    spread = max((high / low - 1.0 for low, high in judged), default=None)
    is_flat = spread is not None and spread <= FLAT
    ticks = _count(data)
    return {
        "ticks": ticks, "lives": [life["ticks"] for life in lives], "judged_lives": len(judged),
        "ticks_per_s": round(ticks / max(sum(life["seconds"] for life in lives), 1e-9), 1),
        "resident_mb_after_warm_up": [[min(rows), max(rows)] for rows in warm if rows],
        "largest_spread": None if spread is None else round(spread, 4), "flat": is_flat,
    }, is_flat  # fmt: skip


def _count(data: dict[str, Any]) -> int:
    return sum(life["ticks"] for life in data.get("lives", []))


if __name__ == "__main__":
    run_part("ticks", 100_000, _count, _life, judge, about=__doc__)
