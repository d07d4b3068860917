"""Soak test of load_world: one client loads maps again and again, must survive each and find the new world in order."""

from __future__ import annotations

import time
from typing import Any

import carla

from av_stack.world.carla.actors import actors_in
from benchmarks.soak.part import run_part
from benchmarks.soak.progress import Progress, tell
from benchmarks.soak.watched import Watched

MAPS = ("city_grid", "country_road", "motorway")
SAMPLE_LOADS = 10
WARM_LOADS = 50
FLAT = 0.05


def _one(client: carla.Client, name: str, seen: set[int]) -> None:
    """Load a map and check the new world: its name, a new actor's id, its list of vehicles."""
    world = client.load_world(name)
    assert world.get_map().name.endswith(name), world.get_map().name
    car = world.spawn_actor(
        world.get_blueprint_library().find("vehicle.audi.tt"), world.get_map().get_spawn_points()[0]
    )
    assert car.id not in seen, f"actor id {car.id} was given twice"
    seen.add(car.id)
    world.wait_for_tick()
    world.wait_for_tick()  # the first tick may be older than the car
    assert [actor.id for actor in actors_in(world, "vehicle.*")] == [car.id]


def _life(server: Watched, progress: Progress, target: int) -> None:
    client = carla.Client("127.0.0.1", server.port)
    client.set_timeout(60.0)
    life: dict[str, Any] = {"loads": 0, "seconds": 0.0, "resident_mb": [], "descriptors": []}
    lives = progress.data.setdefault("lives", [])
    done = _count(progress.data)
    lives.append(life)
    seen: set[int] = set()
    began_s = time.monotonic()
    while done < target:
        _one(client, MAPS[done % len(MAPS)], seen)
        done, life["loads"] = done + 1, life["loads"] + 1
        life["seconds"] = round(time.monotonic() - began_s, 1)
        if done % SAMPLE_LOADS == 0:
            life["resident_mb"].append(round(server.resident_mb(), 2))
            life["descriptors"].append(server.descriptors())
            progress.save()
            tell(f"loads {done}/{target}: {life['resident_mb'][-1]:.1f} MB resident, {life['descriptors'][-1]} files")


def judge(data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Result over all lives, and whether memory stayed flat.

    A life's samples after the warm-up must differ by at most the fraction FLAT.
    """
    lives = data.get("lives", [])
    warm = [life["resident_mb"][WARM_LOADS // SAMPLE_LOADS - 1 :] for life in lives]
    spread = max((max(rows) / min(rows) - 1.0 for rows in warm if len(rows) > 1), default=None)
    is_flat = spread is not None and spread <= FLAT
    return {
        "loads": _count(data), "lives": [life["loads"] for life in lives],
        "resident_mb_after_warm_up": [[min(rows), max(rows)] for rows in warm if rows],
        "largest_spread": None if spread is None else round(spread, 4), "flat": is_flat,
        "descriptors": [[min(life["descriptors"]), max(life["descriptors"])] for life in lives if life["descriptors"]],
    }, is_flat  # fmt: skip


def _count(data: dict[str, Any]) -> int:
    return sum(life["loads"] for life in data.get("lives", []))


if __name__ == "__main__":
    run_part("loads", 500, _count, _life, judge, about=__doc__)
