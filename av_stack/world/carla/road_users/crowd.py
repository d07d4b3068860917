"""Pedestrians that wander about the pavements under CARLA's own walker controllers."""

from __future__ import annotations

from typing import cast

import carla
import numpy as np

from av_stack.world.carla.actors import destroy

DROP_M = 1.0
"""Height above the ground from which walkers are dropped."""

SPEEDS_MPS = (0.9, 1.7)
"""Range of walking speeds."""


class Crowd:
    """A crowd of walkers, whose actors are `walkers`. Call `start` one tick after construction, and `close` once.

    A map without a navigation mesh gets no walkers.
    """

    def __init__(self, client: carla.Client, world: carla.World, people: int, rng: np.random.Generator) -> None:
        self._client, self._world, self._rng = client, world, rng
        self.walkers: list[carla.Actor] = []
        self._controllers: list[carla.WalkerAIController] = []
        library = world.get_blueprint_library()
        names = sorted(str(blueprint.id) for blueprint in library.filter("walker.pedestrian.*"))
        controller = library.find("controller.ai.walker")
        for _ in range(people):
            place = world.get_random_location_from_navigation()
            if place is None:
                break
            place.z += DROP_M
            blueprint = library.find(names[int(rng.integers(len(names)))])
            walker = world.try_spawn_actor(blueprint, carla.Transform(place))
            if walker is not None:
                self.walkers.append(walker)
                started = world.spawn_actor(controller, carla.Transform(), attach_to=walker)
                self._controllers.append(cast("carla.WalkerAIController", started))

    def start(self) -> None:
        """Send every walker to a random destination."""
        for controller in self._controllers:
            controller.start()
            controller.go_to_location(self._world.get_random_location_from_navigation())
            controller.set_max_speed(float(self._rng.uniform(*SPEEDS_MPS)))

    def close(self) -> None:
        for controller in self._controllers:
            controller.stop()
        destroy(self._client, [actor.id for actor in (*self._controllers, *self.walkers)])
