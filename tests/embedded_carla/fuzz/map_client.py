"""A real client that sends mutated maps to a server and uses the worlds: `... PORT SEED`, numbers on standard input."""

from __future__ import annotations

import sys

import carla

from tests.embedded_carla.fuzz.map_worker import answers_only, mutated, walk_lanes

_TIMEOUT_S = 100.0


def _use(client: carla.Client, text: str) -> str:
    """One line that says what became of the map."""
    try:
        world = client.generate_opendrive_world(text)
    except RuntimeError as error:
        if "map OpenDriveMap: " not in str(error):
            raise
        return f"refused {error}"
    town = world.get_map()
    walk_lanes(town)
    vehicle = world.get_blueprint_library().find("vehicle.audi.tt")
    places = town.get_spawn_points()
    if places:
        assert world.try_spawn_actor(vehicle, places[0]) is not None
    for _ in range(3):
        world.wait_for_tick()
    return f"accepted with {len(places)} spawn points"


def main() -> None:
    answers = answers_only()
    client = carla.Client("127.0.0.1", int(sys.argv[1]))
    client.set_timeout(_TIMEOUT_S)
    for number in map(int, sys.stdin.read().split()):
        print(_use(client, mutated(int(sys.argv[2]), number)), file=answers, flush=True)


if __name__ == "__main__":
    main()
