"""load_world again and again with one client, which must live through every one and find the new world in order."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import carla

from benchmarks.soak.progress import Progress, leave, stop_on_signals, tell
from benchmarks.soak.watched import Watched, watched_server

MAPS = ("city_grid", "country_road", "motorway")
SAMPLE_LOADS = 10
WARM_LOADS = 50
FLAT = 0.05


def _one(client: carla.Client, name: str, seen: set[int]) -> None:
    """Load, and use what was loaded."""
    world = client.load_world(name)
    assert world.get_map().name.endswith(name), world.get_map().name
    car = world.spawn_actor(
        world.get_blueprint_library().find("vehicle.audi.tt"), world.get_map().get_spawn_points()[0]
    )
    assert car.id not in seen, f"actor id {car.id} was given twice"
    seen.add(car.id)
    world.wait_for_tick()
    world.wait_for_tick()  # the first may have been made before the car
    assert [actor.id for actor in world.get_actors().filter("vehicle.*")] == [car.id]


def _life(server: Watched, progress: Progress, target: int) -> None:
    client = carla.Client("127.0.0.1", server.port)
    client.set_timeout(60.0)
    life = {"loads": 0, "seconds": 0.0, "resident_mb": [], "descriptors": []}
    lives = progress.data.setdefault("lives", [])
    done = sum(other["loads"] for other in lives)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    parser.add_argument("--loads", type=int, default=500)
    arguments = parser.parse_args()
    stop_on_signals()
    progress = Progress(arguments.out, "loads")
    status = 0
    try:
        if sum(life["loads"] for life in progress.data.get("lives", [])) < arguments.loads:
            with watched_server("--map", "city_grid", log=arguments.out / "loads.log") as server:
                _life(server, progress, arguments.loads)
    except KeyboardInterrupt:
        status = 130
    lives = progress.data.get("lives", [])
    warm = [life["resident_mb"][WARM_LOADS // SAMPLE_LOADS - 1 :] for life in lives]
    spread = max((max(rows) / min(rows) - 1.0 for rows in warm if len(rows) > 1), default=None)
    progress.data["result"] = {
        "loads": sum(life["loads"] for life in lives), "lives": [life["loads"] for life in lives],
        "resident_mb_after_warm_up": [[min(rows), max(rows)] for rows in warm if rows],
        "largest_spread": None if spread is None else round(spread, 4), "flat": spread is not None and spread <= FLAT,
        "descriptors": [[min(life["descriptors"]), max(life["descriptors"])] for life in lives if life["descriptors"]],
    }  # fmt: skip
    progress.save()
    tell(f"loads: {progress.data['result']}")
    leave(status)


if __name__ == "__main__":
    main()
