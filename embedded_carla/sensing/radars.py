"""The radars of one episode: their rays meet the scene itself, so they need no renderer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embedded_carla.raytracing.scene import RayScene
from embedded_carla.raytracing.still import StillScene
from embedded_carla.sensing.drawing import actor_views
from embedded_carla.sensing.light_sensors import motion_of
from embedded_carla.sensors.radar import RadarSpec, radar_body, radar_rays
from embedded_carla.types import Float
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode


class Radars:
    """Measures the radars. The first one builds the trees of the map's triangles: 0.05 to 0.2 s for a town."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self._made: RayScene | None = None
        self._hidden = 0  # version of what clients have hidden

    def prepare(self) -> None:
        """Build in advance what the first measurement needs."""
        self._scene()

    def bodies(self, due: Sequence[tuple[Actor, np.random.Generator, float]]) -> dict[int, bytes]:
        """Message bodies by sensor id; `due` lists (radar, its random numbers, seconds since its last measurement)."""
        episode, scene = self._episode, self._scene()
        views = actor_views(episode)
        scene.place(views)
        velocity_of = {
            actor.actor_id: episode.velocity_of(actor)
            for kind in (ActorKind.VEHICLE, ActorKind.WALKER)
            for actor in episode.actors.of_kind(kind)
        }
        at_rest = (0.0, 0.0, 0.0)
        velocities: Float = np.array([velocity_of.get(view.actor_id, at_rest) for view in views]).reshape(-1, 3)
        bodies = {}
        for radar, rng, since_s in due:
            spec = RadarSpec.of(radar.number)
            own = motion_of(episode, radar, np.zeros(3)).velocity
            rays = radar_rays(spec, since_s, rng)
            bodies[radar.actor_id] = radar_body(scene, spec, radar.pose, own, velocities, radar.ignored_vehicles, rays)
        return bodies

    def _scene(self) -> RayScene:
        """The scene without what clients have hidden by now."""
        environment = self._episode.environment
        if self._made is None or self._hidden != environment.version:
            hidden = environment.hidden_placements(), environment.hidden_meshes()
            still = StillScene.of(self._episode.map.scenery, *hidden)
            if self._made is None:
                self._made = RayScene(still)
            self._made.still, self._hidden = still, environment.version
        return self._made
