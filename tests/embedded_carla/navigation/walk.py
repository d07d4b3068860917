"""AI walkers through the real wheel, in a process of its own: a mesh that is wrong can end the wheel's process.

Prints JSON: for each walker its places [x, y, z of its feet] and speeds by tick; where the mesh gives no place, none.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import cast

import carla

DELTA_S = 0.05


def main(port: int, walkers: int, ticks: int, cross_factor: float) -> None:
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(20.0)
    with tempfile.TemporaryDirectory() as folder:
        client.set_files_base_folder(folder)
        world = client.get_world()
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, DELTA_S
        world.apply_settings(settings)
        world.set_pedestrians_seed(7)
        world.set_pedestrians_cross_factor(cross_factor)
        people = spawn(world, walkers)
        world.tick()
        blueprint = world.get_blueprint_library().find("controller.ai.walker")
        controllers = [
            cast("carla.WalkerAIController", world.spawn_actor(blueprint, carla.Transform(), person))
            for person in people
        ]
        world.tick()
        for controller in controllers:
            controller.start()
            target = world.get_random_location_from_navigation()
            controller.go_to_location(carla.Location() if target is None else target)
            controller.set_max_speed(1.4)
        feet = [person.bounding_box.extent.z for person in people]
        track: list[list[list[float]]] = [[] for _ in people]
        for _ in range(ticks):
            world.tick()
            snapshot = world.get_snapshot()
            for path, person, down in zip(track, people, feet, strict=True):
                state = snapshot.find(person.id)
                at = state.get_transform().location
                path.append([at.x, at.y, at.z - down, state.get_velocity().length()])
        for controller in controllers:
            controller.stop()
        client.apply_batch_sync([carla.command.DestroyActor(a) for a in (*controllers, *people)], True)
        settings.synchronous_mode = False
        world.apply_settings(settings)
    print(json.dumps({"track": track, "location": world.get_random_location_from_navigation() is not None}))


def spawn(world: carla.World, count: int) -> list[carla.Actor]:
    """Walkers where the mesh says, or, where there is none, beside the spawn points."""
    blueprints = world.get_blueprint_library().filter("walker.pedestrian.*")
    points = world.get_map().get_spawn_points()
    people: list[carla.Actor] = []
    for i in range(count):
        place = world.get_random_location_from_navigation() or points[i % len(points)].location
        above = carla.Location(place.x, place.y, place.z + 1.0)
        people += filter(None, [world.try_spawn_actor(blueprints[i], carla.Transform(above))])
    return people


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
